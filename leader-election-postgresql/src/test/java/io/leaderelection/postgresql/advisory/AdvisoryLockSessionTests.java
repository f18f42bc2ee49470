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
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.Term;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.testsupport.Daemon;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link AdvisoryLockSession} on a real server.
 */
@Tag("ring1")
class AdvisoryLockSessionTests extends AdvisoryLockFixture {

	@Test
	void firstSessionWinsAndSecondReadsTheLeader() throws SessionException {
		StoreSession first = candidate("node-a");
		StoreSession second = candidate("node-b");
		Won won = win(first);
		assertThat(won.ending()).isNotEqualTo(Ending.CLEAN);
		assertThat(won.term().timeline()).isOne();
		Held held = (Held) second.acquire(NO_WAIT);
		Holder leader = held.view().leader();
		assertThat(leader).isNotNull();
		assertThat(leader.nodeId()).isEqualTo("node-a");
		assertThat(leader.term()).isEqualTo(won.term());
		assertThat(leader.since()).isCloseTo(Instant.now(), within(1, ChronoUnit.MINUTES));
		assertThat(held.view().candidates()).extracting(Candidate::nodeId)
			.containsExactlyInAnyOrder("node-a", "node-b");
		assertThat(second.observe()).isEqualTo(held.view());
		first.confirm();
		assertThat(first.candidates()).isEqualTo(held.view().candidates());
		assertThat(leader.session()).isEqualTo(first.name());
		assertThat(this.server.query("SELECT application_name FROM pg_stat_activity")).contains(first.name());
	}

	@Test
	void observesThatASessionLeadsAgain() throws SessionException {
		StoreSession leader = candidate("node-a");
		StoreSession follower = candidate("node-b");
		leader.acquire(NO_WAIT);
		follower.observe();
		leader.release(true);
		Won again = win(leader);
		assertThat(follower.observe().leader()).isNotNull().extracting(Holder::term).isEqualTo(again.term());
	}

	@Test
	void newAndLeavingCandidatesAreObservedAtOnce() throws SessionException {
		StoreSession first = leader("node-a");
		StoreSession second = candidate("node-b");
		first.confirm();
		assertThat(first.candidates()).hasSize(2);
		second.close();
		await().untilAsserted(() -> {
			first.confirm();
			assertThat(first.candidates()).extracting(Candidate::nodeId).containsExactly("node-a");
		});
	}

	@Test
	void leaderIsAskedToResignAsLongAsItsTermLasts() throws Exception {
		StoreSession first = candidate("node-a");
		Won won = win(first);
		assertThat(first.confirm().requested()).isFalse();
		FutureTask<Void> request = request("node-b", won.term(), "endpoint, user 'alice' */ (100 %)", LONG);
		await().until(() -> first.confirm().requested());
		assertThat(first.requester()).isEqualTo("node 'node-b' (endpoint, user 'alice' */ (100 %))");
		assertThat(first.confirm().foreign()).isNull();
		assertThat(first.candidates()).extracting(Candidate::nodeId).containsExactly("node-a");
		first.release(true);
		request.get(5, TimeUnit.SECONDS);
		assertThat(this.server.query("SELECT count(*) FROM pg_locks WHERE mode = 'ShareLock' AND classid = "
				+ Integer.toUnsignedString(this.keys.requestClass())))
			.containsExactly("0");
	}

	@Test
	void requestEndsOnlyTheTermThatItNamesAndNotForEver() throws Exception {
		StoreSession first = candidate("node-a");
		Won won = win(first);
		Term earlier = new Term(0, won.term().timeline(), won.term().transactionId() - 1);
		request("node-b", earlier, "test", LONG).get(5, TimeUnit.SECONDS);
		FutureTask<Void> request = request("node-b", won.term(), "test", Duration.ofSeconds(1));
		await().until(() -> first.confirm().requested());
		request.get(5, TimeUnit.SECONDS);
		await().until(() -> !first.confirm().requested());
	}

