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

import io.leaderelection.autoconfigure.LeaderElectionConnectionDetails;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.testcontainers.postgresql.PostgreSQLContainer;

import org.springframework.boot.testcontainers.service.connection.ServiceConnection;
import org.springframework.test.annotation.DirtiesContext;

/**
 * Tests for elections with a container of their own, without Docker: the containers are
 * databases of the server that other tests share.
 */
@DirtiesContext
@Tag("ring1")
class ElectionContainerTests extends AbstractElectionContainerTests {

	@ServiceConnection
	static final PostgreSQLContainer data = new RunningContainer("container_data");

	@ServiceConnection(name = "leader-election", type = LeaderElectionConnectionDetails.class)
	static final PostgreSQLContainer elections = new RunningContainer("container_elections");

	@BeforeAll
	static void create() {
		drop();
		PostgreSqlServer.shared().execute("CREATE DATABASE container_data");
		PostgreSqlServer.shared().execute("CREATE DATABASE container_elections");
	}

	private static void drop() {
		PostgreSqlServer.shared().execute("DROP DATABASE IF EXISTS container_data WITH (FORCE)");
		PostgreSqlServer.shared().execute("DROP DATABASE IF EXISTS container_elections WITH (FORCE)");
	}

	private static final class RunningContainer extends PostgreSQLContainer {

		private final PostgreSqlServer server = PostgreSqlServer.shared();

		private final String database;

		RunningContainer(String database) {
			super(PostgreSqlServer.image());
			this.database = database;
		}

		@Override
		public String getDockerImageName() {
			return PostgreSqlServer.image();
		}

		@Override
		public void start() {
		}

		@Override
		public String getJdbcUrl() {
			return this.server.jdbcUrl().replace("/" + this.server.database(), "/" + this.database);
		}

		@Override
		public String getUsername() {
			return this.server.username();
		}

		@Override
		public String getPassword() {
			return this.server.password();
		}

	}

}
