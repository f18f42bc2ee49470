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

package io.leaderelection.transaction;

import java.util.Map;

import javax.sql.DataSource;

import io.leaderelection.transaction.FencedJpaTransactionTests.Note;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Primary;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.vendor.EclipseLinkJpaDialect;
import org.springframework.orm.jpa.vendor.EclipseLinkJpaVendorAdapter;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Transactions of leader work with EclipseLink, which may begin on the database as late
 * as at the commit, and writes in read-only transactions.
 */
@Tag("ring1")
class FencedEclipseLinkTransactionTests extends AbstractFencedTests {

	@BeforeAll
	static void start() {
		start(EclipseLinkConfiguration.class);
	}

	@ParameterizedTest
	@CsvSource({ "early, false, false", "early, true, false", "lazy, false, false", "lazy, true, false",
			"early, false, true" })
	void commitsInItsTermOnly(String manager, boolean joined, boolean readOnly) {
		this.transaction.setTransactionManager(context.getBean(manager, JpaTransactionManager.class));
		this.transaction.setReadOnly(readOnly);
		persist(joined, 1, () -> assertThat(rows()).as("not written before the commit").isZero());
		assertThat(rows()).isOne();
		assertThat(context.getBean(TransactionFencing.class).coverage())
			.containsExactlyInAnyOrderEntriesOf(Map.of("early", Coverage.FENCED, "lazy", Coverage.FENCED));
		assertRefused(() -> persist(joined, 2, FencedEclipseLinkTransactionTests::loseTerm));
		assertThat(rows()).isOne();
	}

	private void persist(boolean joined, int id, Runnable beforeCommit) {
		EntityManager entities = SharedEntityManagerCreator
			.createSharedEntityManager(context.getBean(EntityManagerFactory.class));
		if (joined) {
			this.transaction.executeWithoutResult((status) -> {
				this.elector.runIfLeader(() -> entities.persist(new Note(id, "first")));
				beforeCommit.run();
			});
		}
		else {
			inTransaction(() -> {
				entities.persist(new Note(id, "first"));
				beforeCommit.run();
			});
		}
	}

	@Configuration(proxyBeanMethods = false)
	static class EclipseLinkConfiguration {

		@Bean
		LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
			LocalContainerEntityManagerFactoryBean factory = new FencedJpaTransactionTests.JpaConfiguration()
				.entityManagerFactory(dataSource);
			factory.setJpaVendorAdapter(new EclipseLinkJpaVendorAdapter());
			factory.getJpaPropertyMap().put("eclipselink.weaving", "false");
			return factory;
		}

		@Bean
		@Primary
		JpaTransactionManager early(EntityManagerFactory factory) {
			return new JpaTransactionManager(factory);
		}

		@Bean
		JpaTransactionManager lazy(EntityManagerFactory factory) {
			EclipseLinkJpaDialect dialect = new EclipseLinkJpaDialect();
			dialect.setLazyDatabaseTransaction(true);
			JpaTransactionManager manager = new JpaTransactionManager(factory);
			manager.setJpaDialect(dialect);
			return manager;
		}

	}

}
