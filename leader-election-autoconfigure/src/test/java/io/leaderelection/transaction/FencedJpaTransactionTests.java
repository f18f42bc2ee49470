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
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.Table;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Transactions of leader work with {@link JpaTransactionManager} and Hibernate, which
 * writes only after the fence, when the transaction commits.
 */
class FencedJpaTransactionTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	private static ConfigurableApplicationContext context;

	private final LeaderElector elector = context.getBean(LeaderElector.class);

	private final JdbcClient jdbc = context.getBean(JdbcClient.class);

	private final EntityManager entities = SharedEntityManagerCreator
		.createSharedEntityManager(context.getBean(EntityManagerFactory.class));

	private final TransactionTemplate transaction = new TransactionTemplate(
			context.getBean(PlatformTransactionManager.class));

	@BeforeAll
	static void start() {
		server.execute("DROP TABLE IF EXISTS fenced_note; CREATE TABLE fenced_note (id int PRIMARY KEY, body text)");
		context = FencedApplication.start(server, JpaConfiguration.class);
	}

	@AfterAll
	static void stop() {
		SpringApplication.exit(context);
	}

	@BeforeEach
	void lead() throws Exception {
		this.jdbc.sql("TRUNCATE fenced_note").update();
		assertThat(this.elector.awaitLeadership(Duration.ofSeconds(30))).isTrue();
	}

	@Test
	void flushAtCommitIsFenced() {
		this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
			this.entities.persist(new Note(1, "first"));
			assertThat(rows()).as("not written before the commit").isZero();
		}));
		assertThat(rows()).isOne();
		assertThat(context.getBean(TransactionFencing.class).coverage())
			.containsExactly(Map.entry("transactionManager", Coverage.FENCED));
	}

	@Test
	void nothingIsFlushedAfterTheTerm() {
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
				this.entities.persist(new Note(1, "first"));
				FencedApplication.loseTerm(context, server);
			})));
		assertThat(rows()).isZero();
	}

	@Test
	void whatWasFlushedBeforeIsUndoneAfterTheTerm() {
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
				this.entities.persist(new Note(1, "first"));
				this.entities.flush();
				FencedApplication.loseTerm(context, server);
			})));
		assertThat(rows()).isZero();
	}

	@Test
	void flushThatFailsAfterTheFenceIsUndone() {
		this.jdbc.sql("INSERT INTO fenced_note VALUES (2, 'there')").update();
		assertThatExceptionOfType(RuntimeException.class)
			.isThrownBy(() -> this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
				this.entities.persist(new Note(1, "first"));
				this.entities.persist(new Note(2, "twice"));
			})));
		assertThat(rows()).isOne();
		this.elector.runIfLeader(
				() -> this.transaction.executeWithoutResult((status) -> this.entities.persist(new Note(1, "first"))));
		assertThat(rows()).isEqualTo(2);
	}

	private long rows() {
		return Long.parseLong(server.query("SELECT count(*) FROM fenced_note").get(0));
	}

	@Configuration(proxyBeanMethods = false)
	static class JpaConfiguration {

		@Bean
		LocalContainerEntityManagerFactoryBean entityManagerFactory(DataSource dataSource) {
			LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
			factory.setDataSource(dataSource);
			factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
			factory.setManagedTypes(PersistenceManagedTypes.of(Note.class.getName()));
			return factory;
		}

		@Bean
		JpaTransactionManager transactionManager(EntityManagerFactory entityManagerFactory) {
			return new JpaTransactionManager(entityManagerFactory);
		}

	}

	/**
	 * An entity whose id is given, so that nothing is written before the flush.
	 */
	@Entity
	@Table(name = "fenced_note")
	static class Note {

		@Id
		private int id;

		private String body;

		Note() {
		}

		Note(int id, String body) {
			this.id = id;
			this.body = body;
		}

	}

}
