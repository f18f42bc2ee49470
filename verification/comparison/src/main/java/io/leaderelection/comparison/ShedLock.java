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

import net.javacrumbs.shedlock.core.DefaultLockingTaskExecutor;
import net.javacrumbs.shedlock.core.LockConfiguration;
import net.javacrumbs.shedlock.core.LockProvider;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * ShedLock, which has no leader: the leader is the node that holds the lock of a run.
 *
 * @see <a href= "https://github.com/lukas-krecan/ShedLock#jdbctemplate">JdbcTemplate</a>
 * @see <a href=
 * "https://github.com/lukas-krecan/ShedLock#running-without-spring">LockingTaskExecutor</a>
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, JdbcTemplateAutoConfiguration.class })
class ShedLock {

	@Bean
	LockProvider lockProvider(JdbcTemplate jdbc) {
		return new JdbcTemplateLockProvider(
				JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(jdbc).usingDbTime().build());
	}

	@Bean
	Job adapter(LockProvider provider, @Value("${election}") String election, @Value("${pause}") Duration pause,
			@Value("${run-lasts}") Duration duration, @Value("${lock-at-most-for}") Duration lockAtMostFor) {
		return new Job(new DefaultLockingTaskExecutor(provider), election, pause, duration, lockAtMostFor);
	}

	/**
	 * A job whose runs take a time, so that a fault can hit one.
	 */
	static final class Job implements Adapter, AutoCloseable {

		private final DefaultLockingTaskExecutor executor;

		private final String election;

		private final Duration pause;

		private final Duration duration;

		private final Duration lockAtMostFor;

		private volatile boolean running;

		private boolean closed;

		Job(DefaultLockingTaskExecutor executor, String election, Duration pause, Duration duration,
				Duration lockAtMostFor) {
			this.executor = executor;
			this.election = election;
			this.pause = pause;
			this.duration = duration;
			this.lockAtMostFor = lockAtMostFor;
		}

		@Override
		public boolean isLeader() {
			return this.running;
		}

		@Override
		public synchronized void runIfLeader(Runnable work) {
			if (!this.closed) {
				this.executor.executeWithLock((Runnable) () -> run(work),
						new LockConfiguration(Instant.now(), this.election, this.lockAtMostFor, Duration.ZERO));
			}
		}

		private void run(Runnable work) {
			this.running = true;
			work.run();
			LockSupport.parkNanos(this.duration.toNanos());
			this.running = false;
		}

		@Override
		public Duration pause() {
			return this.pause;
		}

		/**
		 * Waits for the present run, as a scheduler does that shuts down gracefully.
		 */
		@Override
		public synchronized void close() {
			this.closed = true;
		}

	}

}
