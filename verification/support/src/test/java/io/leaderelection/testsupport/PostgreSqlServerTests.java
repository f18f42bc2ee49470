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

package io.leaderelection.testsupport;

import java.net.SocketTimeoutException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link PostgreSqlServer}.
 */
@Timeout(120)
@Tag("ring3")
class PostgreSqlServerTests {

	private static PostgreSqlServer server;

	@BeforeAll
	static void start() {
		server = PostgreSqlServer.start("max_connections=50", "log_statement=ddl");
	}

	@AfterAll
	static void close() {
		server.close();
	}

	@Test
	void frozenServerAnswersNothingAndGoesOn() throws SQLException {
		try (Connection connection = connectWithTimeout()) {
			int pid = pid(connection);
			server.freeze();
			try {
				assertSilent(connection);
				assertThatExceptionOfType(SQLException.class).isThrownBy(PostgreSqlServerTests::connectWithTimeout);
			}
			finally {
				server.thaw();
			}
			assertThat(server.query("SELECT 1")).containsExactly("1");
			Awaitility.await().until(() -> !server.isPresent(pid));
		}
	}

	@Test
	@EmbeddedServerOnly
	void frozenServerCanBeStoppedAndClosed() {
		try (PostgreSqlServer own = PostgreSqlServer.start()) {
			long postmaster = postmaster(own);
			own.freeze();
			own.stop("fast");
			own.startAgain();
			assertThat(own.query("SELECT 1")).containsExactly("1");
			assertThat(Processes.isAlive(postmaster)).isFalse();
			postmaster = postmaster(own);
			own.freeze();
			own.close();
			assertThat(Processes.isAlive(postmaster)).isFalse();
		}
	}

	@Test
	@EmbeddedServerOnly
	void primaryOfAFrozenStandbyCanBeClosed() {
		PostgreSqlServer own = PostgreSqlServer.start();
		long postmaster = postmaster(own);
		try (own; PostgreSqlServer standby = own.startStandby()) {
			standby.freeze();
			own.close();
			assertThat(Processes.isAlive(postmaster)).isFalse();
		}
	}

	@Test
	void backendStopsAndContinues() throws SQLException {
		try (Connection connection = server.connect(); Connection other = connectWithTimeout()) {
			int pid = pid(other);
			server.signalBackend(pid, "STOP");
			assertThat(pid(connection)).isNotEqualTo(pid);
			assertSilent(other);
			assertThat(server.isPresent(pid)).isTrue();
			server.signalBackend(pid, "CONT");
			Awaitility.await().until(() -> !server.isPresent(pid));
		}
	}

	@Test
	void killedBackendRestartsTheServer() throws SQLException {
		try (Connection connection = server.connect(); Connection other = server.connect()) {
			server.signalBackend(pid(connection), "KILL");
			Awaitility.await().until(() -> server.log().contains("was terminated by signal 9"));
			assertThatExceptionOfType(SQLException.class).isThrownBy(() -> pid(connection));
			assertThatExceptionOfType(SQLException.class).isThrownBy(() -> pid(other));
		}
		Awaitility.await().ignoreExceptions().until(() -> server.query("SELECT 1").contains("1"));
	}

	@Test
	@EmbeddedServerOnly
	void foreignProcessesGetNoSignal() {
		int own = (int) ProcessHandle.current().pid();
		assertThatIllegalArgumentException().isThrownBy(() -> server.signalBackend(own, "KILL"));
	}

	@Test
	void standbyFollowsUntilPromoted() {
		server.execute("CREATE TABLE before (id int)");
		try (PostgreSqlServer standby = server.startStandby()) {
			assertThat(standby.port()).isNotEqualTo(server.port());
			assertThat(standby.query("SELECT pg_is_in_recovery()")).containsExactly("t");
			assertThat(standby.query("SELECT count(*) FROM before")).containsExactly("0");
			server.execute("INSERT INTO before VALUES (1)");
			Awaitility.await().until(() -> standby.query("SELECT count(*) FROM before").contains("1"));
			assertThatIllegalStateException().isThrownBy(() -> standby.execute("INSERT INTO before VALUES (2)"));
			standby.promote();
			standby.execute("INSERT INTO before VALUES (2)");
			assertThat(server.query("SELECT count(*) FROM before")).containsExactly("1");
			assertThat(standby.query("SELECT count(*) FROM before")).containsExactly("2");
			standby.stop("immediate");
			standby.startAgain();
			assertThat(standby.query("SELECT pg_is_in_recovery()")).containsExactly("f");
			assertThat(standby.log()).contains("standby").isNotEqualTo(server.log());
		}
	}

	@Test
	void standbyCatchesUpAfterARestartAndBehindAProxy() {
		server.execute("CREATE TABLE lag (id int)");
		try (TcpProxy proxy = new TcpProxy(server); PostgreSqlServer standby = server.startStandby(proxy.port())) {
			proxy.hold(Direction.TO_CLIENT);
			server.execute("INSERT INTO lag VALUES (1)");
			assertThat(standby.query("SELECT count(*) FROM lag")).containsExactly("0");
			proxy.release();
			Awaitility.await().until(() -> standby.query("SELECT count(*) FROM lag").contains("1"));
			standby.stop("fast");
			server.execute("INSERT INTO lag VALUES (2)");
			standby.startAgain();
			Awaitility.await().until(() -> standby.query("SELECT count(*) FROM lag").contains("2"));
		}
	}

	@Test
	void reloadChangesSettings() {
		server.reload("idle_session_timeout=12345", "application_name=it's");
		assertThat(server.query("SHOW idle_session_timeout")).containsExactly("12345ms");
		server.reload("idle_session_timeout", "application_name");
		assertThat(server.query("SHOW idle_session_timeout")).containsExactly("0");
		assertThatIllegalArgumentException().isThrownBy(() -> server.reload("max_connections=60"))
			.withMessageContaining("max_connections");
	}

	@Test
	void settingsOfTheCallerWinAndCrashesAreRecovered() {
		assertThat(server.query("SHOW fsync")).containsExactly("off");
		try (PostgreSqlServer own = PostgreSqlServer.start("fsync=on")) {
			assertThat(own.query("SHOW fsync")).containsExactly("on");
			assertThat(own.query("SHOW synchronous_commit")).containsExactly("on");
			assertThat(own.query("SHOW max_connections")).containsExactly("100");
			own.execute("CREATE TABLE kept AS SELECT 1 AS id");
			own.reload("work_mem=5MB");
			own.stop("immediate");
			own.startAgain();
			assertThat(own.log()).contains("automatic recovery in progress");
			assertThat(own.query("SELECT id FROM kept")).containsExactly("1");
			assertThat(own.query("SHOW work_mem")).containsExactly("5MB");
		}
	}

	private static long postmaster(PostgreSqlServer of) {
		return Long.parseLong(of.query("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)").get(0));
	}

	private static Connection connectWithTimeout() throws SQLException {
		Properties properties = new Properties();
		properties.setProperty("socketTimeout", "1");
		return server.connect(properties);
	}

	private static int pid(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
			row.next();
			return row.getInt(1);
		}
	}

	/**
	 * After the timeout the driver has closed the connection.
	 */
	private static void assertSilent(Connection connection) {
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> pid(connection))
			.havingRootCause()
			.isInstanceOf(SocketTimeoutException.class);
	}

}
