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

import java.time.Duration;
import java.util.Map;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.transaction.FencedJpaTransactionTests.Note;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.vendor.EclipseLinkJpaDialect;
import org.springframework.orm.jpa.vendor.EclipseLinkJpaVendorAdapter;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Transactions of leader work with EclipseLink, which may begin on the database as late
 * as at the commit, and writes in read-only transactions.
 */
@Tag("ring1")
class FencedEclipseLinkTransactionTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	private static ConfigurableApplicationContext context;

	@BeforeAll
	static void start() {
		server.execute("DROP TABLE IF EXISTS fenced_note; CREATE TABLE fenced_note (id int PRIMARY KEY, body text)");
		context = FencedApplication.start(server, EclipseLinkConfiguration.class);
	}

	@AfterAll
	static void stop() {
		SpringApplication.exit(context);
	}

	@ParameterizedTest
	@CsvSource({ "early, false, false", "early, true, false", "lazy, false, false", "lazy, true, false",
			"early, false, true" })
	void commitsInItsTermOnly(String manager, boolean joined, boolean readOnly) throws Exception {
		server.execute("TRUNCATE fenced_note");
		assertThat(context.getBean(LeaderElector.class).awaitLeadership(Duration.ofSeconds(30))).isTrue();
		TransactionTemplate transaction = new TransactionTemplate(
				context.getBean(manager, JpaTransactionManager.class));
		transaction.setReadOnly(readOnly);
		persist(transaction, joined, 1, () -> assertThat(rows()).as("not written before the commit").isEqualTo("0"));
		assertThat(rows()).isEqualTo("1");
		assertThat(context.getBean(TransactionFencing.class).coverage())
			.containsExactlyInAnyOrderEntriesOf(Map.of("early", Coverage.FENCED, "lazy", Coverage.FENCED));
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> persist(transaction, joined, 2, () -> FencedApplication.loseTerm(context, server)));
		assertThat(rows()).isEqualTo("1");
	}

	private static void persist(TransactionTemplate transaction, boolean joined, int id, Runnable beforeCommit) {
		LeaderElector elector = context.getBean(LeaderElector.class);
		EntityManager entities = SharedEntityManagerCreator
			.createSharedEntityManager(context.getBean(EntityManagerFactory.class));
		if (joined) {
			transaction.executeWithoutResult((status) -> {
				elector.runIfLeader(() -> entities.persist(new Note(id, "first")));
				beforeCommit.run();
			});
		}
		else {
			elector.runIfLeader(() -> transaction.executeWithoutResult((status) -> {
				entities.persist(new Note(id, "first"));
				beforeCommit.run();
			}));
		}
	}

	private static String rows() {
		return server.query("SELECT count(*) FROM fenced_note").get(0);
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
