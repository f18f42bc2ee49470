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

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import javax.sql.DataSource;

import io.leaderelection.postgresql.ElectionKeys;
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.Id;
import jakarta.persistence.PreUpdate;
import jakarta.persistence.Table;
import jakarta.persistence.Transient;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.dao.DataIntegrityViolationException;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaSystemException;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.SharedEntityManagerCreator;
import org.springframework.orm.jpa.hibernate.HibernateTransactionManager;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.UnexpectedRollbackException;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Transactions of leader work with {@link JpaTransactionManager} and Hibernate, which
 * writes when the transaction commits: here before the fence.
 */
@Tag("ring1")
class FencedJpaTransactionTests extends AbstractFencedTests {

	private final EntityManager entities = SharedEntityManagerCreator
		.createSharedEntityManager(context.getBean(EntityManagerFactory.class));

	@BeforeAll
	static void start() {
		start(TwoManagers.class);
	}

	@ParameterizedTest
	@ValueSource(strings = { "transactionManager", "hibernate" })
	void flushAtCommitIsFenced(String manager) {
		this.transaction.setTransactionManager(context.getBean(manager, PlatformTransactionManager.class));
		inTransaction(() -> {
			entities(manager).persist(new Note(1, "first"));
			assertThat(rows()).as("not written before the commit").isZero();
		});
		assertThat(rows()).isOne();
		assertThat(context.getBean(TransactionFencing.class).coverage()).containsEntry(manager, Coverage.FENCED);
		assertRefused(() -> inTransaction(() -> {
			entities(manager).persist(new Note(2, "second"));
			loseTerm();
		}));
		assertThat(rows()).isOne();
	}

	private EntityManager entities(String manager) {
		return manager.equals("hibernate") ? ((EntityManagerHolder) TransactionSynchronizationManager
			.getResource(context.getBean(EntityManagerFactory.class).unwrap(SessionFactory.class))).getEntityManager()
				: this.entities;
	}

	@Test
	void transactionOfAnotherManagerOnItsConnectionDoesNotForgetTheTerm() {
		((GenericApplicationContext) context).registerBean("jdbc", JdbcTransactionManager.class,
				() -> new JdbcTransactionManager(context.getBean(DataSource.class)),
				(definition) -> definition.setAutowireCandidate(false));
		TransactionTemplate other = new TransactionTemplate(context.getBean("jdbc", JdbcTransactionManager.class));
		assertUndone(() -> this.transaction.executeWithoutResult((status) -> {
			this.elector.runIfLeader(() -> {
				this.entities.persist(new Note(1, "first"));
				other.executeWithoutResult((inner) -> assertThat(rows()).isZero());
			});
			loseTerm();
		}));
	}

	@Test
	void whatWasFlushedBeforeIsUndoneAfterTheTerm() {
		assertUndone(() -> inTransaction(() -> {
			this.entities.persist(new Note(1, "first"));
			this.entities.flush();
			loseTerm();
		}));
	}

	@Test
	void flushThatFailsIsUndone() {
		this.jdbc.sql("INSERT INTO fenced_note VALUES (2, 'there')").update();
		assertThatExceptionOfType(DataIntegrityViolationException.class).isThrownBy(() -> inTransaction(() -> {
			this.entities.persist(new Note(1, "first"));
			this.entities.persist(new Note(2, "twice"));
		}));
		assertThat(rows()).isOne();
		inTransaction(() -> this.entities.persist(new Note(1, "first")));
		assertThat(rows()).isEqualTo(2);
	}

	@Test
	void fenceIsNotHeldWhileAFlushTakesLong() throws Exception {
		insertFirst();
		CountDownLatch flushing = new CountDownLatch(1);
		CountDownLatch mayFlush = new CountDownLatch(1);
		CompletableFuture<Void> work = CompletableFuture.runAsync(() -> updateFirst("changed", () -> {
			flushing.countDown();
			await(mayFlush);
		}));
		assertThat(flushing.await(30, TimeUnit.SECONDS)).isTrue();
		List<String> held = sharesOfTheFence();
		mayFlush.countDown();
		work.get(30, TimeUnit.SECONDS);
		assertThat(held).as("holders of the fence key during the flush").isEmpty();
		assertThat(body()).isEqualTo("changed");
	}

	@Test
	void changesOfAFlushInWhichTheTermEndedAreRefused() {
		insertFirst();
		assertRefused(() -> updateFirst("changed", FencedJpaTransactionTests::loseTerm));
		assertThat(body()).isEqualTo("first");
	}

