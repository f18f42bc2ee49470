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

package io.leaderelection.cli;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

import io.leaderelection.testsupport.Certificates;
import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.HostileSchema;
import io.leaderelection.testsupport.PgBouncer;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.assertj.core.api.AbstractStringAssert;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link VerifyDatabase} on real servers.
 */
@Tag("ring1")
class VerifyDatabaseTests {

	private static final String ROLE = "verified_role";

	private static final String DATABASE = "verified";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@BeforeEach
	void createDatabase() {
		this.server.execute("CREATE ROLE " + ROLE + " LOGIN PASSWORD 'right'");
		this.server.execute("CREATE DATABASE " + DATABASE + " OWNER " + ROLE);
	}

	@AfterEach
	void dropDatabase() {
		Awaitility.await().untilAsserted(this::assertNothingIsLeft);
		this.server.execute("DROP DATABASE " + DATABASE + " WITH (FORCE)");
		this.server.execute("DROP ROLE " + ROLE);
	}

	private void assertNothingIsLeft() {
		assertThat(this.server.advisoryLocks("true")).isEmpty();
		assertThat(this.server.sessions("leader-election verify%")).isEmpty();
	}

	private void assertNoObjectIsLeft() {
		assertThat(count("SELECT count(*) FROM pg_class WHERE oid >= 16384")).isZero();
		assertThat(count("SELECT count(*) FROM pg_namespace WHERE oid >= 16384")).isZero();
	}

	@Test
	void electionsHold() throws IOException {
		limitConnections(7);
		Outcome outcome = verify("--lease=2s");
		assertThat(outcome.status()).as(outcome.output()).isZero();
		assertThat(outcome.checks()).containsExactly("connection", "encryption", "pooler", "server", "privileges",
				"access", "settings", "session", "lock", "round trip", "confirmation", "silence", "fast takeover",
				"election", "visibility", "fence", "take-over", "fence", "hand-over", "clean-up");
		assertThat(outcome.output()).contains("### Elections hold", "| fence | ok |")
			.contains("a transaction of the former term is refused and rolled back")
			.contains("no session and no lock is left")
			.contains("(host)")
			.doesNotContain(this.server.host() + ":")
			.doesNotContain("right")
			.doesNotContain("FAILED");
		assertThat(documented("[a-z -]+")).containsAll(outcome.checks());
		assertNoObjectIsLeft();
	}

