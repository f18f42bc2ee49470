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

package io.leaderelection.test;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.lifecycle.LeaderServices;

/**
 * {@link TestLeadership} on elections with {@link LocalStore}.
 */
final class ManualLeadership implements TestLeadership {

	private static final Duration LONGEST_START = Duration.ofSeconds(30);

	private final DefaultLeaderElectors electors;

	private final LeaderServices services;

	private final boolean leader;

	/**
	 * Create a new {@code ManualLeadership} instance.
	 * @param electors the elections
	 * @param services the services that leadership starts and stops
	 * @param leader whether this node leads from the start
	 */
	ManualLeadership(DefaultLeaderElectors electors, LeaderServices services, boolean leader) {
		this.electors = electors;
		this.services = services;
		this.leader = leader;
	}

	@Override
	public void grant() {
		grant(this.electors.getDefault());
	}

	@Override
	public void grant(String election) {
		grant(this.electors.get(election));
	}

	@Override
	public void revoke() {
		revoke(Reason.RESIGNED);
	}

	@Override
	public void revoke(Reason reason) {
		revoke(this.electors.getDefault(), reason);
	}

	@Override
	public void revoke(String election, Reason reason) {
		revoke(this.electors.get(election), reason);
	}

	@Override
	public void reset() {
		for (DefaultLeaderElector elector : this.electors.all()) {
			if (!this.leader) {
				revoke(elector, Reason.RESIGNED);
			}
			else if (elector.status().role() != Role.STOPPED && elector.isCandidate()) {
				grant(elector);
			}
		}
	}

	private void grant(DefaultLeaderElector elector) {
		try {
			LocalStore.grant(elector);
			this.services.started(elector.getElection()).get(LONGEST_START.toSeconds(), TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			throw interrupted(ex);
		}
		catch (ExecutionException | TimeoutException ex) {
			throw new IllegalStateException("The services of the election '" + elector.getElection()
					+ "' have not been started within " + LONGEST_START.toSeconds() + "s", ex);
		}
	}

	private static void revoke(DefaultLeaderElector elector, Reason reason) {
		try {
			LocalStore.revoke(elector, reason);
		}
		catch (InterruptedException ex) {
			throw interrupted(ex);
		}
	}

	private static IllegalStateException interrupted(InterruptedException ex) {
		Thread.currentThread().interrupt();
		return new IllegalStateException("Interrupted", ex);
	}

}
