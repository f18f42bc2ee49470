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
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;
import org.testcontainers.postgresql.PostgreSQLContainer;

import org.springframework.boot.testcontainers.service.connection.ServiceConnection;

/**
 * Tests for elections with a container of their own. Skipped where tests use embedded
 * servers.
 */
@Testcontainers
@EnabledIfSystemProperty(named = "suite.postgres", matches = "testcontainers")
@Tag("ring2")
class TestcontainersElectionTests extends AbstractElectionContainerTests {

	@Container
	@ServiceConnection
	static final PostgreSQLContainer data = new PostgreSQLContainer(PostgreSqlServer.image());

	@Container
	@ServiceConnection(name = "leader-election", type = LeaderElectionConnectionDetails.class)
	static final PostgreSQLContainer elections = new PostgreSQLContainer(PostgreSqlServer.image());

}
