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

package io.leaderelection.sample;

import java.io.IOException;

import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Schedulers}. The test decides who leads. The database is for the work
 * only.
 */
@SpringBootTest
@AutoConfigureTestLeadership
@Tag("ring1")
class SchedulersTests {

	private static EmbeddedPostgres postgres;

	@Autowired
	private Schedulers schedulers;

	@Autowired
	private TestLeadership leadership;

	@Autowired
	private JdbcClient jdbc;

	@BeforeAll
	static void startDatabase() throws IOException {
		postgres = EmbeddedPostgres.start();
	}

	@DynamicPropertySource
	static void database(DynamicPropertyRegistry registry) {
		registry.add("spring.datasource.url", () -> postgres.getJdbcUrl("postgres", "postgres"));
	}

	@AfterAll
	static void stopDatabase() throws IOException {
		postgres.close();
	}

	@Test
	void onlyTheLeaderRefreshes() {
		this.schedulers.refresh();
		assertThat(refreshes()).isZero();
		this.leadership.grant();
		this.schedulers.refresh();
		assertThat(refreshes()).isPositive();
		this.leadership.revoke();
		int refreshes = refreshes();
		this.schedulers.refresh();
		assertThat(refreshes()).isEqualTo(refreshes);
	}

	private int refreshes() {
		return this.jdbc.sql("select count(*) from sample_work").query(Integer.class).single();
	}

}
