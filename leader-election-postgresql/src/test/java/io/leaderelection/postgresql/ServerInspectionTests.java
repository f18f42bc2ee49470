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

package io.leaderelection.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatNoException;

/**
 * Tests for {@link ServerInspection}.
 */
@Tag("ring1")
class ServerInspectionTests {

	@Test
	void primaryOfASupportedVersionIsUsable() {
		assertThatNoException()
			.isThrownBy(() -> server("PostgreSQL 14.20", 140020, false, true).check(1, false, false));
	}

	@Test
	void olderVersionIsRefused() {
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> server("PostgreSQL 13.7", 130007, false, true).check(1, false, false))
			.withMessage("Leader election needs PostgreSQL 14 or later (for idle_session_timeout), but the server is "
					+ "PostgreSQL 13.7")
			.satisfies((ex) -> assertThat(ex.getAction()).startsWith("Upgrade the server"));
	}

	@Test
	void cockroachIsRefused() {
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> server("CockroachDB CCL v25.1.0", 130000, false, true).check(1, false, false))
			.withMessageContaining("every node would lead");
	}

	@Test
	void poolerIsRefusedUnlessItIsAllowed() {
		ServerInspection server = server("PostgreSQL 18.6", 180006, false, true);
		assertThatExceptionOfType(UnusableStoreException.class).isThrownBy(() -> server.check(-4711, false, false))
			.withMessageContaining("pooler")
			.satisfies((ex) -> assertThat(ex.getAction()).contains("leader-election.allow-session-pooler=true"));
		assertThatNoException().isThrownBy(() -> server.check(-4711, true, false));
		assertThatNoException().isThrownBy(() -> server.check(-4711, false, true));
	}

	@Test
	void standbyIsNotTheEndButNoPlaceToLead() {
		assertThatExceptionOfType(SessionException.class)
			.isThrownBy(() -> server("PostgreSQL 18.6", 180006, true, true).check(1, false, false))
			.isNotInstanceOf(UnusableStoreException.class)
			.withMessageContaining("standby");
	}

	@Test
	void roleWithoutPlpgsqlNamesTheMissingGrant() {
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> server("PostgreSQL 18.6", 180006, false, false).check(1, false, false))
			.satisfies((ex) -> assertThat(ex.getAction()).contains("GRANT USAGE ON LANGUAGE plpgsql TO \"app\""));
	}

	@Test
	void functionsOfTheStoreAreNamedWithTheirGrant() {
		ServerInspection server = new ServerInspection("PostgreSQL 18.6", 180006, 1, false, "app", "app", 5, true,
				List.of("pg_notify(text,text)", "pg_sleep(double precision)",
						"pg_try_advisory_lock(bigint), pg_try_advisory_lock(integer,integer)"),
				true, 800);
		assertThatExceptionOfType(UnusableStoreException.class).isThrownBy(() -> server.check(1, false, false))
			.withMessage("The role \"app\" may not execute functions that leader election needs: "
					+ "pg_try_advisory_lock(bigint), pg_try_advisory_lock(integer,integer).")
			.satisfies((ex) -> assertThat(ex.getAction()).contains(
					"GRANT EXECUTE ON FUNCTION pg_try_advisory_lock(bigint), pg_try_advisory_lock(integer,integer) TO \"app\""));
		assertThatExceptionOfType(UnusableStoreException.class).isThrownBy(() -> server.check(1, false, true))
			.withMessageEndingWith("needs: pg_notify(text,text).");
		assertThat(server.endings()).isFalse();
	}

	@ParameterizedTest
	@CsvSource({ "1s, -1, -1, 800", "1s, 250ms, -1, 200", "200ms, -1, -1, 160", "1s, 0, -1, 800", "100ms, -1, 0, 80",
			"1h, 1d, 50ms, 40", "1min, 2s, 100ms, 80", "1ms, 1ms, 1ms, 20" })
	void waitStaysBelowWhatTheServerWouldLog(String deadlock, String statement, String sample, long wait)
			throws SQLException {
		try (Connection connection = PostgreSqlServer.shared().connect();
				Statement settings = connection.createStatement()) {
			settings.execute("SET deadlock_timeout = '%s'; SET log_min_duration_statement = '%s'; ".formatted(deadlock,
					statement) + "SET log_min_duration_sample = '%s'".formatted(sample));
			assertThat(ServerInspection.inspect(connection).longestWaitMillis()).isEqualTo(wait);
		}
	}

	private static ServerInspection server(String version, int number, boolean inRecovery, boolean plpgsql) {
		return new ServerInspection(version, number, 1, inRecovery, "app", "app", 5, plpgsql, List.of(), true, 800);
	}

}
