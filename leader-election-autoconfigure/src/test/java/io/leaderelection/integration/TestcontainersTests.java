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

import java.time.Duration;

import io.leaderelection.LeaderElector;
import io.leaderelection.integration.LocalNode.NodeConfiguration;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.testcontainers.junit.jupiter.Container;
import org.testcontainers.junit.jupiter.Testcontainers;
import org.testcontainers.postgresql.PostgreSQLContainer;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.testcontainers.service.connection.ServiceConnection;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for an application that has its connection from a container, as users of
 * Testcontainers have. Skipped where tests use embedded servers.
 */
@Testcontainers
@EnabledIfSystemProperty(named = "suite.postgres", matches = "testcontainers")
@SpringBootTest(classes = NodeConfiguration.class)
@Tag("ring2")
class TestcontainersTests {

	@Container
	@ServiceConnection
	static final PostgreSQLContainer postgres = new PostgreSQLContainer(PostgreSqlServer.image());

	@Test
	void leads(@Autowired LeaderElector elector) throws InterruptedException {
		assertThat(elector.awaitLeadership(Duration.ofSeconds(10))).isTrue();
	}

}
