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

package io.leaderelection.postgresql.advisory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for how a session waits for the lock, on a real server.
 */
@Tag("ring1")
class QueueTests extends AdvisoryLockFixture {

	private static final int MOST_TRIES = 10;

	@Test
	void waiterWinsWhenTheHolderDies() throws Exception {
		StoreSession first = candidate("node-a");
		Won won = win(first);
		StoreSession second = candidate("node-b");
		CompletableFuture<Acquisition> waiting = waitUntilWon(second);
		first.abort();
		assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOfSatisfying(Won.class, (next) -> {
			assertThat(next.term()).isGreaterThan(won.term());
			assertThat(next.ending()).isNotEqualTo(Ending.CLEAN);
		});
	}

	@Test
	@Tag("ring2")
	void cancelByAnAdministratorEndsTheWaitWithoutEndingTheSession() throws Exception {
		StoreSession holder = leader("node-a");
		StoreSession waiter = candidate("node-b");
		for (int i = 0; i < 20; i++) {
			// Or its lease would end
			holder.confirm();
			CompletableFuture<Acquisition> waiting = awaitInQueue(() -> waiter.acquire(Duration.ofMillis(800)));
			this.server.query("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE application_name = '"
					+ waiter.name() + "'");
			assertThat(waiting.get(10, TimeUnit.SECONDS)).isInstanceOf(Held.class);
			assertThat(waiter.acquire(NO_WAIT)).isInstanceOf(Held.class);
		}
	}

	@Test
	void followerReadsTheLocksOnlyNowAndThen() throws Exception {
		List<Boolean> readings = new ArrayList<>();
		AdvisoryLockStore counting = store("node-b", (keys, server) -> new AdvisoryLockSql(keys, server) {

			@Override
			String acquire(long waitMillis, boolean observe, int seat, int priority,
					@Nullable Predecessor predecessor) {
				readings.add(observe);
				return super.acquire(waitMillis, observe, seat, priority, predecessor);
			}

		});
		StoreSession leader = leader("node-a");
		StoreSession follower = candidate(counting);
		Held first = (Held) follower.acquire(NO_WAIT);
		long read = System.nanoTime();
		while (System.nanoTime() - read < TimeUnit.SECONDS.toNanos(2)) {
			leader.confirm();
			assertThat(follower.acquire(Duration.ofMillis(100))).isEqualTo(first);
		}
		assertThat(readings).startsWith(true, false).filteredOn((reading) -> reading).hasSize(2);
	}

	@Test
	void waitFollowsTheSettingsOfTheServer() throws Exception {
		StoreSession leader = leader("node-a");
		AdvisoryLockSession waiter = (AdvisoryLockSession) candidate("node-b");
		execute(waiter.connection(), "SET deadlock_timeout = '250ms'");
		await().until(() -> millisOfWait(leader, waiter) < 500);
		execute(waiter.connection(), "RESET deadlock_timeout");
		for (String setting : List.of("log_min_duration_statement = '200ms'", "log_min_duration_sample = '150ms'")) {
			execute(waiter.connection(), "SET " + setting);
			await().until(() -> millisOfObservedWait(leader, waiter) < 500);
			execute(waiter.connection(), "RESET " + setting.split(" ")[0]);
			await().until(() -> millisOfObservedWait(leader, waiter) > 700);
		}
	}

	@Test
	void shortWaitsAreFewEnough() throws Exception {
		leader("node-a");
		AdvisoryLockSession waiter = (AdvisoryLockSession) candidate("node-b");
		execute(waiter.connection(), "SET log_min_duration_statement = '25ms'");
		waiter.observe();
		long start = System.nanoTime();
		for (int i = 0; i < 10; i++) {
			waiter.acquire(LONG);
		}
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(990));
	}

	@Test
	void leaderWaitsForAStandbyThatIsBetweenTwoShortWaits() throws Exception {
		AdvisoryLockSession leader = (AdvisoryLockSession) candidate("node-a");
		AdvisoryLockSession waiter = (AdvisoryLockSession) candidate("node-b");
		for (AdvisoryLockSession session : List.of(leader, waiter)) {
			execute(session.connection(), "SET log_min_duration_statement = '25ms'");
			session.observe();
		}
		int tries = 1;
		while (!isWaitedFor(leader, waiter)) {
			// One of their threads was not run for longer than the other waits
			assertThat(tries++).isLessThan(MOST_TRIES);
		}
	}

	private static boolean isWaitedFor(StoreSession leader, StoreSession waiter) throws Exception {
		win(leader);
		Thread standby = Thread.currentThread();
		CompletableFuture<Boolean> released = start(() -> {
			long limit = System.nanoTime() + LONG.toNanos();
			while (standby.getState() != Thread.State.TIMED_WAITING && System.nanoTime() - limit < 0) {
				Thread.onSpinWait();
			}
			return leader.release(true);
		});
		boolean won = waiter.acquire(LONG) instanceof Won;
		boolean succeeded = released.get(10, TimeUnit.SECONDS);
		if (won) {
			waiter.release(true);
		}
		return won && succeeded;
	}

	private static long millisOfObservedWait(StoreSession leader, StoreSession waiter) throws SessionException {
		waiter.observe();
		return millisOfWait(leader, waiter);
	}

	private static long millisOfWait(StoreSession leader, StoreSession waiter) throws SessionException {
		leader.confirm();
		long start = System.nanoTime();
		assertThat(waiter.acquire(LONG)).isInstanceOf(Held.class);
		return Duration.ofNanos(System.nanoTime() - start).toMillis();
	}

}