	@Test
	void changesThatAreFlushedByHandOnlyAreNotWritten() {
		insertFirst();
		inTransaction(() -> {
			this.entities.unwrap(Session.class).setHibernateFlushMode(FlushMode.MANUAL);
			this.entities.find(Note.class, 1).body = "changed";
		});
		assertThat(body()).isEqualTo("first");
	}

	@Test
	void readOnlyTransactionIsNotFlushed() {
		insertFirst();
		this.transaction.setReadOnly(true);
		AtomicBoolean updated = new AtomicBoolean();
		updateFirst("changed", () -> updated.set(true));
		assertThat(updated).isFalse();
		assertThat(body()).isEqualTo("first");
	}

	@Test
	void transactionThatIsMarkedForRollbackIsNotFlushed() {
		insertFirst();
		AtomicBoolean updated = new AtomicBoolean();
		assertThatExceptionOfType(UnexpectedRollbackException.class).isThrownBy(() -> inTransaction(() -> {
			Note note = this.entities.find(Note.class, 1);
			note.body = "changed";
			note.whenUpdated = () -> updated.set(true);
			this.transaction.executeWithoutResult(TransactionStatus::setRollbackOnly);
		}));
		assertThat(updated).isFalse();
		assertThat(body()).isEqualTo("first");
	}

	@Test
	void transactionWhoseEntityManagerIsClosedCommitsAsItDoesWithoutLeadership() {
		inTransaction(() -> {
			this.entities.persist(new Note(1, "first"));
			this.entities.flush();
			((EntityManagerHolder) TransactionSynchronizationManager
				.getResource(context.getBean(EntityManagerFactory.class))).getEntityManager().close();
		});
		assertThat(rows()).isOne();
	}

	@Test
	void transactionExceptionOfACallbackRollsBack() {
		insertFirst();
		assertThatExceptionOfType(JpaSystemException.class).isThrownBy(() -> updateFirst("changed", () -> {
			this.jdbc.sql("INSERT INTO fenced_note VALUES (2, 'beside')").update();
			throw new TransactionSystemException("Of a callback");
		})).withCauseInstanceOf(TransactionSystemException.class);
		assertThat(rows()).isOne();
		assertThat(body()).isEqualTo("first");
	}

	@Test
	void entitiesOfASecondPersistenceUnitOnTheSameDataSource() {
		LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
		factory.setPersistenceUnitName("second");
		factory.setDataSource(context.getBean(DataSource.class));
		factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
		factory.setManagedTypes(PersistenceManagedTypes.of(Note.class.getName()));
		factory.afterPropertiesSet();
		try {
			EntityManager second = SharedEntityManagerCreator.createSharedEntityManager(factory.getObject());
			insertFirst();
			inTransaction(() -> {
				assertThat(second.find(Note.class, 1).body).isEqualTo("first");
				this.entities.find(Note.class, 1).body = "changed";
			});
			assertThat(body()).isEqualTo("changed");
		}
		finally {
			factory.destroy();
		}
	}

	private void insertFirst() {
		this.jdbc.sql("INSERT INTO fenced_note VALUES (1, 'first')").update();
	}

	private void updateFirst(String body, Runnable whenUpdated) {
		inTransaction(() -> {
			Note note = this.entities.find(Note.class, 1);
			note.body = body;
			note.whenUpdated = whenUpdated;
		});
	}

	private static List<String> sharesOfTheFence() {
		ElectionKeys keys = ElectionKeys.derive(context.getEnvironment().getRequiredProperty("spring.application.name"),
				"default");
		return server.query("""
				SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1
				  AND classid = %d AND objid = %d""".formatted(keys.fence() >>> 32, keys.fence() & 0xFFFFFFFFL));
	}

	private static void await(CountDownLatch latch) {
		try {
			assertThat(latch.await(30, TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static String body() {
		return server.query("SELECT body FROM fenced_note WHERE id = 1").get(0);
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

	@Configuration(proxyBeanMethods = false)
	static class TwoManagers extends JpaConfiguration {

		@Bean(autowireCandidate = false)
		HibernateTransactionManager hibernate(EntityManagerFactory factory, DataSource dataSource) {
			HibernateTransactionManager manager = new HibernateTransactionManager(factory.unwrap(SessionFactory.class));
			manager.setDataSource(dataSource);
			return manager;
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

		@Transient
		private Runnable whenUpdated;

		Note() {
		}

		Note(int id, String body) {
			this.id = id;
			this.body = body;
		}

		@PreUpdate
		void updated() {
			if (this.whenUpdated != null) {
				this.whenUpdated.run();
			}
		}

	}

}
