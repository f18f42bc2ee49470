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

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

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
		assertThatNoException().isThrownBy(() -> server("PostgreSQL 14.20", 140020, false, true).check(1, false));
	}

	@Test
	void olderVersionIsRefused() {
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> server("PostgreSQL 13.7", 130007, false, true).check(1, false))
			.withMessage("Leader election needs PostgreSQL 14 or later (for idle_session_timeout), but the server is "
					+ "PostgreSQL 13.7")
			.satisfies((ex) -> assertThat(ex.getAction()).startsWith("Upgrade the server"));
	}

	@Test
	void cockroachIsRefused() {
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> server("CockroachDB CCL v25.1.0", 130000, false, true).check(1, false))
			.withMessageContaining("every node would lead");
	}

	@Test
	void poolerIsRefusedUnlessItIsAllowed() {
		ServerInspection server = server("PostgreSQL 18.6", 180006, false, true);
		assertThatExceptionOfType(UnusableStoreException.class).isThrownBy(() -> server.check(-4711, false))
			.withMessageContaining("pooler")
			.satisfies((ex) -> assertThat(ex.getAction()).contains("leader-election.allow-session-pooler=true"));
		assertThatNoException().isThrownBy(() -> server.check(-4711, true));
	}

	@Test
	void standbyIsNotTheEndButNoPlaceToLead() {
		assertThatExceptionOfType(SessionException.class)
			.isThrownBy(() -> server("PostgreSQL 18.6", 180006, true, true).check(1, false))
			.isNotInstanceOf(UnusableStoreException.class)
			.withMessageContaining("standby");
	}

	@Test
	void roleWithoutPlpgsqlNamesTheMissingGrant() {
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> server("PostgreSQL 18.6", 180006, false, false).check(1, false))
			.satisfies((ex) -> assertThat(ex.getAction()).contains("GRANT USAGE ON LANGUAGE plpgsql TO \"app\""));
	}

	@Test
	void waitStaysBelowWhatTheServerWouldLog() {
		assertThat(server(1000, -1).longestWaitMillis()).isEqualTo(800);
		assertThat(server(1000, 250).longestWaitMillis()).isEqualTo(200);
		assertThat(server(200, -1).longestWaitMillis()).isEqualTo(160);
		assertThat(server(1000, 0).longestWaitMillis()).isEqualTo(800);
		assertThat(server(100, -1).longestWaitMillis()).isEqualTo(80);
		assertThat(server(1000, 50).longestWaitMillis()).isEqualTo(40);
		assertThat(server(1, 1).longestWaitMillis()).isEqualTo(20);
	}

	private static ServerInspection server(long deadlockTimeout, long logMinDuration) {
		return new ServerInspection("PostgreSQL 18.6", 180006, 1, false, "app", "app", 5, true, true, true, true, true,
				deadlockTimeout, logMinDuration);
	}

	private static ServerInspection server(String version, int number, boolean inRecovery, boolean plpgsql) {
		return new ServerInspection(version, number, 1, inRecovery, "app", "app", 5, plpgsql, true, true, true, true,
				1000, -1);
	}

}
