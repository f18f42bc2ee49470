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

package io.leaderelection.integration;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.Term;
import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.TransactionFence.Outcome;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore.TableRow;
import io.leaderelection.postgresql.table.LeaseTable;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.core.io.ClassPathResource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.catchThrowable;

/**
 * Tests that the privileges on functions that "Security" lists suffice, that none can be
 * left out, and that a missing one is named.
 */
@Timeout(300)
@Tag("ring2")
class FunctionPrivilegesTests {

	private static final Path DOCUMENT = Path.of("..", "docs", "operations", "security.md");

	private static final Duration LEASE = Duration.ofSeconds(5);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@RegisterExtension
	final Nodes nodes = new Nodes();

	private final OwnDatabase database = this.nodes.register(new OwnDatabase(this.server));

	private final String role = this.database.name();

	private final List<StoreSession> sessions = new ArrayList<>();

	@BeforeEach
	void createTables() throws Exception {
		this.nodes.register(this::abortSessions);
		try (Connection connection = this.database.connect(); Statement statement = connection.createStatement()) {
			for (String script : List.of("postgresql/schema-postgresql.sql",
					"schedule/schema-schedule-postgresql.sql")) {
				statement.execute(new ClassPathResource("io/leaderelection/" + script)
					.getContentAsString(StandardCharsets.UTF_8));
			}
		}
	}

	/**
	 * Leave the role with the documented privileges only.
	 * @return the documented functions
	 */
	private List<String> grantAsDocumented() throws IOException {
		Matcher block = Pattern.compile("```sql\\n(GRANT USAGE ON LANGUAGE .*?)```", Pattern.DOTALL)
			.matcher(Files.readString(DOCUMENT));
		assertThat(block.find()).isTrue();
		this.database.execute("REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA pg_catalog FROM PUBLIC",
				"REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC", block.group(1).replaceAll("\\bshop\\b", this.role));
		return Pattern.compile("'(\\w+)'[,)]").matcher(block.group(1)).results().map((name) -> name.group(1)).toList();
	}

