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
import java.util.Properties;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

@Tag("ring1")
class DatabaseIdentityTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	@BeforeEach
	void createDatabase() {
		dropDatabase();
		this.server.execute("CREATE DATABASE identity_database");
		this.server.createRole("identity_role");
	}

	@AfterEach
	void dropDatabase() {
		this.server.execute("DROP DATABASE IF EXISTS identity_database");
		this.server.execute("DROP ROLE IF EXISTS identity_role");
	}

	@Test
	void sameDatabaseMatches() throws SQLException {
		assertThat(identity(this.server.database(), this.server.username())
			.matches(identity(this.server.database(), "identity_role"))).isTrue();
	}

	@Test
	void otherDatabaseOfTheClusterDoesNotMatch() throws SQLException {
		DatabaseIdentity own = identity(this.server.database(), this.server.username());
		DatabaseIdentity other = identity("identity_database", this.server.username());
		assertThat(own.cluster()).isNotNull().isEqualTo(other.cluster());
		assertThat(own.matches(other)).isFalse();
	}

	@Test
	void otherClusterDoesNotMatch() {
		assertThat(new DatabaseIdentity(5, 1L).matches(new DatabaseIdentity(5, 2L))).isFalse();
	}

	@Test
	void clusterThatMayNotBeAskedForMatches() throws SQLException {
		try (Connection connection = this.server.connectTo("identity_database");
				Statement statement = connection.createStatement()) {
			statement.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC");
		}
		DatabaseIdentity without = identity("identity_database", "identity_role");
		assertThat(without.cluster()).isNull();
		DatabaseIdentity with = identity("identity_database", this.server.username());
		assertThat(with.cluster()).isNotNull();
		assertThat(with.matches(without)).isTrue();
		assertThat(without.matches(with)).isTrue();
	}

	private DatabaseIdentity identity(String database, String role) throws SQLException {
		String url = this.server.jdbcUrl(this.server.port(), database);
		try (Connection connection = this.server.connect(url, role, new Properties())) {
			return DatabaseIdentity.of(connection);
		}
	}

}
