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

package io.leaderelection.comparison;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.locks.LockSupport;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * A node's part in an election, as the documentation of a candidate shows it: a bean of
 * the application of a {@link Node}, which closes it in an orderly stop.
 */
interface Adapter {

	/**
	 * Whether this node leads, as the API of the candidate answers.
	 */
	boolean isLeader();

	/**
	 * Runs leader-only work if this node leads, with the check that the candidate offers.
	 */
	default void runIfLeader(Runnable work) {
		if (isLeader()) {
			work.run();
		}
	}

	/**
	 * This project, configured by its properties.
	 *
	 * @param elector its API
	 */
	@EnableAutoConfiguration
	record ThisProject(LeaderElector elector) implements Adapter {

		@Override
		public boolean isLeader() {
			return this.elector.isLeader();
		}

		@Override
		public void runIfLeader(Runnable work) {
			this.elector.runIfLeader(work);
		}

	}

	/**
	 * Spring Integration's initiator on its JDBC lock registry.
	 */
	@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, DataSourceTransactionManagerAutoConfiguration.class })
	class SpringIntegration {

		@Bean
		DefaultLockRepository lockRepository(DataSource dataSource, @Value("${on-conflict}") boolean onConflict) {
			DefaultLockRepository repository = new DefaultLockRepository(dataSource);
			if (onConflict) {
				repository.setInsertQuery(repository.getInsertQuery() + " ON CONFLICT DO NOTHING");
			}
			return repository;
		}

		@Bean
		JdbcLockRegistry lockRegistry(DefaultLockRepository repository, @Value("${ttl}") Duration ttl,
				@Value("${idle-between-tries}") Duration idleBetweenTries) {
			JdbcLockRegistry registry = new JdbcLockRegistry(repository, ttl);
			registry.setIdleBetweenTries(idleBetweenTries);
			return registry;
		}

		@Bean
		LockRegistryLeaderInitiator leaderInitiator(JdbcLockRegistry registry, @Value("${node}") String node,
				@Value("${election}") String election, @Value("${heart-beat}") Duration heartBeat,
				@Value("${busy-wait}") Duration busyWait) {
			LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(registry,
					new DefaultCandidate(node, election));
			initiator.setHeartBeatMillis(heartBeat.toMillis());
			initiator.setBusyWaitMillis(busyWait.toMillis());
			return initiator;
		}

		@Bean
		Adapter adapter(LockRegistryLeaderInitiator initiator) {
			return () -> initiator.getContext().isLeader();
		}

	}

	/**
	 * ShedLock, which has no leader: a node leads while it runs, and a fault hits the
	 * node that has run last.
	 */
	@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, JdbcTemplateAutoConfiguration.class })
	final class ShedLock implements Adapter, AutoCloseable {

		private final LockingTaskExecutor executor;

		private final Environment options;

		private volatile boolean running;

		private boolean closed;

		ShedLock(JdbcTemplate jdbc, Environment options) {
			this.executor = new DefaultLockingTaskExecutor(
					new JdbcTemplateLockProvider(JdbcTemplateLockProvider.Configuration.builder()
						.withJdbcTemplate(jdbc)
						.withLockedByValue(options.getRequiredProperty("node"))
						.usingDbTime()
						.build()));
			this.options = options;
		}

		@Override
		public boolean isLeader() {
			return this.running;
		}

		@Override
		public synchronized void runIfLeader(Runnable work) {
			if (!this.closed) {
				this.executor.executeWithLock((Runnable) () -> run(work),
						new LockConfiguration(Instant.now(), this.options.getRequiredProperty("election"),
								duration("lock-at-most-for"), duration("lock-at-least-for")));
			}
		}

		private void run(Runnable work) {
			this.running = true;
			work.run();
			LockSupport.parkNanos(duration("run-lasts").toNanos());
			this.running = false;
		}

		private Duration duration(String option) {
			return this.options.getRequiredProperty(option, Duration.class);
		}

		@Override
		public synchronized void close() {
			// Has waited for the present run, as a scheduler does that shuts down
			this.closed = true;
		}

	}

}
