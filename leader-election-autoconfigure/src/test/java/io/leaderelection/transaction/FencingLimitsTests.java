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
import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * What the documents say is not fenced, beside what helps. These tests show that its
 * limits are where it says.
 */
@Tag("ring1")
class FencingLimitsTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	private static ConfigurableApplicationContext context;

	private final LeaderElector elector = context.getBean(LeaderElector.class);

	private final JdbcClient jdbc = context.getBean(JdbcClient.class);

	private final TransactionTemplate transaction = new TransactionTemplate(
			context.getBean(PlatformTransactionManager.class));

	@BeforeAll
	static void start() {
		server.execute("DROP TABLE IF EXISTS limits; CREATE TABLE limits (id text)");
		context = FencedApplication.start(server, FencedApplication.Application.class);
	}

	@AfterAll
	static void stop() {
		SpringApplication.exit(context);
	}

	@BeforeEach
	void lead() throws Exception {
		server.execute("TRUNCATE limits");
		assertThat(this.elector.awaitLeadership(Duration.ofSeconds(30))).isTrue();
	}

	@Test
	void statementThatCommitsItselfIsNotFenced() {
		this.elector.runIfLeader(() -> {
			loseTerm();
			insert();
		});
		assertThat(rows()).isOne();
	}

	@Test
	void statementInATransactionIsFenced() {
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> this.elector.runIfLeader(() -> {
			loseTerm();
			this.transaction.executeWithoutResult((status) -> insert());
		}));
		assertThat(rows()).isZero();
	}

	@Test
	void workThatHopsToAnotherThreadIsNotFenced() {
		this.elector.runIfLeader(() -> {
			loseTerm();
			CompletableFuture.runAsync(() -> this.transaction.executeWithoutResult((status) -> insert())).join();
		});
		assertThat(rows()).isOne();
	}

	@Test
	void workThatIsGuardedOnItsOwnThreadIsFenced() {
		Throwable failure = CompletableFuture
			.runAsync(() -> this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> {
				insert();
				loseTerm();
			})))
			.handle((result, ex) -> ex.getCause())
			.join();
		assertThat(failure).isInstanceOf(LeadershipLostException.class);
		assertThat(rows()).isZero();
	}

	@Test
	void whatIsWrittenAfterTheCommitIsNotFenced() {
		afterCommit(this::insert);
		assertThat(rows()).isOne();
	}

	@Test
	void whatIsWrittenAfterTheCommitInANewTransactionIsFenced() {
		TransactionTemplate requiringNew = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
		requiringNew.setPropagationBehavior(TransactionDefinition.PROPAGATION_REQUIRES_NEW);
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> afterCommit(() -> requiringNew.executeWithoutResult((status) -> insert())));
		assertThat(rows()).isZero();
	}

	private void afterCommit(Runnable action) {
		this.elector.runIfLeader(() -> this.transaction.executeWithoutResult(
				(status) -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void afterCommit() {
						loseTerm();
						action.run();
					}

				})));
	}

	private void insert() {
		this.jdbc.sql("INSERT INTO limits VALUES ('a')").update();
	}

	private static void loseTerm() {
		FencedApplication.loseTerm(context, server);
	}

	private static long rows() {
		return Long.parseLong(server.query("SELECT count(*) FROM limits").get(0));
	}

}
