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
import java.util.UUID;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.health.LeadershipHealthContributorAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.integration.LocalNode;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcClientAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.transaction.annotation.EnableTransactionManagement;

/**
 * An application that writes in transactions, alone in its election.
 */
final class FencedApplication {

	static final Duration LEASE = Duration.ofSeconds(3);

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private FencedApplication() {
	}

	static ConfigurableApplicationContext start(PostgreSqlServer server, Class<?> configuration, String... properties) {
		return start(server, (application) -> application.sources(configuration), properties);
	}

	static ConfigurableApplicationContext start(PostgreSqlServer server,
			UnaryOperator<SpringApplicationBuilder> customizer, String... properties) {
		return LocalNode.run(customizer.apply(new SpringApplicationBuilder(Application.class)), server,
				Stream.concat(Stream.of("spring.application.name=fenced-" + UUID.randomUUID(),
						"leader-election.lease-duration=" + LEASE, "leader-election.takeover-delay=0",
						"leader-election.drain-timeout=1s"), Stream.of(properties))
					.toList());
	}

	/**
	 * Let the server end the session of the leader, or its row the term, and wait until
	 * this node knows and the key of its term is free. The interrupt for work on this
	 * thread is taken.
	 */
	static void loseTerm(ConfigurableApplicationContext context, PostgreSqlServer server) {
		LeaderElector elector = context.getBean(LeaderElector.class);
		boolean working = elector.getWorkLeadership() != null;
		Leadership leadership = working ? elector.getWorkLeadership() : elector.getLeadership();
		String group = context.getEnvironment().getRequiredProperty("spring.application.name");
		ElectionKeys keys = ElectionKeys.derive(group, "default");
		String held = """
				SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2 AND mode = 'ExclusiveLock'
				  AND classid = %d AND objid = %d""".formatted(keys.termClass() & 0xFFFFFFFFL,
				ElectionKeys.termObject(leadership.getTerm().timeline(), leadership.getTerm().transactionId()));
		if ("table".equals(context.getEnvironment().getProperty("leader-election.store"))) {
			server.execute("UPDATE leader_election SET owner = NULL WHERE election LIKE '" + group + "%'");
		}
		server.query("SELECT pg_terminate_backend(pid) FROM (" + held + ") AS holder");
		await(() -> server.query(held).isEmpty() && !leadership.isCurrent());
		if (working) {
			await(Thread::interrupted);
		}
	}

	static ElectionStatus status(ConfigurableApplicationContext context) {
		return context.getBean(DefaultLeaderElectors.class).getDefault().status();
	}

	// Awaitility would answer the interrupt
	private static void await(BooleanSupplier condition) {
		long deadline = System.nanoTime() + LIMIT.toNanos();
		while (!condition.getAsBoolean()) {
			if (System.nanoTime() - deadline > 0) {
				throw new AssertionError("Not within " + LIMIT);
			}
			LockSupport.parkNanos(Duration.ofMillis(1).toNanos());
		}
	}

	/**
	 * Only what these tests need, so that it starts fast.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableTransactionManagement
	@ImportAutoConfiguration({ AopAutoConfiguration.class, DataSourceAutoConfiguration.class,
			DataSourceTransactionManagerAutoConfiguration.class, JdbcTemplateAutoConfiguration.class,
			JdbcClientAutoConfiguration.class, LeaderElectionAutoConfiguration.class,
			LeadershipHealthContributorAutoConfiguration.class, DurableScheduleAutoConfiguration.class })
	static class Application {

	}

}
