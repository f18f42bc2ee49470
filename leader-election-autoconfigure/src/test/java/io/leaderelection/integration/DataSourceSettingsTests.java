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

import java.sql.SQLException;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for elections on the connections of the pool that Spring Boot has configured:
 * what the pool sets on them, also later, and when its database is initialized.
 */
@Tag("ring1")
class DataSourceSettingsTests extends AbstractDurableScheduleTests {

	private static final String NAME = "data_source_settings";

	private static final String TABLES = "SELECT concat(schemaname, '.', tablename) FROM pg_tables "
			+ "WHERE tablename LIKE '%s%%' AND schemaname <> 'public' ORDER BY tablename";

	@BeforeEach
	void createSchemaAndRole() {
		this.server.execute("CREATE SCHEMA %1$s; CREATE ROLE %1$s LOGIN PASSWORD 'right'".formatted(NAME));
	}

	@AfterEach
	void dropSchemaAndRole() {
		this.server.execute("DROP SCHEMA %1$s CASCADE; DROP OWNED BY %1$s; DROP ROLE %1$s".formatted(NAME));
	}

	@ParameterizedTest
	@ValueSource(strings = { "spring.datasource.hikari.schema=" + NAME,
			"spring.datasource.hikari.connection-init-sql=SET search_path = " + NAME,
			"spring.datasource.hikari.data-source-properties.currentSchema=" + NAME })
	void allTablesAreInTheSchemaOfThePool(String setting) {
		start(InTransaction.class, "leader-election.store=table", setting).awaitLeader();
		assertThat(this.server.query(TABLES.formatted(TABLE))).containsExactly(NAME + "." + TABLE,
				NAME + "." + TABLE + "_candidate", NAME + "." + TABLE + "_node", NAME + "." + TABLE + "_schedule");
	}

	@Test
	void passwordThatThePoolGetsLaterIsUsedBehindAWrapper() throws SQLException {
		LocalNode node = this.nodes.as(NAME).start(Wrapper.class).awaitLeader();
		this.server.execute("ALTER ROLE %s PASSWORD 'rotated'".formatted(NAME));
		node.bean(DataSource.class).unwrap(HikariDataSource.class).getHikariConfigMXBean().setPassword("rotated");
		this.server
			.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '%s' ".formatted(NAME)
					+ "AND application_name LIKE 'leader-election %'");
		Awaitility.await().until(() -> node.events().size() >= 3);
		node.awaitLeader();
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void tablesAreMadeBeforeTheyAreRead(boolean lazy) {
		LocalNode node = start(YearlyJob.class, "spring.main.lazy-initialization=" + lazy,
				"leader-election.store=table", "leader-election.table-name=leader_election",
				"leader-election.initialize-schema=never", "spring.datasource.hikari.schema=" + NAME,
				"spring.sql.init.mode=always",
				"spring.sql.init.schema-locations=classpath:io/leaderelection/postgresql/schema-postgresql.sql,"
						+ "classpath:io/leaderelection/schedule/schema-schedule-postgresql.sql")
			.awaitLeader();
		assertThat(node.bean(DurableSchedules.class).jobs()).hasSize(1);
		assertThat(this.server.query(TABLES.formatted("leader_election")))
			.filteredOn((table) -> table.startsWith(NAME + "."))
			.hasSize(4);
	}

	/**
	 * Wraps the pool as the proxies of libraries that log statements do.
	 */
	static class Wrapper implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			return (bean instanceof DataSource dataSource) ? new DelegatingDataSource(dataSource) : bean;
		}

	}

	@EnableScheduling
	static class YearlyJob {

		@LeaderOnly
		@Transactional
		@DurableSchedule(name = JOB)
		@Scheduled(cron = "0 0 2 1 1 *", zone = "UTC")
		void run() {
		}

	}

}
