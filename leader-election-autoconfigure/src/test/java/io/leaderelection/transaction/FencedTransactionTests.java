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

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipLostException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.postgresql.ElectionKeys;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.postgresql.PGConnection;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.annotation.Transactional;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Transactions of leader work with {@code JdbcTransactionManager}, in every form that
 * Spring knows: those that are under way when the term ends must not commit. What the
 * documents say is not fenced is here as well, beside what helps.
 */
@Tag("ring1")
class FencedTransactionTests extends AbstractFencedTests {

	private static final AfterFence afterFence = new AfterFence();

	private final Work work = context.getBean(Work.class);

	@BeforeAll
	static void start() {
		start(WorkConfiguration.class);
		context.getBean(ConfigurableTransactionManager.class).addListener(afterFence);
	}

	@Test
	void commitsWhileTheTermLasts() {
		assertThat(this.work.insert("a", () -> {
		})).isEqualTo(1);
		assertThat(rows()).isOne();
	}

	@Test
	void doesNotCommitAfterTheTerm() {
		long before = refused();
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> this.work.insert("a", FencedTransactionTests::loseTerm))
			.satisfies((ex) -> assertThat(ex.getTerm()).isNotNull());
		assertThat(rows()).isZero();
		assertThat(refused()).isEqualTo(before + 1);
		assertThat(this.transaction
			.<Integer>execute((status) -> this.jdbc.sql("INSERT INTO fenced_note VALUES (2, 'b')").update()))
			.as("the connection is as good as new")
			.isOne();
		assertThat(rows()).isOne();
	}

	@Test
	void isBoundToTheTermInWhichTheWorkBegan() throws Exception {
		assertUndone(() -> this.elector.runIfLeader(() -> {
			loseTerm();
			Awaitility.await().until(this.elector::isLeader);
			Thread.interrupted();
			this.transaction.executeWithoutResult((status) -> insert("a"));
		}));
	}

	@ParameterizedTest
	@EnumSource(Isolation.class)
	void everyIsolationLevel(Isolation isolation) {
		this.transaction.setIsolationLevel(isolation.value());
		inTransaction(() -> insert("a"));
		assertThat(rows()).isOne();
		assertRefused(() -> inTransaction(() -> {
			insert("b");
			loseTerm();
		}));
		assertThat(rows()).isOne();
	}

	@Test
	void newTransactionInsideAnotherHasAFenceOfItsOwn() {
		assertRefused(() -> inTransaction(() -> {
			insert("outer");
			transaction(Propagation.REQUIRES_NEW).executeWithoutResult((inner) -> insert("inner"));
			loseTerm();
		}));
		assertThat(ids()).containsExactly("inner");
	}

	@Test
	void outerTransactionIsRefusedAfterItsInnerOne() {
		assertUndone(() -> inTransaction(() -> {
			insert("outer");
			transaction(Propagation.REQUIRES_NEW).executeWithoutResult((inner) -> {
				insert("inner");
				loseTerm();
			});
		}));
	}

	@Test
	void savepointsDoNotLoseTheFence() {
		assertUndone(() -> inTransaction(() -> {
			insert("outer");
			transaction(Propagation.NESTED).executeWithoutResult((inner) -> insert("kept"));
			loseTerm();
			transaction(Propagation.NESTED).executeWithoutResult((inner) -> {
				insert("undone");
				inner.setRollbackOnly();
			});
		}));
	}

	@Test
	void savepointsCommitWhileTheTermLasts() {
		long before = passed();
		inTransaction(() -> {
			insert("outer");
			transaction(Propagation.NESTED).executeWithoutResult((inner) -> insert("kept"));
			transaction(Propagation.NESTED).executeWithoutResult((inner) -> {
				insert("undone");
				inner.setRollbackOnly();
			});
		});
		assertThat(ids()).containsExactly("kept", "outer");
		assertThat(passed()).isEqualTo(before + 1);
	}

	@Test
	void workThatJoinsATransactionBindsIt() {
		assertUndone(() -> this.transaction.executeWithoutResult((status) -> {
			this.elector.runIfLeader(() -> insert("a"));
			loseTerm();
		}));
	}

	@Test
	void workThatWasSkippedDoesNotBindATransaction() {
		loseTerm();
		this.transaction.executeWithoutResult((status) -> {
			this.elector.resign();
			this.elector.runIfLeader(() -> {
			});
			insert("a");
		});
		assertThat(rows()).isOne();
	}

	@Test
	void transactionThatOutlivesItsWorkStaysBound() {
		assertUndone(() -> {
			PlatformTransactionManager manager = context.getBean(PlatformTransactionManager.class);
			var begun = this.elector.callIfLeader(() -> {
				var status = manager.getTransaction(this.transaction);
				insert("a");
				return status;
			}).orElseThrow();
			loseTerm();
			manager.commit(begun);
		});
	}

	@Test
	void transactionsOutsideOfLeaderWorkAreLeftAlone() {
		long before = passed() + refused();
		this.transaction.executeWithoutResult((status) -> {
			insert("a");
			loseTerm();
		});
		assertThat(rows()).isOne();
		assertThat(passed() + refused()).isEqualTo(before);
	}

	@Test
	void readOnlyTransactionsAreLeftAlone() {
		long before = passed() + refused();
		this.transaction.setReadOnly(true);
		inTransaction(() -> {
			ids();
			loseTerm();
		});
		assertThat(passed() + refused()).isEqualTo(before);
	}

	@Test
	void transactionThatIsRolledBackIsNotAsked() {
		long before = passed() + refused();
		this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
			insert("a");
			status.setRollbackOnly();
		}));
		assertThat(passed() + refused()).isEqualTo(before);
	}

	@Test
	void statementThatCommitsItselfIsNotFenced() {
		this.elector.runIfLeader(() -> {
			loseTerm();
			insert("a");
		});
		assertThat(rows()).isOne();
	}

	@Test
	void workThatHopsToAnotherThreadIsNotFenced() {
		this.elector.runIfLeader(() -> {
			loseTerm();
			CompletableFuture.runAsync(() -> this.transaction.executeWithoutResult((status) -> insert("a"))).join();
		});
		assertThat(rows()).isOne();
	}

	@Test
	void workThatIsGuardedOnItsOwnThreadIsFenced() {
		Throwable failure = CompletableFuture.runAsync(() -> inTransaction(() -> {
			insert("a");
			loseTerm();
		})).handle((result, ex) -> ex.getCause()).join();
		assertThat(failure).isInstanceOf(LeadershipLostException.class);
		assertThat(rows()).isZero();
	}

	@Test
	void whatIsWrittenAfterTheCommitIsNotFenced() {
		afterCommit(() -> insert("a"));
		assertThat(rows()).isOne();
	}

	@Test
	void whatIsWrittenAfterTheCommitInANewTransactionIsFenced() {
		TransactionTemplate requiringNew = transaction(Propagation.REQUIRES_NEW);
		assertUndone(() -> afterCommit(() -> requiringNew.executeWithoutResult((status) -> insert("a"))));
	}

	private void afterCommit(Runnable action) {
		inTransaction(() -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void afterCommit() {
				loseTerm();
				action.run();
			}

		}));
	}

	@Test
	void whatSynchronizationsWriteIsFencedToo() {
		assertUndone(() -> inTransaction(
				() -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void beforeCommit(boolean readOnly) {
						insert("a");
						loseTerm();
					}

				})));
	}

	@Test
	void failedStatementThatWasSwallowedDoesNotCommit() {
		inTransaction(() -> {
			insert("a");
			assertThatExceptionOfType(DataAccessException.class)
				.isThrownBy(() -> this.jdbc.sql("SELECT 1 / 0").query(Integer.class).single());
		});
		assertThat(rows()).isZero();
		inTransaction(() -> insert("b"));
		assertThat(ids()).containsExactly("b");
	}

	@Test
	void fenceLimitsHowLongATransactionMayBeIdle() {
		assertThat(idleLimitAtCommit("0")).isEqualTo("3s");
		assertThat(idleLimitAtCommit("1min")).isEqualTo("3s");
		assertThat(idleLimitAtCommit("1500ms")).isEqualTo("1500ms");
		assertThat(this.jdbc.sql("SHOW idle_in_transaction_session_timeout").query(String.class).single())
			.isEqualTo("0");
	}

	private String idleLimitAtCommit(String before) {
		StringBuilder seen = new StringBuilder();
		inTransaction(() -> {
			this.jdbc.sql("SELECT set_config('idle_in_transaction_session_timeout', ?, true)")
				.param(before)
				.query(String.class)
				.single();
			afterFence.action = () -> seen
				.append(this.jdbc.sql("SHOW idle_in_transaction_session_timeout").query(String.class).single());
		});
		return seen.toString();
	}

	@Test
	void foreignSessionOnTheFenceIsDistinguishedFromTheEndOfATerm() throws SQLException {
		long before = refused();
		try (Connection foreign = server.connect(); Statement statement = foreign.createStatement()) {
			statement.execute("SET application_name = 'psql'");
			statement.execute("SELECT pg_advisory_lock(" + keys().fence() + ")");
			for (int i = 0; i < 2; i++) {
				assertThatExceptionOfType(DataAccessException.class).isThrownBy(() -> inTransaction(() -> insert("a")))
					.havingRootCause()
					.isInstanceOf(SQLException.class)
					.returns("55P03", (ex) -> ((SQLException) ex).getSQLState())
					.withMessageContaining("session with pid " + foreign.unwrap(PGConnection.class).getBackendPID())
					.withMessageContaining("'psql'")
					.withMessageContaining("not a node of the election");
			}
			assertThat(refused()).isEqualTo(before + 2);
			assertThat(this.elector.isLeader()).isTrue();
			assertRefused(() -> inTransaction(() -> {
				insert("b");
				loseTerm();
			}));
		}
		assertThat(rows()).isZero();
	}

	private static ElectionKeys keys() {
		return ElectionKeys.derive(context.getEnvironment().getRequiredProperty("spring.application.name"), "default");
	}

	@Test
	void nothingIsTakenFromTheSearchPath() {
		server.execute(
				"""
						DROP SCHEMA IF EXISTS hostile CASCADE;
						CREATE SCHEMA hostile;
						CREATE DOMAIN hostile.text AS pg_catalog.int4;
						CREATE DOMAIN hostile.interval AS pg_catalog.int4;
						CREATE FUNCTION hostile.equals(pg_catalog.text, pg_catalog.text) RETURNS boolean
						  LANGUAGE sql AS 'SELECT pg_catalog.int4div(1, 0) IS NULL';
						CREATE OPERATOR hostile.= (LEFTARG = pg_catalog.text, RIGHTARG = pg_catalog.text, FUNCTION = hostile.equals);
						CREATE FUNCTION hostile.pg_try_advisory_xact_lock_shared(pg_catalog.int8) RETURNS boolean
						  LANGUAGE sql AS 'SELECT true';
						""");
		String hostile = "SET LOCAL search_path = hostile, pg_catalog, public";
		inTransaction(() -> {
			insert("a");
			this.jdbc.sql(hostile).update();
		});
		assertRefused(() -> inTransaction(() -> {
			insert("b");
			loseTerm();
			this.jdbc.sql(hostile).update();
		}));
		assertThat(ids()).containsExactly("a");
	}

	private List<String> ids() {
		return this.jdbc.sql("SELECT body FROM fenced_note ORDER BY body").query(String.class).list();
	}

	private static long passed() {
		return context.getBean(DefaultLeaderElectors.class).getDefault().statistics().passedFence();
	}

	private static long refused() {
		return context.getBean(DefaultLeaderElectors.class).getDefault().statistics().refusedByFence();
	}

	/**
	 * Runs between the fence and the commit.
	 */
	private static final class AfterFence implements TransactionExecutionListener {

		private Runnable action = () -> {
		};

		@Override
		public void beforeCommit(TransactionExecution transaction) {
			Runnable once = this.action;
			this.action = () -> {
			};
			once.run();
		}

	}

	/**
	 * With all auto-configurations of the class path, as in an application.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class WorkConfiguration {

		@Bean
		Work work(JdbcClient jdbc) {
			return new Work(jdbc);
		}

	}

	/**
	 * Work as applications write it.
	 */
	static class Work {

		private final JdbcClient jdbc;

		Work(JdbcClient jdbc) {
			this.jdbc = jdbc;
		}

		@LeaderOnly
		@Transactional
		Integer insert(String id, Runnable beforeReturn) {
			int rows = this.jdbc.sql("INSERT INTO fenced_note (body) VALUES (?)").param(id).update();
			beforeReturn.run();
			return rows;
		}

	}

}