	private FutureTask<Void> request(String node, Term term, String cause, Duration limit) {
		FutureTask<Void> request = new FutureTask<>(() -> {
			store(node).requestResignation(term, cause, limit);
			return null;
		});
		Daemon.start("request", request);
		return request;
	}

	@Test
	void confirmationHoldsOnlyForTheWinner() throws SessionException {
		StoreSession winner = leader("node-a");
		assertThat(winner.confirm().predecessor()).isNull();
		StoreSession other = candidate("node-b");
		assertThatExceptionOfType(SessionException.class).isThrownBy(other::confirm).withMessageContaining("both keys");
	}

	@Test
	void cancelledConfirmationIsMadeOnceMore() throws SessionException {
		Iterator<String> cancelled = List.of("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(10)").iterator();
		AdvisoryLockStore cancelling = store("node-a", (keys, server) -> new AdvisoryLockSql(keys, server) {

			@Override
			String confirm(Term term, long number) {
				return cancelled.hasNext() ? cancelled.next() : super.confirm(term, number);
			}

		});
		StoreSession winner = candidate(cancelling);
		win(winner);
		assertThat(winner.confirm().predecessor()).isNull();
		assertThat(cancelled.hasNext()).isFalse();
	}

	@Test
	void cancelThatComesLateDoesNotEndTheSession() throws SessionException {
		Set<String> cancelled = new HashSet<>();
		AdvisoryLockStore cancelling = store("node-a", (keys, server) -> new AdvisoryLockSql(keys, server) {

			@Override
			String observe() {
				return cancelledAtFirst(super.observe());
			}

			@Override
			String withdraw() {
				return cancelledAtFirst(super.withdraw());
			}

			private String cancelledAtFirst(String statement) {
				return cancelled.add(statement)
						? "WITH c AS MATERIALIZED (SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(10)) "
								+ "SELECT true FROM c"
						: statement;
			}

		});
		leader("node-b");
		StoreSession session = candidate(cancelling);
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
			winner.confirm();
			assertThat(winner.candidates()).hasSize(1);
		});
		assertThat(queries).hasValue(2);
	}

	/**
	 * Return a store one of whose queries for names fails.
	 * @param queries counts them
	 */
	private AdvisoryLockStore describing(AtomicInteger queries, int failing, String state) {
		return store("node-a", (keys, server) -> new AdvisoryLockSql(keys, server) {

			@Override
			String describe(Collection<Integer> pids) {
				return (queries.incrementAndGet() == failing)
						? "DO $$ BEGIN RAISE EXCEPTION SQLSTATE '" + state + "'; END $$" : super.describe(pids);
			}

		});
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void attemptThatIsCancelledAroundItsWaitEndsTheSessionOnlyIfItHasLeftALock(boolean lock) throws SessionException {
		AtomicBoolean cancelled = new AtomicBoolean();
		String left = lock ? "pg_advisory_lock(" + this.keys.main() + "), " : "";
		StoreSession session = candidate(attempting("node-a", (statement) -> cancelled.getAndSet(true) ? statement
				: "SELECT " + left + "pg_cancel_backend(pg_backend_pid()), pg_sleep(10)"));
		if (lock) {
			assertThatExceptionOfType(SessionException.class).isThrownBy(() -> session.acquire(NO_WAIT));
		}
		else {
			assertThat(session.acquire(NO_WAIT)).isInstanceOf(Held.class);
			win(session);
		}
	}

	@Test
	void confirmationFailsWhenTheLeaseIsChanged() throws Exception {
		AdvisoryLockSession winner = (AdvisoryLockSession) candidate("node-a");
		win(winner);
		try (Statement statement = winner.connection().createStatement()) {
			statement.execute("SET idle_session_timeout = 0");
		}
		assertThatExceptionOfType(SessionException.class).isThrownBy(winner::confirm).withMessageContaining("timeouts");
	}

	@Test
	void answerToAnotherStatementIsNoConfirmation() throws SessionException {
		AdvisoryLockStore late = store("node-a", (keys, server) -> new AdvisoryLockSql(keys, server) {

			@Override
			String confirm(Term term, long number) {
				return super.confirm(term, Math.min(number, 1));
			}

		});
		StoreSession winner = candidate(late);
		win(winner);
		winner.confirm();
		assertThatExceptionOfType(SessionException.class).isThrownBy(winner::confirm)
			.withMessageContaining("another statement");
	}

	@Test
	void connectionIsNotLeakedWhenOpeningFails() throws Exception {
		List<Connection> opened = new ArrayList<>();
		AdvisoryLockStore failing = new StatementsStore(settings("node-a"), this.keys, (properties) -> {
			Connection connection = source().connect(properties);
			opened.add(connection);
			return connection;
		}, (keys, server) -> {
			throw new OutOfMemoryError("Seeded");
		});
		assertThatExceptionOfType(OutOfMemoryError.class).isThrownBy(failing::open);
		assertThat(opened).hasSize(1);
		await().until(opened.get(0)::isClosed);
	}

	@Test
	void nodeIsACandidateUntilItWithdrawsAlsoAfterRepeatedCalls() throws SessionException {
		StoreSession first = candidate("node-a");
		StoreSession second = open("node-b");
		assertThat(first.observe().candidates()).hasSize(1);
		second.withdraw();
		second.becomeCandidate();
		second.becomeCandidate();
		assertThat(first.observe().candidates()).hasSize(2);
		second.withdraw();
		second.withdraw();
		assertThat(first.observe().candidates()).hasSize(1);
		assertThat(this.server.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = "
				+ (this.keys.observerClass() & 0xFFFFFFFFL) + " AND mode = 'ShareLock' AND objid = "
				+ ElectionKeys.OBSERVER))
			.containsExactly("1");
	}

	/**
	 * Numbers in statements have the digits of no locale.
	 */
	@Test
	void localeWithOtherDigits() throws Exception {
		Locale before = Locale.getDefault();
		Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
		try {
			assertThat("%d".formatted(1)).isNotEqualTo("1");
			StoreSession session = candidate("node-a");
			Won won = win(session);
			assertThat(session.confirm().predecessor()).isNull();
			assertThat(session.passBarrier(Duration.ofMillis(100))).isNull();
			assertThat(session.observe().candidates()).hasSize(1);
			FutureTask<Void> request = request("node-b", won.term(), "test", LONG);
			await().until(() -> session.confirm().requested());
			session.release(true);
			request.get(5, TimeUnit.SECONDS);
			session.withdraw();
			assertThat(store("node-b").watch(false).view().leader()).isNull();
		}
		finally {
			Locale.setDefault(before);
		}
	}

	@Test
	void probeFailsWhenTheServerHasEndedTheSession() throws Exception {
		StoreSession winner = leader("node-a");
		assertThat(winner.probe(Duration.ZERO)).isPositive();
		this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '"
				+ new SessionNames(this.election).of("node-a") + "'");
		await().untilAsserted(
				() -> assertThatExceptionOfType(SessionException.class).isThrownBy(() -> winner.probe(Duration.ZERO)));
	}

	@Test
	void silentSessionIsEndedByTheServerAfterTheLease() throws Exception {
		StoreSession silent = leader("node-a");
		StoreSession second = candidate("node-b");
		await().until(() -> second.acquire(Duration.ofMillis(500)) instanceof Won);
	}

	@Test
	void settingsOfTheSessionAreMadeBeforeItIsACandidate() throws Exception {
		Connection connection = ((AdvisoryLockSession) candidate("node-a")).connection();
		assertThat(show(connection, "idle_session_timeout")).isEqualTo("3s");
		assertThat(show(connection, "idle_in_transaction_session_timeout")).isEqualTo("3s");
		assertThat(show(connection, "synchronous_commit")).isEqualTo("local");
		assertThat(show(connection, "default_transaction_read_only")).isEqualTo("off");
		assertThat(show(connection, "client_connection_check_interval")).isEqualTo("600ms");
		assertThat(show(connection, "application_name")).startsWith("leader-election electi~").endsWith(" node-a");
	}

	private static String show(Connection connection, String setting) throws SQLException {
		return Jdbc.query(connection, "SHOW " + setting, (row) -> row.getString(1));
	}

}
