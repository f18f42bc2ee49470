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
import jakarta.persistence.EntityManagerFactory;
import org.hibernate.SessionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.hibernate.HibernateTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Transactions of leader work with {@link HibernateTransactionManager}, which has another
 * name in Spring Framework 6.2.
 */
@Tag("ring1")
class FencedHibernateTransactionTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	private static ConfigurableApplicationContext context;

	private final LeaderElector elector = context.getBean(LeaderElector.class);

	private final SessionFactory sessions = context.getBean(EntityManagerFactory.class).unwrap(SessionFactory.class);

	private final TransactionTemplate transaction = new TransactionTemplate(
			context.getBean(PlatformTransactionManager.class));

	@BeforeAll
	static void start() {
		server.execute("DROP TABLE IF EXISTS fenced_note; CREATE TABLE fenced_note (id int PRIMARY KEY, body text)");
		context = FencedApplication.start(server, HibernateConfiguration.class);
	}

	@AfterAll
	static void stop() {
		SpringApplication.exit(context);
	}

	@BeforeEach
	void lead() throws Exception {
		server.execute("TRUNCATE fenced_note");
		assertThat(this.elector.awaitLeadership(Duration.ofSeconds(30))).isTrue();
	}

	@Test
	void dataSourceIsFound() {
		assertThat(TransactionDataSource.of(context.getBean(HibernateTransactionManager.class)))
			.isSameAs(context.getBean(DataSource.class));
	}

	@Test
	void flushAtCommitIsFenced() {
		this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
			persist();
			assertThat(rows()).as("not written before the commit").isEqualTo("0");
		}));
		assertThat(rows()).isEqualTo("1");
		assertThat(context.getBean(TransactionFencing.class).coverage())
			.containsExactly(Map.entry("transactionManager", Coverage.FENCED));
	}

	@Test
	void nothingIsFlushedAfterTheTerm() {
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
				persist();
				FencedApplication.loseTerm(context, server);
			})));
		assertThat(rows()).isEqualTo("0");
	}

	private void persist() {
		EntityManagerHolder session = (EntityManagerHolder) TransactionSynchronizationManager
			.getResource(this.sessions);
		session.getEntityManager().persist(new Note(1, "first"));
	}

	private static String rows() {
		return server.query("SELECT count(*) FROM fenced_note").get(0);
	}

	@Configuration(proxyBeanMethods = false)
	static class HibernateConfiguration {

		@Bean
		LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
			return new FencedJpaTransactionTests.JpaConfiguration().entityManagerFactory(dataSource);
		}

		@Bean
		HibernateTransactionManager transactionManager(EntityManagerFactory factory, DataSource dataSource) {
			HibernateTransactionManager manager = new HibernateTransactionManager(factory.unwrap(SessionFactory.class));
			manager.setDataSource(dataSource);
			return manager;
		}

	}

}