	@Test
	@Tag("ring3")
	void interruptedProcessDropsItsSchema(@TempDir Path folder) throws Exception {
		Path output = folder.resolve("output.txt");
		Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
				System.getProperty("java.class.path"), LeaderElectionCli.class.getName(), "verify-database",
				"--url=" + url(this.server.port()), "--store=table")
			.redirectErrorStream(true)
			.redirectOutput(output.toFile())
			.start();
		try {
			Awaitility.await().untilAsserted(() -> assertThat(Files.readString(output)).contains("term commits"));
			process.destroy();
			assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
			assertThat(process.exitValue()).as(Files.readString(output)).isEqualTo(143);
			assertThat(Files.readString(output)).doesNotContain("FAILED", "is left");
			assertNoObjectIsLeft();
		}
		finally {
			process.destroyForcibly();
		}
	}

	@Test
	@Tag("ring2")
	void electionsHoldWithTable() throws IOException {
		limitConnections(7);
		Outcome outcome = verify("--lease=2s", "--store=table", "--show-host");
		assertThat(outcome.status()).as(outcome.output()).isZero();
		assertThat(outcome.checks()).containsExactly("connection", "encryption", "pooler", "server", "privileges",
				"access", "settings", "schema", "election", "visibility", "fence", "take-over", "fence", "hand-over",
				"clean-up");
		assertThat(outcome.output()).contains("### Elections hold", "store table", this.server.host());
		assertThat(documented("[a-z -]+")).containsAll(outcome.checks());
		assertNoObjectIsLeft();
	}

	/**
	 * The transactions of the application are read-only, and so cannot be fenced.
	 */
	@Test
	@Tag("ring2")
	void roleThatOnlyReads() {
		this.server.execute("ALTER ROLE " + ROLE + " SET default_transaction_read_only = on");
		assertRefused(verify("--lease=2s", "--store=table"), "| schema | ok |", "in a read-only transaction");
		assertNoObjectIsLeft();
	}

	@Test
	@Tag("ring3")
	void presetsOfTheRoleThatElectionsOverride() {
		for (String preset : List.of("idle_session_timeout = '10s'", "lock_timeout = '50ms'",
				"default_transaction_read_only = on", "synchronous_commit = off")) {
			this.server.execute("ALTER ROLE " + ROLE + " SET " + preset);
		}
		assertOutput(0, verify("--lease=2s")).contains("| settings | note | presets of the role or database: "
				+ "default_transaction_read_only=on, idle_session_timeout=10s, lock_timeout=50ms, synchronous_commit=off.");
	}

	@Test
	void presetOfTheRoleThatEndsItsSessions() {
		this.server.execute("ALTER ROLE " + ROLE + " SET idle_session_timeout = '1ms'");
		assertOutput(1, verify("--lease=2s")).contains("### Elections do not hold").contains("idle-session timeout");
	}

	@Test
	void serverWithoutFreeConnections() {
		limitConnections(0);
		assertOutput(2, verify("--lease=2s")).contains("The database cannot be reached: FATAL: too many connections")
			.contains(Obstacle.NO_RESOURCES.action());
	}

	@Test
	void serverWithOneFreeConnection() {
		limitConnections(1);
		assertUndetermined(verify("--lease=2s"), "session", "no free connection (SQLSTATE 53300)",
				Obstacle.NO_RESOURCES.action());
		Awaitility.await()
			.until(() -> this.server.query("SELECT pid FROM pg_stat_activity WHERE usename = '" + ROLE + "'")
				.isEmpty());
		assertUndetermined(verify("--store=table"), "schema", "too many connections", Obstacle.NO_RESOURCES.action());
	}

	@Test
	@Tag("ring3")
	void serverThatIsFullWhenANodeConnectsAgain() throws Exception {
		Future<Outcome> verification = start(() -> verify("--lease=2s", "--store=table"));
		Awaitility.await()
			.until(() -> this.server.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE "
					+ "'leader-election verify%' AND state = 'idle in transaction' AND now() - state_change > interval '50 ms'"),
					(pids) -> !pids.isEmpty());
		// The command and one more, which drops the schema
		limitConnections(2);
		assertUndetermined(verification.get(1, TimeUnit.MINUTES), "hand-over",
				"The node that was cut off is no candidate again", Obstacle.NO_SESSION.action());
		assertNoObjectIsLeft();
	}

	private void limitConnections(int limit) {
		this.server.execute("ALTER ROLE " + ROLE + " CONNECTION LIMIT " + limit);
	}

	private static void assertUndetermined(Outcome outcome, String check, String message, String action) {
		assertOutput(2, outcome).contains("Not determined, in the check \"" + check + "\": ", message, action)
			.doesNotContain("FAILED", "### Elections");
	}

	/**
	 * The process of the session does nothing any more, as with a proxy that keeps the
	 * session active.
	 */
	@Test
	@Tag("ring3")
	@EmbeddedServerOnly
	void silentSessionThatTheServerDoesNotEnd() throws Exception {
		Future<Outcome> verification = start(() -> verify("--lease=2s"));
		int pid = awaitSilentSession();
		this.server.signalBackend(pid, "STOP");
		try {
			assertRefused(verification.get(1, TimeUnit.MINUTES),
					"| silence | FAILED | The server has not ended a session", "no other node would lead");
		}
		finally {
			this.server.signalBackend(pid, "CONT");
		}
	}

	@Test
	@Tag("ring3")
	void silentSessionThatIsEndedTooEarly() throws Exception {
		Future<Outcome> verification = start(() -> verify("--lease=2s"));
		this.server.terminate(awaitSilentSession());
		assertRefused(verification.get(1, TimeUnit.MINUTES),
				"| silence | FAILED | A session was ended after a silence of",
				"another node could lead at the same time");
	}

	@Test
	@Tag("ring3")
	void serverThatIsRestartedDuringTheVerification() throws Exception {
		Future<Outcome> verification = start(() -> verify("--lease=2s", "--debug"));
		awaitSilentSession();
		this.server.terminate("leader-election verify%");
		assertOutput(2, verification.get(1, TimeUnit.MINUTES)).contains("Not determined, in the check \"session\": ")
			.contains("VerificationException")
			.contains(Obstacle.CONNECTION_LOST.action())
			.doesNotContain("FAILED", "### Elections", this.server.host() + ":");
	}

	private static Future<Outcome> start(Callable<Outcome> verification) {
		FutureTask<Outcome> task = new FutureTask<>(verification);
		new Thread(task, "verification").start();
		return task;
	}

	private int awaitSilentSession() {
		return Awaitility.await()
			.until(() -> this.server.query("SELECT pid FROM pg_stat_activity WHERE application_name LIKE "
					+ "'leader-election verify% silent' AND state = 'idle' AND now() - state_change > interval '300 ms'"),
					(pids) -> !pids.isEmpty())
			.stream()
			.mapToInt(Integer::parseInt)
			.findFirst()
			.orElseThrow();
	}

	@Test
	@Tag("ring3")
	void namesOfSessionsAreNotVisible() {
		execute("REVOKE EXECUTE ON FUNCTION pg_catalog.pg_stat_get_activity(int) FROM PUBLIC");
		assertOutput(0, verify("--lease=2s"))
			.contains("| visibility | note | nodes do not see each other", "| hand-over |")
			.doesNotContain("FAILED");
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	@Tag("ring2")
	void searchPathOfTheRoleIsNotUsed(String store) {
		execute(HostileSchema.SCRIPT);
		execute("ALTER ROLE " + ROLE + " SET search_path = " + HostileSchema.SEARCH_PATH);
		int logged = this.server.log().length();
		Outcome outcome = verify("--lease=2s", "--store=" + store);
		assertThat(outcome.status()).as(outcome.output()).isZero();
		assertThat(this.server.log().substring(logged)).doesNotContain(HostileSchema.TRACE);
	}

	@Test
	void roleWithoutPlpgsql() {
		execute("REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC");
		assertRefused(verify(), "The role \"" + ROLE + "\" may not use the language plpgsql",
				"GRANT USAGE ON LANGUAGE plpgsql TO \"" + ROLE + "\"");
	}

	@Test
	void roleWithoutTimeline() {
		execute("REVOKE EXECUTE ON FUNCTION pg_catalog.pg_walfile_name(pg_lsn) FROM PUBLIC");
		assertRefused(verify(), "The role \"" + ROLE + "\" may not execute functions that leader election needs",
				"GRANT EXECUTE ON FUNCTION pg_walfile_name(pg_lsn)");
	}

	@Test
	void roleWithoutCreateCannotVerifyTheTable() {
		this.server.execute("ALTER DATABASE " + DATABASE + " OWNER TO " + this.server.username());
		assertThat(verify("--store=table").output())
			.contains("| schema | FAILED | A schema for the tables cannot be created");
	}

	@Test
	@Tag("ring3")
	void poolerInSessionMode() {
		try (PgBouncer pooler = PgBouncer.start(this.server, "session")) {
			String url = poolerUrl(pooler);
			assertRefused(verifyAt(url), "A connection pooler is between this application and PostgreSQL",
					"set leader-election.allow-session-pooler=true");
			assertOutput(0, verifyAt(url, "--allow-session-pooler", "--lease=2s"))
				.contains("| pooler | note |", "in session mode")
				.contains("| pooler | ok | two sessions of an election are two sessions of the server");
		}
	}

	@Test
	@Tag("ring3")
	void poolerInTransactionMode() {
		try (PgBouncer pooler = PgBouncer.start(this.server, "transaction")) {
			String url = poolerUrl(pooler);
			Outcome outcome = verifyAt(url);
			assertRefused(outcome, "In transaction mode, two nodes would hold the same lock.",
					"leader-election.store=table works with it");
			assertThat(outcome.output()).contains("in transaction or statement mode");
			List<String> settings = settings(url);
			assertRefused(verifyAt(url, "--allow-session-pooler"), "it runs in transaction mode",
					"set leader-election.store=table");
			assertThat(settings(url)).isEqualTo(settings);
			// Idle for longer than the default lease, which must not be left in the pool
			assertOutput(0, verifyAt(url, "--store=table", "--lease=5s"))
				.contains("a transaction of the former term is refused and rolled back");
			assertThat(settings(url)).isEqualTo(settings);
		}
	}

	/**
	 * The settings that differ from the defaults of the server, in the session that the
	 * pooler gives to everybody.
	 */
	private static List<String> settings(String url) {
		try (Connection connection = DriverManager.getConnection(url)) {
			return Rows.strings(connection, "SELECT name || '=' || setting FROM pg_settings WHERE source = 'session' "
					+ "AND name NOT IN ('application_name', 'DateStyle', 'extra_float_digits', 'transaction_isolation', "
					+ "'transaction_read_only') ORDER BY name");
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Test
	@Tag("ring2")
	void presetOfTheRoleThatEndsTransactions() {
		this.server.execute("ALTER ROLE " + ROLE + " SET idle_in_transaction_session_timeout = '500ms'");
		assertUndetermined(verify("--lease=2s", "--store=table"), "fence", "due to idle-in-transaction timeout",
				Obstacle.IDLE_TRANSACTION.action());
	}

	@Test
	@Tag("ring3")
	@EmbeddedServerOnly
	void standby() {
		try (PostgreSqlServer primary = PostgreSqlServer.start(); PostgreSqlServer standby = primary.startStandby()) {
			assertRefused(verifyAt(standby.jdbcUrl() + "?user=" + standby.username()),
					"The server is a standby, on which no node can lead", "Use the endpoint of the primary");
		}
	}

	@Test
	@Tag("ring3")
	@EmbeddedServerOnly
	void encryptedConnection(@TempDir Path folder) {
		Certificates certificates = new Certificates(folder);
		try (PostgreSqlServer encrypted = PostgreSqlServer.start(certificates.serverSettings())) {
			String url = encrypted.jdbcUrl() + "?user=" + encrypted.username() + "&sslmode=verify-full&sslrootcert="
					+ certificates.authority();
			assertOutput(0, verifyAt(url, "--lease=2s")).contains("| encryption | ok | TLSv1.3, sslmode=verify-full |")
				.doesNotContain(folder.toString());
			assertOutput(2, verifyAt(url.replace("localhost", "127.0.0.1")))
				.contains("The hostname (host) could not be verified");
		}
	}

	@Test
	void wrongPassword() {
		assertOutput(2, verifyAt(url(this.server.port()).replace("right", "wrong")))
			.contains("password authentication failed")
			.contains("PGPASSWORD");
	}

	@Test
	void missingDatabase() {
		assertOutput(2, verifyAt(url(this.server.port()).replace("/" + DATABASE, "/missing")))
			.contains("\"missing\" does not exist")
			.contains("Check the name of the database");
	}

	/**
	 * The names that begin a row of a table of the document.
	 */
	static List<String> documented(String name) throws IOException {
		Path document = Path.of("..", "docs", "operations", "verify-database.md");
		return Pattern.compile("^\\| `(" + name + ")`", Pattern.MULTILINE)
			.matcher(Files.readString(document))
			.results()
			.map((result) -> result.group(1))
			.toList();
	}

	/**
	 * Assert how a verification has ended, and return what to assert of its output.
	 */
	private static AbstractStringAssert<?> assertOutput(int status, Outcome outcome) {
		assertThat(outcome.status()).as(outcome.output()).isEqualTo(status);
		return assertThat(outcome.output());
	}

	private static void assertRefused(Outcome outcome, String message, String action) {
		assertOutput(1, outcome).contains("### Elections do not hold", message, action);
	}

	private void execute(String sql) {
		inDatabase((statement) -> statement.execute(sql));
	}

	private long count(String sql) {
		return inDatabase((statement) -> {
			try (ResultSet row = statement.executeQuery(sql)) {
				row.next();
				return row.getLong(1);
			}
		});
	}

	private <T> T inDatabase(Use<T> use) {
		try (Connection connection = this.server.connectTo(DATABASE);
				Statement statement = connection.createStatement()) {
			return use.apply(statement);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private Outcome verify(String... options) {
		return verifyAt(url(this.server.port()), options);
	}

	private String url(int port) {
		return "jdbc:postgresql://" + this.server.host() + ":" + port + "/" + DATABASE + "?user=" + ROLE
				+ "&password=right";
	}

	private String poolerUrl(PgBouncer pooler) {
		// Only this role is known to it
		return "jdbc:postgresql://127.0.0.1:" + pooler.port() + "/" + DATABASE + "?user=" + this.server.username();
	}

	static Outcome verifyAt(String url, String... options) {
		List<String> arguments = new ArrayList<>(List.of("verify-database", "--url=" + url));
		arguments.addAll(List.of(options));
		return execute(arguments.toArray(String[]::new));
	}

	static Outcome execute(String... arguments) {
		StringWriter output = new StringWriter();
		int status = LeaderElectionCli.create()
			.setOut(new PrintWriter(output))
			.setErr(new PrintWriter(output))
			.execute(arguments);
		return new Outcome(status, output.toString());
	}

	record Outcome(int status, String output) {

		/**
		 * The checks, in their order.
		 */
		List<String> checks() {
			return this.output.lines()
				.filter((line) -> line.matches("  (ok|note|FAILED) .*"))
				.map((line) -> line.substring(10, 32).trim())
				.toList();
		}

	}

	/**
	 * Uses a connection.
	 */
	@FunctionalInterface
	private interface Use<T> {

		T apply(Statement statement) throws SQLException;

	}

}
