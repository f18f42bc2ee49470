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

import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.UnaryOperator;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.StoreSessionContract;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyLong;
import static org.mockito.BDDMockito.willAnswer;

/**
 * Tests for {@link AdvisoryLockSession} on a real server.
 */
@Tag("ring1")
class AdvisoryLockSessionTests extends AdvisoryLockFixture implements StoreSessionContract {

	@Test
	void requestOfATermThatHasEndedLeavesNoLock() throws SessionException {
		StoreSession former = candidate("node-a");
		Won won = win(former);
		former.release(true);
		store("node-b").requestResignation(won.term(), "test", LONG);
		assertThat(isRequested()).isFalse();
	}

	@Test
	void confirmationHoldsOnlyForTheWinner() throws SessionException {
		StoreSession winner = leader("node-a");
		assertThat(winner.confirm(true).predecessor()).isNull();
		StoreSession other = candidate("node-b");
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> other.confirm(true))
			.withMessageContaining("both keys");
	}

	@Test
	void cancelledConfirmationIsMadeOnceMore() throws SessionException {
		AtomicInteger calls = new AtomicInteger();
		StoreSession winner = candidate(store("node-a",
				(sql) -> confirming(sql, (statement) -> (calls.getAndIncrement() > 0) ? statement : CANCELLED)));
		win(winner);
		assertThat(winner.confirm(true).predecessor()).isNull();
		assertThat(calls).hasValue(2);
	}

	@Test
	void cancelThatComesLateDoesNotEndTheSession() throws SessionException {
		Set<String> cancelled = new HashSet<>();
		UnaryOperator<String> once = (statement) -> cancelled.add(statement)
				? "WITH c AS MATERIALIZED (" + CANCELLED + ") SELECT true FROM c" : statement;
		leader("node-b");
		StoreSession session = candidate(store("node-a", (sql) -> {
			willAnswer(changed(once)).given(sql).observe();
			willAnswer(changed(once)).given(sql).withdraw();
		}));
		assertThat(session.observe().candidates()).hasSize(2);
		session.withdraw();
		assertThat(session.observe().candidates()).hasSize(1);
		assertThat(cancelled).hasSize(2);
	}

	@ParameterizedTest
	@CsvSource({ "53200, 2", "42501, 0" })
	void lastViewIsKeptWhileNamesCannotBeReadUnlessTheyMayNotBe(String state, int kept) throws Exception {
		AtomicInteger queries = new AtomicInteger();
		leader("node-b");
		StoreSession observer = candidate(describing(queries, 2, state));
		View before = observer.observe();
		assertThat(before.candidates()).hasSize(2);
		candidate("node-c");
		await().untilAsserted(() -> {
			observer.observe();
			assertThat(queries).hasValue(2);
		});
		for (int i = 0; i < 20; i++) {
			View view = observer.observe();
			assertThat(view.candidates()).hasSize(kept);
			assertThat(view.leader()).isEqualTo((kept > 0) ? before.leader() : null);
		}
		assertThat(queries).hasValue(2);
	}

	@Test
	@Tag("ring2")
	void namesAreReadAgainAfterAFailure() throws Exception {
		AtomicInteger queries = new AtomicInteger();
		StoreSession winner = candidate(describing(queries, 1, "53200"));
		win(winner);
		await().untilAsserted(() -> {
			winner.confirm(true);
			assertThat(winner.candidates()).hasSize(1);
		});
		assertThat(queries).hasValue(2);
	}

	/**
	 * Return a store one of whose queries for names fails.
	 * @param queries counts them
	 */
	private AdvisoryLockStore describing(AtomicInteger queries, int failing, String state) {
		return store("node-a",
				(sql) -> willAnswer(changed((statement) -> (queries.incrementAndGet() != failing) ? statement
						: "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '" + state + "'; END $$"))
					.given(sql)
					.describe(any()));
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void attemptThatIsCancelledAroundItsWaitEndsTheSessionOnlyIfItHasLeftALock(boolean lock) throws SessionException {
		AtomicBoolean cancelled = new AtomicBoolean();
		String left = lock ? "pg_advisory_lock(" + this.keys.main() + "), " : "";
		StoreSession session = candidate(attempting("node-a",
				(statement) -> cancelled.getAndSet(true) ? statement : CANCELLED.replace("SELECT ", "SELECT " + left)));
		if (lock) {
			assertThatExceptionOfType(SessionException.class).isThrownBy(() -> session.acquire(NO_WAIT));
		}
		else {
			assertThat(session.acquire(NO_WAIT)).isInstanceOf(Held.class);
			win(session);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "RESET ALL", "RESET leader_election.win", "DISCARD ALL" })
	void sessionThatWasResetDoesNotWait(String reset) throws Exception {
		StoreSession session = candidate("node-a");
		execute(connection(session), reset);
		try (Connection other = this.server.connect(); Statement statement = other.createStatement()) {
			statement.execute("SELECT pg_advisory_lock(%s, %s)".formatted(this.keys.requestClass(), ElectionKeys.HEAD));
			// After the wait for the head, its timeout would be the reason
			assertThatExceptionOfType(SessionException.class).isThrownBy(() -> session.acquire(Duration.ofMillis(800)))
				.withMessageContaining("the session was reset");
		}
		leader("node-b");
	}

	@ParameterizedTest
	@CsvSource({ "true, idle_session_timeout, timeouts", "false, idle_session_timeout, timeouts",
			"true, leader_election.token, another session", "false, leader_election.token, another session" })
	void confirmationFailsWhenASettingIsChanged(boolean whole, String setting, String reason) throws Exception {
		StoreSession winner = leader("node-a");
		winner.confirm(true);
		execute(connection(winner), "SET " + setting + " = 0");
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> winner.confirm(whole))
			.withMessageContaining(reason);
	}

	/**
	 * Without another session that has won, only a whole confirmation finds out.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void confirmationFailsWhenTheLocksAreLost(boolean whole) throws Exception {
		StoreSession winner = leader("node-a");
		winner.confirm(true);
		StoreSession second = candidate("node-b");
		execute(connection(winner), "SELECT pg_advisory_unlock_all()");
		if (!whole) {
			win(second);
		}
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> winner.confirm(whole))
			.withMessageContaining("both keys");
	}

	@Test
	void confirmationThatIsNotWholeReadsNoLocksButFindsARequest() throws Exception {
		AtomicInteger readings = new AtomicInteger();
		StoreSession winner = candidate(store("node-a", (sql) -> willAnswer((call) -> {
			readings.incrementAndGet();
			return call.callRealMethod();
		}).given(sql).confirmAll(any(), anyLong())));
		Won won = win(winner);
		assertThat(winner.confirm(true).requested()).isFalse();
		for (int i = 0; i < 10; i++) {
			assertThat(winner.confirm(false).requested()).isFalse();
		}
		assertThat(readings).hasValue(1);
		candidate("node-b");
		Future<?> request = start(() -> {
			store("node-b").requestResignation(won.term(), "test", LIMIT);
			return null;
		});
		await().until(() -> winner.confirm(false).requested());
		winner.release(true);
		get(request);
	}

	@Test
	void answerToAnotherStatementIsNoConfirmation() throws SessionException {
		AtomicReference<String> first = new AtomicReference<>();
		StoreSession winner = candidate(store("node-a", (sql) -> confirming(sql,
				(statement) -> first.compareAndSet(null, statement) ? statement : first.get())));
		win(winner);
		winner.confirm(true);
		assertThatExceptionOfType(SessionException.class).isThrownBy(() -> winner.confirm(true))
			.withMessageContaining("another statement");
	}

	private static void confirming(AdvisoryLockSql sql, UnaryOperator<String> change) {
		willAnswer(changed(change)).given(sql).confirm(any(), anyLong());
		willAnswer(changed(change)).given(sql).confirmAll(any(), anyLong());
	}

	@Test
	void connectionIsNotLeakedWhenOpeningFails() throws Exception {
		this.source = (properties) -> tracked(this.server.connect(properties));
		AdvisoryLockStore failing = store("node-a", (sql) -> {
			throw new OutOfMemoryError("Seeded");
		});
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(failing::open);
		assertThat(this.connections).hasSize(1);
		await().until(this.connections.get(0)::isClosed);
	}

	@Test
	void probeFailsWhenTheServerHasEndedTheSession() throws Exception {
		StoreSession winner = leader("node-a");
		assertThat(winner.probe(Duration.ZERO)).isPositive();
		this.server.terminate(new SessionNames(this.election).of("node-a"));
		await().untilAsserted(
				() -> assertThatExceptionOfType(SessionException.class).isThrownBy(() -> winner.probe(Duration.ZERO)));
	}

	@Test
	void silentSessionIsEndedByTheServerAfterTheLease() throws Exception {
		this.lease = Duration.ofSeconds(3);
		StoreSession silent = leader("node-a");
		StoreSession second = candidate("node-b");
		await().until(() -> second.acquire(Duration.ofMillis(500)) instanceof Won);
	}

	@Test
	void settingsOfTheSessionAreMadeBeforeItIsACandidate() throws Exception {
		this.lease = Duration.ofSeconds(3);
		StoreSession session = candidate("node-a");
		Connection connection = connection(session);
		assertThat(value(connection, "SHOW idle_session_timeout")).isEqualTo("3s");
		assertThat(value(connection, "SHOW idle_in_transaction_session_timeout")).isEqualTo("3s");
		assertThat(value(connection, "SHOW synchronous_commit")).isEqualTo("local");
		assertThat(value(connection, "SHOW default_transaction_read_only")).isEqualTo("off");
		assertThat(value(connection, "SHOW application_name")).isEqualTo(session.name())
			.startsWith("leader-election electi~")
			.endsWith(" node-a");
	}

}
