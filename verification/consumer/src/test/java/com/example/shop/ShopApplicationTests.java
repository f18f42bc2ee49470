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

package com.example.shop;
import java.io.IOException;
import java.time.Duration;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.test.context.DynamicPropertyRegistrar;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * The application on PostgreSQL: it is elected, and its work runs.
 */
@SpringBootTest
class ShopApplicationTests {

	private static final Duration TIMEOUT = Duration.ofSeconds(30);

	@Autowired
	private LeaderElector elector;

	@Autowired
	private CatalogRefresh catalogRefresh;

	@Autowired
	private Invoices invoices;

	@Test
	void leads() {
		await().atMost(TIMEOUT).until(this.elector::isLeader);
		Leadership leadership = this.elector.getLeadership();
		assertThat(leadership).isNotNull();
		assertThat(leadership.getTerm().toString()).matches("\\d+:\\d+:\\d+");
		assertThat(this.invoices.send()).isEqualTo("sent");
		await().atMost(TIMEOUT).until(this.catalogRefresh::getRuns, (runs) -> runs > 1);
		await().atMost(TIMEOUT).until(this.catalogRefresh::getExports, (exports) -> exports > 0);
	}

	@TestConfiguration(proxyBeanMethods = false)
	static class Database {

		@Bean
		EmbeddedPostgres postgres() throws IOException {
			return EmbeddedPostgres.start();
		}

		@Bean
		DynamicPropertyRegistrar databaseProperties(EmbeddedPostgres postgres) {
			return (registry) -> {
				registry.add("spring.datasource.url", () -> postgres.getJdbcUrl("postgres", "postgres"));
				registry.add("spring.datasource.username", () -> "postgres");
			};
		}

	}

}
