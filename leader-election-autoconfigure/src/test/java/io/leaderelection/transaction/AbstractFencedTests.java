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

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeEach;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Propagation;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests of an application that writes notes, which leads before each of them.
 */
abstract class AbstractFencedTests {

	static final PostgreSqlServer server = PostgreSqlServer.shared();

	static ConfigurableApplicationContext context;

	final LeaderElector elector = context.getBean(LeaderElector.class);

	final JdbcClient jdbc = context.getBean(JdbcClient.class);

	final TransactionTemplate transaction = transaction(Propagation.REQUIRED);

	static void start(Class<?> configuration) {
		server.execute("DROP TABLE IF EXISTS fenced_note; CREATE TABLE fenced_note (id int UNIQUE, body text)");
		context = FencedApplication.start(server, configuration);
	}

	@AfterAll
	static void stop() {
		SpringApplication.exit(context);
	}

	@BeforeEach
	void lead() throws Exception {
		server.execute("TRUNCATE fenced_note");
		awaitLeadership();
	}

	void awaitLeadership() throws InterruptedException {
		assertThat(this.elector.awaitLeadership(Duration.ofSeconds(30))).isTrue();
	}

	static void loseTerm() {
		FencedApplication.loseTerm(context, server);
	}

	static TransactionTemplate transaction(Propagation propagation) {
		TransactionTemplate template = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
		template.setPropagationBehavior(propagation.value());
		return template;
	}

	/**
	 * Do leader work in a transaction.
	 */
	void inTransaction(Runnable work) {
		assertThat(this.elector.runIfLeader(() -> this.transaction.executeWithoutResult((status) -> work.run())))
			.isTrue();
	}

	/**
	 * Verify that nothing is written by work whose term ends.
	 */
	static void assertUndone(ThrowingCallable work) {
		assertRefused(work);
		assertThat(rows()).isZero();
	}

	static void assertRefused(ThrowingCallable work) {
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(work);
	}

	void insert(String body) {
		this.jdbc.sql("INSERT INTO fenced_note (body) VALUES (?)").param(body).update();
	}

	static long rows() {
		return Long.parseLong(server.query("SELECT count(*) FROM fenced_note").get(0));
	}

}