	private void change(String statement, String function) {
		this.database.execute(
				"""
						DO $$
						DECLARE
						  signature regprocedure;
						BEGIN
						  FOR signature IN SELECT oid FROM pg_proc WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = '%s' LOOP
						    EXECUTE format('%s', signature);
						  END LOOP;
						END $$"""
					.formatted(function, statement.formatted("%s", this.role)));
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void documentedFunctionsSuffice(String store) throws Exception {
		grantAsDocumented();
		exercise(store);
		for (String optional : List.of("pg_stat_get_activity", "pg_stat_get_db_sessions_killed", "pg_sleep",
				"pg_stat_get_db_sessions_fatal", "pg_stat_get_db_stat_reset_time", "pg_stat_clear_snapshot", "host",
				"inet_client_addr", "inet_client_port", "inet_server_addr", "inet_server_port", "pg_control_system",
				"pg_terminate_backend", "pg_get_multixact_members")) {
			assertThat(Files.readString(DOCUMENT)).contains("`" + optional + "`");
			change("GRANT EXECUTE ON FUNCTION %s TO %s", optional);
		}
		this.database.exercise(this.nodes, store);
	}

	/**
	 * A node that may not read the tables is a candidate beside those with the other
	 * store.
	 */
	@Test
	void documentedFunctionsSufficeToFindNodesWithTheOtherStore() throws Exception {
		grantAsDocumented();
		String id = UUID.randomUUID().toString();
		ElectionKeys keys = ElectionKeys.derive("test", id);
		StoreSession leased = open(sessions("table", id, keys, "leased"));
		acquire(leased, Won.class);
		leased.confirm(true);
		StoreSession locked = openSession(sessions("advisory-lock", id, keys, "locked"));
		assertThatExceptionOfType(SessionException.class).isThrownBy(locked::becomeCandidate)
			.withMessageContaining("Node 'leased' leads this election with leader-election.store=table");
		leased.release(true);
		leased.close();
		locked.becomeCandidate();
		acquire(locked, Won.class);
		StoreSession later = open(sessions("table", id, keys, "later"));
		assertThat(foreign(later)).contains("leader-election.store=advisory-lock");
	}

	/**
	 * A node of the lease table goes on if it cannot register as a candidate.
	 */
	@Test
	void documentedFunctionsSufficeToRegisterAsACandidate() throws Exception {
		grantAsDocumented();
		String id = UUID.randomUUID().toString();
		StoreSession session = open(sessions("table", id, ElectionKeys.derive("test", id), "first"));
		acquire(session, Won.class);
		session.confirm(true);
		assertThat(session.candidates()).extracting(Candidate::nodeId).containsExactly("first");
	}

	@Test
	@Tag("ring3")
	void functionThatIsMissingIsNamed() throws Exception {
		List<String> unused = new ArrayList<>();
		for (String function : grantAsDocumented()) {
			change("REVOKE EXECUTE ON FUNCTION %s FROM %s", function);
			boolean used = false;
			for (String store : List.of("advisory-lock", "table")) {
				Throwable failure = catchThrowable(() -> exercise(store));
				if (failure != null) {
					used = true;
					assertThat(failure).as(function + " " + store)
						.isInstanceOfAny(UnusableStoreException.class, SQLException.class)
						.message()
						.containsPattern("\\b" + function + "\\b");
				}
			}
			if (!used) {
				unused.add(function);
			}
			change("GRANT EXECUTE ON FUNCTION %s TO %s", function);
		}
		assertThat(unused).as("used by durable schedules, at the end of a session, or to read names")
			.containsExactlyInAnyOrder("int8ge", "int8le", "int8mi", "pg_xact_status", "timestamptz_eq", "xid8eq",
					"xid8in");
	}

	@ParameterizedTest
	@ValueSource(strings = { "pg_xact_status", "has_schema_privilege" })
	void missingFunctionOfDurableSchedulesRefusesTheStart(String function) {
		change("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC", function);
		assertThat(catchThrowable(this.database.nodes(this.nodes, "advisory-lock")::start)).rootCause()
			.hasMessageContaining("The role \"" + this.role + "\" lacks privileges on the table")
			.hasMessageContaining("permission denied for function " + function);
	}

	/**
	 * Each attempt is an error in the log of the server.
	 */
	@ParameterizedTest
	@CsvSource({ "advisory-lock, array_agg", "table, clock_timestamp" })
	void functionThatIsRevokedLaterMakesTheStoreUnusable(String store, String function) {
		int logged = this.server.log().length();
		Nodes nodes = this.database.nodes(this.nodes, store);
		LocalNode first = nodes.start().awaitLeader();
		LocalNode second = nodes.start().awaitFollowing(first);
		change("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC", function);
		first.elector().resign();
		for (LocalNode node : List.of(first, second)) {
			Awaitility.await().untilAsserted(() -> {
				Health health = node.bean(LeadershipHealthIndicator.class).health();
				assertThat(health.getStatus()).isEqualTo(Status.DOWN);
				assertThat(health.getDetails().toString()).contains(function);
			});
		}
		Awaitility.await()
			.during(Duration.ofSeconds(6))
			.until(() -> first.status().unusable() && second.status().unusable());
		assertThat(this.server.log()
			.substring(logged)
			.lines()
			.filter((line) -> line.contains("ERROR") && line.contains(function))).hasSizeBetween(1, 4);
	}

	@Test
	void winnerThatMayNotReadTheActivityWaitsForATransaction() throws Exception {
		change("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC", "pg_stat_get_activity");
		String id = UUID.randomUUID().toString();
		ElectionKeys keys = ElectionKeys.derive("test", id);
		ElectionStore opened = sessions("advisory-lock", id, keys, "first");
		int logged = this.server.log().length();
		try (Connection transaction = this.database.connect()) {
			transaction.setAutoCommit(false);
			StoreSession first = open(opened);
			Term term = ((Won) acquire(first, Won.class)).term();
			StoreSession second = open(sessions("advisory-lock", id, keys, "second"));
			assertThat(opened.fence().pass(transaction, term)).isEqualTo(Outcome.PASSED);
			first.release(true);
			acquire(second, Won.class);
			for (int i = 0; i < 5; i++) {
				second.confirm(true);
				assertThat(second.passBarrier(Duration.ofMillis(1)))
					.startsWith("the transaction of the session with pid")
					.contains("its name requires EXECUTE on pg_stat_get_activity");
			}
			transaction.rollback();
			assertThat(second.passBarrier(Duration.ofSeconds(1))).isNull();
			second.confirm(true);
		}
		assertThat(this.server.log().substring(logged).lines().filter((line) -> line.contains("pg_stat_get_activity")))
			.hasSizeLessThan(3);
	}

	@Test
	void followerThatMayNotReadTheActivityNamesTheSessionThatHasLockedAnElection() throws Exception {
		change("REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC", "pg_stat_get_activity");
		String id = UUID.randomUUID().toString();
		StoreSession session = open(sessions("table", id, ElectionKeys.derive("test", id), "first"));
		acquire(session, Won.class);
		session.release(true);
		int logged = this.server.log().length();
		try (Connection transaction = lock(id)) {
			assertThat(foreign(session)).startsWith("session with pid")
				.contains("its name requires EXECUTE on pg_stat_get_activity");
			transaction.rollback();
			acquire(session, Won.class);
		}
		assertThat(this.server.log().substring(logged)).doesNotContain("pg_stat_get_activity");
	}

	private Connection lock(String election) throws SQLException {
		Connection transaction = this.database.connect();
		transaction.setAutoCommit(false);
		try (Statement statement = transaction.createStatement()) {
			statement.execute("SELECT FROM leader_election WHERE election = '" + election + "' FOR SHARE");
		}
		return transaction;
	}

	private static String foreign(StoreSession session) throws SessionException {
		// What blocks a takeover is searched when it has failed twice
		session.acquire(Duration.ofMillis(1));
		return ((Held) session.acquire(Duration.ofMillis(1))).view().foreign().session();
	}

	/**
	 * Run the statements of a store.
	 */
	private void exercise(String store) throws SQLException, SessionException {
		String id = UUID.randomUUID().toString();
		ElectionKeys keys = ElectionKeys.derive("test", id);
		ElectionStore opened = sessions(store, id, keys, "first");
		try (Connection transaction = this.database.connect()) {
			transaction.setAutoCommit(false);
			StoreSession first = open(opened);
			Term term = ((Won) acquire(first, Won.class)).term();
			first.confirm(true);
			first.confirm(false);
			first.candidates();
			assertThat(first.passBarrier(Duration.ofMillis(1))).isNull();
			StoreSession second = open(sessions(store, id, keys, "second"));
			second.acquire(Duration.ofMillis(1));
			second.observe();
			// Only a wait that ends after some time says whether the term has ended
			second.acquire(Duration.ofMillis(800));
			second.acquire(Duration.ofMillis(800));
			opened.requestResignation(term, "test", Duration.ofMillis(1));
			if (opened.canWatch()) {
				opened.watch(false);
			}
			assertThat(opened.fence().covers(transaction)).isTrue();
			assertThat(opened.fence().pass(transaction, term)).isEqualTo(Outcome.PASSED);
			if (store.equals("table")) {
				transaction.rollback();
				first.release(true);
				try (Connection locking = lock(id)) {
					assertThat(foreign(second)).contains("session with pid");
					locking.rollback();
				}
				acquire(second, Won.class);
			}
			else {
				first.release(true);
				acquire(second, Won.class);
				assertThat(second.passBarrier(Duration.ofMillis(1))).contains("session with pid");
				transaction.rollback();
			}
			assertThat(opened.fence().pass(transaction, term)).isEqualTo(Outcome.REFUSED);
			second.withdraw();
		}
		finally {
			abortSessions();
		}
	}

	private void abortSessions() {
		this.sessions.forEach(StoreSession::abort);
		this.sessions.clear();
	}

	private static Acquisition acquire(StoreSession session, Class<?> type) throws SessionException {
		long start = System.nanoTime();
		Acquisition acquisition = session.acquire(Duration.ofMillis(100));
		while (!type.isInstance(acquisition) && System.nanoTime() - start < LEASE.toNanos()) {
			acquisition = session.acquire(Duration.ofMillis(100));
		}
		return acquisition;
	}

	private StoreSession open(ElectionStore opened) throws SessionException {
		StoreSession session = openSession(opened);
		session.becomeCandidate();
		return session;
	}

	private StoreSession openSession(ElectionStore opened) throws SessionException {
		StoreSession session = opened.open();
		this.sessions.add(session);
		return session;
	}

	private ElectionStore sessions(String store, String id, ElectionKeys keys, String node) {
		ConnectionSource source = (settings) -> this.database.connect();
		ElectionSettings settings = new ElectionSettings(id, node, LEASE, Duration.ZERO, Duration.ofSeconds(1), true);
		return store.equals("table")
				? new LeaseTable(source, new LeaseTable.Node(node, "host", 1), "leader_election", false, LEASE)
					.store(settings, id, keys, 0)
				: new AdvisoryLockStore(settings, keys, 0, false, source, new TableRow("public.leader_election", id));
	}

}
