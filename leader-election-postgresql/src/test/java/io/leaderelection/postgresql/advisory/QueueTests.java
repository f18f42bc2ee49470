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
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.willAnswer;

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
		Future<Acquisition> waiting = waitUntilWon(second);
		first.abort();
		assertThat(get(waiting)).isInstanceOfSatisfying(Won.class, (next) -> {
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
			holder.confirm(true);
			Future<Acquisition> waiting = awaitInQueue(() -> waiter.acquire(Duration.ofMillis(800)));
			this.server.cancel(PostgreSqlServer.pid(connection(waiter)));
			assertThat(get(waiting)).isInstanceOf(Held.class);
			assertThat(waiter.acquire(NO_WAIT)).isInstanceOf(Held.class);
		}
	}

	@Test
	void followerReadsTheLocksOnlyNowAndThen() throws Exception {
		List<Integer> observed = new ArrayList<>();
		AtomicInteger readings = new AtomicInteger();
		StoreSession leader = leader("node-a");
		StoreSession follower = candidate(store("node-b", (sql) -> {
			willAnswer((call) -> {
				observed.add(call.getArgument(4));
				return call.callRealMethod();
			}).given(sql).acquire(anyLong(), anyInt(), anyInt(), any(), anyInt());
			willAnswer((call) -> {
				readings.incrementAndGet();
				return call.callRealMethod();
			}).given(sql).observe();
		}));
		Held first = hold(follower);
		long read = System.nanoTime();
		while (System.nanoTime() - read < TimeUnit.SECONDS.toNanos(2)) {
			leader.confirm(true);
			assertThat(follower.acquire(Duration.ofMillis(100))).isEqualTo(first);
		}
		assertThat(readings).hasValue(1);
		assertThat(observed).startsWith(0)
			.hasSizeGreaterThan(2)
			.filteredOn((term) -> term != 0)
			.hasSize(observed.size() - 1);
	}

	/**
	 * Otherwise a win would look like a wait that timed out.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void firstWaitRequiresAnAnswer(boolean observed) throws Exception {
		leader("node-a");
		StoreSession follower = candidate(attempting("node-b", (text) -> text.replace("RAISE INFO", "RAISE DEBUG")));
		if (observed) {
			follower.observe();
		}
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> follower.acquire(NO_WAIT))
			.withMessageContaining("The answer of the server is missing");
	}

	@Test
	void waitFollowsTheSettingsOfTheServer() throws Exception {
		StoreSession leader = leader("node-a");
		StoreSession waiter = candidate("node-b");
		execute(connection(waiter), "SET deadlock_timeout = '250ms'");
		await().until(() -> millisOfWait(leader, waiter) < 500);
		execute(connection(waiter), "RESET deadlock_timeout");
		for (String setting : List.of("log_min_duration_statement = '200ms'", "log_min_duration_sample = '150ms'")) {
			execute(connection(waiter), "SET " + setting);
			await().until(() -> millisOfObservedWait(leader, waiter) < 500);
			execute(connection(waiter), "RESET " + setting.split(" ")[0]);
			await().until(() -> millisOfObservedWait(leader, waiter) > 700);
		}
	}

	@Test
	void shortWaitsAreFewEnough() throws Exception {
		leader("node-a");
		StoreSession waiter = candidate("node-b");
		execute(connection(waiter), "SET log_min_duration_statement = '25ms'");
		waiter.observe();
		long start = System.nanoTime();
		for (int i = 0; i < 10; i++) {
			waiter.acquire(LONG);
		}
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThan(Duration.ofMillis(990));
	}

	@Test
	void leaderWaitsForAStandbyThatIsBetweenTwoShortWaits() throws Exception {
		StoreSession leader = candidate("node-a");
		StoreSession waiter = candidate("node-b");
		for (StoreSession session : List.of(leader, waiter)) {
			execute(connection(session), "SET log_min_duration_statement = '25ms'");
			session.observe();
		}
		int tries = 1;
		while (!isWaitedFor(leader, waiter)) {
			// One of their threads was not run for longer than the other waits
			assertThat(tries++).isLessThan(MOST_TRIES);
		}
	}

	private boolean isWaitedFor(StoreSession leader, StoreSession waiter) throws Exception {
		win(leader);
		Thread standby = Thread.currentThread();
		Future<Boolean> released = start(() -> {
			long limit = System.nanoTime() + LONG.toNanos();
			while (standby.getState() != Thread.State.TIMED_WAITING && System.nanoTime() - limit < 0) {
				Thread.onSpinWait();
			}
			return leader.release(true);
		});
		boolean won = waiter.acquire(LONG) instanceof Won;
		boolean succeeded = get(released);
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
		leader.confirm(true);
		long start = System.nanoTime();
		assertThat(waiter.acquire(LONG)).isInstanceOf(Held.class);
		return Duration.ofNanos(System.nanoTime() - start).toMillis();
	}

}
