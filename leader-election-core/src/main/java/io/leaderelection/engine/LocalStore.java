/*
 * Copyright 2026-present the original author or authors.
 *
 * Licensed under the Apache License, Version 2.0 (the "License");
 * you may not use this file except in compliance with the License.
 * You may obtain a copy of the License at
 *
 *      https://www.apache.org/licenses/LICENSE-2.0
 *
 * Unless required by applicable law or agreed to in writing, software
 * distributed under the License is distributed on an "AS IS" BASIS,
 * WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
 * See the License for the specific language governing permissions and
 * limitations under the License.
 */

package io.leaderelection.engine;

import java.time.Duration;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.ElectionState.Suspension;
import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.Stopped;
import io.leaderelection.engine.StoreSession.Holder;

/**
 * A store without a database: a node that always leads, or as a test controls it. A grant
 * and a revocation by a test take the same path through the election as those by a
 * database.
 */
public final class LocalStore implements ElectionStore {

	private static final Duration LIMIT = Duration.ofSeconds(10);

	private static final Holder OTHER = new Holder("another-node", "manual");

	private volatile boolean wins;

	private LocalStore(boolean wins) {
		this.wins = wins;
	}

	/**
	 * Return a store whose sessions win at once.
	 * @return the store
	 */
	public static ElectionStore always() {
		return () -> new LocalSession(() -> true, null);
	}

	/**
	 * Return a store that a test controls.
	 * @param wins whether its sessions win from the start
	 * @return the store
	 */
	public static LocalStore manual(boolean wins) {
		return new LocalStore(wins);
	}

	@Override
	public StoreSession open() {
		return new LocalSession(() -> this.wins, OTHER);
	}

	/**
	 * Prevents the session from winning again as soon as leadership has been handed over.
	 */
	@Override
	public void resigned() {
		this.wins = false;
	}

	/**
	 * Grant leadership and wait until the listeners have been notified.
	 * @param elector an elector that a test controls
	 * @throws InterruptedException if the current thread is interrupted
	 */
	public static void grant(DefaultLeaderElector elector) throws InterruptedException {
		LocalStore store = of(elector);
		synchronized (store) {
			Election election = elector.election();
			if (election.state().position() instanceof Stopped || !election.settings().candidate()) {
				throw new IllegalStateException("Cannot grant leadership to " + election + ": "
						+ (election.settings().candidate() ? "it is not running" : "it is not a candidate"));
			}
			store.wins = true;
			election.resumeCandidacy(Suspension.SERVICES_FAILED);
			election.resumeCandidacy(Suspension.RESIGNED);
			election.wakeUp();
			await(election, true);
		}
	}

	/**
	 * Revoke leadership if this node has it, and wait until the listeners have been
	 * notified.
	 * @param elector an elector that a test controls
	 * @param reason the reason of the revocation
	 * @throws InterruptedException if the current thread is interrupted
	 */
	public static void revoke(DefaultLeaderElector elector, Reason reason) throws InterruptedException {
		LocalStore store = of(elector);
		synchronized (store) {
			Election election = elector.election();
			store.wins = false;
			switch (reason) {
				case RESIGNED -> election.resign("application");
				case LEASE_EXPIRED, SESSION_LOST -> {
					if (election.state().position() instanceof Elected) {
						election.resign("application");
					}
					election.lose(reason);
				}
				case STOPPED -> throw new IllegalArgumentException(
						"Leadership is revoked with reason STOPPED by stopping, pausing or closing the context");
			}
			await(election, false);
		}
	}

	private static void await(Election election, boolean leads) throws InterruptedException {
		Duration limit = election.settings().drainTimeout().plus(ElectionSettings.GRACE).plus(LIMIT);
		if (!election.awaitNotified(leads, limit)) {
			throw new IllegalStateException("Leader work or listeners of " + election + " have not ended within "
					+ limit.toSeconds() + "s after leadership was " + (leads ? "granted" : "revoked"));
		}
	}

	private static LocalStore of(DefaultLeaderElector elector) {
		if (elector.store() instanceof LocalStore store) {
			return store;
		}
		throw new IllegalStateException(elector + " is not controlled by a test");
	}

}
