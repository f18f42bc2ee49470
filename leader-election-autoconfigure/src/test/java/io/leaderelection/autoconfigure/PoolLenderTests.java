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

import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.timeout;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link PoolLender}.
 */
@Timeout(30)
@Tag("ring1")
class PoolLenderTests {

	private static final Duration SHORT = Duration.ofMillis(50);

	private static final Duration LONG = Duration.ofSeconds(20);

	private final Connection connection = mock(Connection.class);

	private final AtomicInteger calls = new AtomicInteger();

	private final CountDownLatch answer = new CountDownLatch(1);

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
		PoolLender lender = new PoolLender(slow());
		assertThat(lender.borrow(SHORT)).isNull();
		assertThat(lender.borrow(SHORT)).isNull();
		await().until(() -> this.calls.get() == 1);
		verify(this.connection, never()).close();
		this.answer.countDown();
		verify(this.connection, timeout(LONG.toMillis())).close();
		assertThat(lender.borrow(LONG)).isSameAs(this.connection);
		assertThat(this.calls).hasValue(2);
		verify(this.connection).close();
	}

	@Test
	void callersTakeTurns() throws Exception {
		PoolLender lender = new PoolLender(slow());
		AtomicReference<Object> first = new AtomicReference<>();
		AtomicReference<Object> second = new AtomicReference<>();
		Thread one = borrow(lender, first);
		await().until(() -> this.calls.get() == 1);
		Thread two = borrow(lender, second);
		await().until(() -> two.getState() == Thread.State.TIMED_WAITING);
		assertThat(this.calls).hasValue(1);
		this.answer.countDown();
		one.join();
		two.join();
		assertThat(first).hasValue(this.connection);
		assertThat(second).hasValue(this.connection);
	}

	@Test
	void failureOfThePoolIsNoLoan() throws Exception {
		DataSource failing = mock(DataSource.class);
		given(failing.getConnection()).willThrow(new SQLException("The pool is closed"),
				new LinkageError("The pool is broken"));
		PoolLender lender = new PoolLender(failing);
		assertThat(lender.borrow(LONG)).isNull();
		assertThat(lender.borrow(LONG)).isNull();
		verify(failing, times(2)).getConnection();
	}

	@Test
	void interruptedCallerReturnsTheConnection() throws Exception {
		PoolLender lender = new PoolLender(slow());
		AtomicReference<Object> result = new AtomicReference<>();
		Thread caller = borrow(lender, result);
		await().until(() -> this.calls.get() == 1);
		caller.interrupt();
		caller.join();
		assertThat(result.get()).isInstanceOf(InterruptedException.class);
		this.answer.countDown();
		verify(this.connection, timeout(LONG.toMillis())).close();
		assertThat(lender.borrow(LONG)).isSameAs(this.connection);
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
	 * Return a data source that answers its callers when it is told to.
	 */
	private DataSource slow() throws SQLException {
		DataSource slow = mock(DataSource.class);
		given(slow.getConnection()).willAnswer((invocation) -> {
			this.calls.incrementAndGet();
			if (!this.answer.await(LONG.toSeconds(), TimeUnit.SECONDS)) {
				throw new SQLException("No answer");
			}
			return this.connection;
		});
		return slow;
	}

}
