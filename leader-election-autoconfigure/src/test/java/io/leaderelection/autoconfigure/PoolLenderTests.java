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

package io.leaderelection.autoconfigure;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.timeout;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link PoolLender}.
 */
@Timeout(30)
@Tag("ring1")
class PoolLenderTests {

	private static final Duration SHORT = Duration.ofMillis(50);

	private static final Duration LONG = Duration.ofSeconds(20);

	@Test
	void fullPoolHasOneWaiterMoreAndGetsItsConnectionBack() throws Exception {
		try (HikariDataSource pool = pool()) {
			PoolLender lender = new PoolLender(pool);
			try (Connection taken = pool.getConnection()) {
				for (int i = 0; i < 3; i++) {
					assertThat(lender.borrow(SHORT)).isNull();
					await().until(() -> pool.getHikariPoolMXBean().getThreadsAwaitingConnection() == 1);
				}
				assertThat(taken.isValid(1)).isTrue();
			}
			await().until(() -> pool.getHikariPoolMXBean().getThreadsAwaitingConnection() == 0
					&& pool.getHikariPoolMXBean().getIdleConnections() == 1);
			try (Connection lent = lender.borrow(LONG)) {
				assertThat(lent).isNotNull();
				assertThat(lent.isValid(1)).isTrue();
			}
			assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
		}
	}

	@Test
	void lazyProxyIsNotLentBeforeItHasItsConnection() throws Exception {
		try (HikariDataSource pool = pool()) {
			PoolLender lender = new PoolLender(new LazyConnectionDataSourceProxy(pool));
			try (Connection taken = pool.getConnection()) {
				assertThat(taken.isValid(1)).isTrue();
				assertThat(lender.borrow(SHORT)).isNull();
			}
			try (Connection lent = lender.borrow(LONG)) {
				assertThat(lent).isNotNull();
				assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isOne();
			}
			await().until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
		}
	}

	@Test
	void slowPoolIsAskedAgainOnlyWhenItHasAnswered() throws Exception {
		SlowDataSource slow = new SlowDataSource();
		PoolLender lender = new PoolLender(slow);
		assertThat(lender.borrow(SHORT)).isNull();
		assertThat(lender.borrow(SHORT)).isNull();
		await().until(() -> slow.calls.get() == 1);
		verify(slow.connection, never()).close();
		slow.answer.countDown();
		verify(slow.connection, timeout(LONG.toMillis())).close();
		assertThat(lender.borrow(LONG)).isSameAs(slow.connection);
		assertThat(slow.calls).hasValue(2);
		verify(slow.connection).close();
	}

	@Test
	void callersTakeTurns() throws Exception {
		SlowDataSource slow = new SlowDataSource();
		PoolLender lender = new PoolLender(slow);
		AtomicReference<Object> first = new AtomicReference<>();
		AtomicReference<Object> second = new AtomicReference<>();
		Thread one = borrow(lender, first);
		await().until(() -> slow.calls.get() == 1);
		Thread two = borrow(lender, second);
		await().until(() -> two.getState() == Thread.State.TIMED_WAITING);
		assertThat(slow.calls).hasValue(1);
		slow.answer.countDown();
		one.join();
		two.join();
		assertThat(first).hasValue(slow.connection);
		assertThat(second).hasValue(slow.connection);
	}

	@Test
	void failureOfThePoolIsNoLoan() throws Exception {
		AtomicInteger calls = new AtomicInteger();
		PoolLender lender = new PoolLender(new AbstractDataSource() {

			@Override
			public Connection getConnection() throws SQLException {
				if (calls.incrementAndGet() == 1) {
					throw new SQLException("The pool is closed");
				}
				throw new LinkageError("The pool is broken");
			}

			@Override
			public Connection getConnection(String username, String password) {
				throw new UnsupportedOperationException();
			}

		});
		assertThat(lender.borrow(LONG)).isNull();
		assertThat(lender.borrow(LONG)).isNull();
		assertThat(calls).hasValue(2);
	}

	@Test
	void interruptedCallerReturnsTheConnection() throws Exception {
		SlowDataSource slow = new SlowDataSource();
		PoolLender lender = new PoolLender(slow);
		AtomicReference<Object> result = new AtomicReference<>();
		Thread caller = borrow(lender, result);
		await().until(() -> slow.calls.get() == 1);
		caller.interrupt();
		caller.join();
		assertThat(result.get()).isInstanceOf(InterruptedException.class);
		slow.answer.countDown();
		verify(slow.connection, timeout(LONG.toMillis())).close();
		assertThat(lender.borrow(LONG)).isSameAs(slow.connection);
	}

	private static Thread borrow(PoolLender lender, AtomicReference<Object> result) {
		Thread thread = new Thread(() -> {
			try {
				result.set(lender.borrow(LONG));
			}
			catch (InterruptedException ex) {
				result.set(ex);
			}
		});
		thread.start();
		return thread;
	}

	private static HikariDataSource pool() {
		PostgreSqlServer server = PostgreSqlServer.shared();
		HikariDataSource pool = new HikariDataSource();
		pool.setJdbcUrl(server.jdbcUrl());
		pool.setUsername(server.username());
		pool.setPassword(server.password());
		pool.setMaximumPoolSize(1);
		return pool;
	}

	/**
	 * A {@link DataSource} that answers its first callers when it is told to.
	 */
	private static final class SlowDataSource extends AbstractDataSource {

		private final Connection connection = mock(Connection.class);

		private final AtomicInteger calls = new AtomicInteger();

		private final CountDownLatch answer = new CountDownLatch(1);

		@Override
		public Connection getConnection() throws SQLException {
			this.calls.incrementAndGet();
			try {
				if (!this.answer.await(LONG.toSeconds(), TimeUnit.SECONDS)) {
					throw new SQLException("No answer");
				}
			}
			catch (InterruptedException ex) {
				throw new SQLException(ex);
			}
			return this.connection;
		}

		@Override
		public Connection getConnection(String username, String password) throws SQLException {
			return getConnection();
		}

	}

}
