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

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.autoconfigure.LeaderElectionConnectionDetails;
import io.leaderelection.integration.LocalNode.NodeConfiguration;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Base for tests of an application whose elections have a container of their own, beside
 * that of its data.
 */
@SpringBootTest(classes = NodeConfiguration.class, properties = "spring.application.name=containers")
abstract class AbstractElectionContainerTests {

	private static final String SESSIONS = "SELECT count(*) FROM pg_stat_activity "
			+ "WHERE datname = current_database() AND application_name LIKE 'leader-election%'";

	@Test
	void electionsAreNotOnTheDatabaseOfTheApplication(@Autowired LeaderElector elector, @Autowired DataSource data,
			@Autowired LeaderElectionConnectionDetails elections) throws InterruptedException {
		assertThat(elector.awaitLeadership(Duration.ofSeconds(10))).isTrue();
		assertThat(sessions(
				new DriverManagerDataSource(elections.getJdbcUrl(), elections.getUsername(), elections.getPassword())))
			.isPositive();
		assertThat(sessions(data)).isZero();
	}

	private static int sessions(DataSource database) {
		return new JdbcTemplate(database).queryForObject(SESSIONS, int.class);
	}

}
