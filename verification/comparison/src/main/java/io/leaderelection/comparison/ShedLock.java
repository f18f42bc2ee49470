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
import net.javacrumbs.shedlock.core.LockingTaskExecutor;
import net.javacrumbs.shedlock.provider.jdbctemplate.JdbcTemplateLockProvider;

import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.JdbcTemplateAutoConfiguration;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * ShedLock, which has no leader: the leader is the node that holds the lock of a run. Its
 * runs take a time, so that a fault can hit one.
 *
 * @see <a href= "https://github.com/lukas-krecan/ShedLock#jdbctemplate">JdbcTemplate</a>
 * @see <a href=
 * "https://github.com/lukas-krecan/ShedLock#running-without-spring">LockingTaskExecutor</a>
 */
@ImportAutoConfiguration({ DataSourceAutoConfiguration.class, JdbcTemplateAutoConfiguration.class })
final class ShedLock implements Adapter, AutoCloseable {

	private final LockingTaskExecutor executor;

	private final Environment options;

	private volatile boolean running;

	private boolean closed;

	ShedLock(JdbcTemplate jdbc, Environment options) {
		this.executor = new DefaultLockingTaskExecutor(new JdbcTemplateLockProvider(
				JdbcTemplateLockProvider.Configuration.builder().withJdbcTemplate(jdbc).usingDbTime().build()));
		this.options = options;
	}

	@Override
	public boolean isLeader() {
		return this.running;
	}

	@Override
	public synchronized void runIfLeader(Runnable work) {
		if (!this.closed) {
			this.executor.executeWithLock((Runnable) () -> run(work), new LockConfiguration(Instant.now(),
					this.options.getRequiredProperty("election"), duration("lock-at-most-for"), Duration.ZERO));
		}
	}

	private void run(Runnable work) {
		this.running = true;
		work.run();
		LockSupport.parkNanos(duration("run-lasts").toNanos());
		this.running = false;
	}

	@Override
	public Duration pause() {
		return duration("pause");
	}

	private Duration duration(String option) {
		return this.options.getRequiredProperty(option, Duration.class);
	}

	/**
	 * Waits for the present run, as a scheduler does that shuts down gracefully.
	 */
	@Override
	public synchronized void close() {
		this.closed = true;
	}

}
