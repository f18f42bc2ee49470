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
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.locks.Lock;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.testsupport.PostgreSqlServer;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Locks that leader work takes in the election database. Their libraries change them in
 * transactions of their own, which are those of leader work as well.
 */
@Tag("ring1")
class LocksOfLeaderWorkTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	private static ConfigurableApplicationContext jdbc;

	private static ConfigurableApplicationContext jpa;

	@BeforeAll
	static void start() {
		server.execute("""
				DROP TABLE IF EXISTS fenced_note, shedlock, int_lock;
				CREATE TABLE fenced_note (id int PRIMARY KEY, body text);
				CREATE TABLE shedlock (name text PRIMARY KEY, lock_until timestamp, locked_at timestamp,
				  locked_by text);
				CREATE TABLE int_lock (region text, lock_key text, client_id text, created_date timestamp,
				  expired_after timestamp, PRIMARY KEY (region, lock_key))""");
		jdbc = FencedApplication.start(server, FencedApplication.class, "leader-election.fencing=required");
		jpa = FencedApplication.start(server, FencedJpaTransactionTests.JpaConfiguration.class,
				"leader-election.fencing=required");
	}

	@AfterAll
	static void stop() {
		SpringApplication.exit(jdbc);
		SpringApplication.exit(jpa);
	}

	@ParameterizedTest
	@CsvSource({ "SPRING_INTEGRATION, false", "SPRING_INTEGRATION, true", "SHEDLOCK, false", "SHEDLOCK, true" })
	void canBeFreedAfterTheTermUnlessTheirTransactionsAreFenced(Library library, boolean withJpa) throws Exception {
		ConfigurableApplicationContext context = withJpa ? jpa : jdbc;
		DataSource dataSource = context.getBean(DataSource.class);
		PlatformTransactionManager manager = context.getBean(PlatformTransactionManager.class);
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> work(context, () -> {
			Runnable fenced = library.lock("fenced", dataSource, manager);
			Runnable unfenced = library.lock("unfenced", new DelegatingDataSource(dataSource), null);
			FencedApplication.loseTerm(context, server);
			assertThatException().isThrownBy(fenced::run)
				.extracting(NestedExceptionUtils::getMostSpecificCause)
				.isInstanceOf(LeadershipLostException.class);
			unfenced.run();
			DataSource next = new DelegatingDataSource(dataSource);
			assertThat(library.lock("fenced", next, null)).as("fenced lock, until it expires").isNull();
			assertThat(library.lock("unfenced", next, null)).isNotNull();
		}));
		assertThat(rows()).as("of the work").isZero();
		assertThat(context.getBean(TransactionFencing.class).coverage())
			.containsExactly(Map.entry("transactionManager", Coverage.FENCED));
	}

	/** As of any two transaction managers on the data source of JPA. */
	@ParameterizedTest
	@EnumSource
	void commitWhatTheWorkHasFlushedIfTheyUseTheDataSourceOfJpa(Library library) throws Exception {
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> work(jpa, () -> {
			FencedApplication.loseTerm(jpa, server);
			library.lock("committing", jpa.getBean(DataSource.class), null);
		}));
		assertThat(rows()).isOne();
	}

	private static void work(ConfigurableApplicationContext context, Runnable work) throws Exception {
		server.execute("TRUNCATE fenced_note, shedlock, int_lock");
		LeaderElector elector = context.getBean(LeaderElector.class);
		assertThat(elector.awaitLeadership(Duration.ofSeconds(30))).isTrue();
		elector.runIfLeader(() -> new TransactionTemplate(context.getBean(PlatformTransactionManager.class))
			.executeWithoutResult((status) -> {
				context.getBean(JdbcClient.class).sql("INSERT INTO fenced_note VALUES (1, 'written')").update();
				work.run();
			}));
	}

	private static long rows() {
		return Long.parseLong(server.query("SELECT count(*) FROM fenced_note").get(0));
	}

	enum Library {

		SPRING_INTEGRATION {

			@Override
			@Nullable Runnable lock(String name, DataSource dataSource, @Nullable PlatformTransactionManager manager) {
				DefaultLockRepository repository = new DefaultLockRepository(dataSource);
				repository.setTransactionManager((manager != null) ? manager : new JdbcTransactionManager(dataSource));
				repository.afterPropertiesSet();
				repository.afterSingletonsInstantiated();
				Lock lock = new JdbcLockRegistry(repository).obtain(name);
				return lock.tryLock() ? lock::unlock : null;
			}

		},

		SHEDLOCK {

			@Override
			@Nullable Runnable lock(String name, DataSource dataSource, @Nullable PlatformTransactionManager manager) {
				LockProvider provider = new JdbcTemplateLockProvider(new JdbcTemplate(dataSource), manager);
				return provider.lock(new LockConfiguration(Instant.now(), name, Duration.ofMinutes(5), Duration.ZERO))
					.<Runnable>map((lock) -> lock::unlock)
					.orElse(null);
			}

		};

		/**
		 * Take a lock as an owner of its own.
		 * @return what frees it, or {@code null} if another owner holds it
		 */
		abstract @Nullable Runnable lock(String name, DataSource dataSource,
				@Nullable PlatformTransactionManager manager);

	}

}
