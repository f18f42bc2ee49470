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

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Tests for {@link PgBouncer}.
 */
@Timeout(60)
@Tag("ring2")
class PgBouncerTests {

	private static final String PID = "SELECT pg_backend_pid()";

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void sessionModeKeepsTheBackend() throws SQLException {
		try (PgBouncer bouncer = PgBouncer.start(this.server, "session");
				Connection first = connect(bouncer);
				Connection second = connect(bouncer)) {
			String pid = query(first, PID);
			assertThat(query(second, PID)).isNotEqualTo(pid);
			assertThat(query(first, PID)).isEqualTo(pid);
		}
	}

	@Test
	void transactionModeSharesTheBackend() throws SQLException {
		try (PgBouncer bouncer = PgBouncer.start(this.server, "transaction");
				Connection first = connect(bouncer);
				Connection second = connect(bouncer)) {
			assertThat(query(second, PID)).isEqualTo(query(first, PID));
		}
	}

	@Test
	void settingsArePassed() throws SQLException {
		try (PgBouncer bouncer = PgBouncer.start(this.server, "session", "server_idle_timeout=1",
				"server_reset_query=SELECT pg_advisory_unlock_all()")) {
			int pid;
			try (Connection connection = connect(bouncer)) {
				pid = Integer.parseInt(query(connection, PID));
				query(connection, "SELECT pg_advisory_lock(4711)");
			}
			Awaitility.await().until(() -> this.server.advisoryLocks("pid = " + pid).isEmpty());
			Awaitility.await().until(() -> !this.server.isPresent(pid));
			assertThat(bouncer.log()).contains("server idle timeout");
		}
		assertThatIllegalStateException().isThrownBy(() -> PgBouncer.start(this.server, "session", "no_such_setting=1"))
			.withMessageContaining("no_such_setting");
	}

	@Test
	void getsToTheServerThroughAProxyAndEndsWithClose() throws SQLException {
		try (TcpProxy proxy = new TcpProxy(this.server);
				PgBouncer bouncer = PgBouncer.startAt(this.server, proxy.port(), "session");
				Connection connection = connect(bouncer)) {
			assertThat(query(connection, "SELECT 1")).isEqualTo("1");
			assertThat(proxy.connections()).isOne();
			bouncer.close();
			Awaitility.await().until(() -> proxy.connections() == 0);
			assertThatExceptionOfType(SQLException.class).isThrownBy(() -> connect(bouncer));
		}
	}

	@Test
	void signalsArrive() throws SQLException {
		try (PgBouncer bouncer = PgBouncer.start(this.server, "session"); Connection connection = connect(bouncer)) {
			bouncer.signal("KILL");
			Awaitility.await()
				.untilAsserted(() -> assertThatExceptionOfType(SQLException.class)
					.isThrownBy(() -> query(connection, "SELECT 1")));
		}
	}

	private Connection connect(PgBouncer bouncer) throws SQLException {
		return this.server.connect(bouncer.port(), new Properties());
	}

	private static String query(Connection connection, String sql) throws SQLException {
		try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
			row.next();
			return row.getString(1);
		}
	}

}
