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

import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.transaction.TransactionFencing;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link TransactionFencingLifecycle}.
 */
@Timeout(60)
@Tag("ring1")
class TransactionFencingLifecycleTests {

	private final InheritableThreadLocal<String> inheritable = new InheritableThreadLocal<>();

	private final SilentDataSource dataSource = new SilentDataSource();

	private DefaultLeaderElectors electors;

	private TransactionFencingLifecycle lifecycle;

	@BeforeEach
	void create() throws Exception {
		ElectionSettings settings = new ElectionSettings("default", "node-1", Duration.ofSeconds(5), Duration.ZERO,
				Duration.ofSeconds(1), true);
		this.electors = new DefaultLeaderElectors(List.of(settings), (each) -> LocalStore.always(), (event) -> {
		});
		this.electors.getDefault().start().get(30, TimeUnit.SECONDS);
		DefaultListableBeanFactory beanFactory = new DefaultListableBeanFactory();
		beanFactory.registerSingleton("transactionManager", new JdbcTransactionManager(this.dataSource));
		TransactionFencing fencing = new TransactionFencing(() -> new TransactionFencing.Settings(true, false),
				() -> this.electors, beanFactory);
		fencing.afterSingletonsInstantiated();
		this.lifecycle = new TransactionFencingLifecycle(fencing);
	}

	@AfterEach
	void stop() {
		this.lifecycle.stop();
		this.dataSource.answer.countDown();
		this.electors.all().forEach(DefaultLeaderElector::stop);
	}

	@Test
	void stopEndsTheThreadAlthoughItsInterruptIsTaken() throws Exception {
		this.lifecycle.start();
		assertThat(this.dataSource.asked.await(30, TimeUnit.SECONDS)).isTrue();
		this.lifecycle.stop();
		await().until(() -> !this.dataSource.caller.isAlive());
		assertThat(this.dataSource.calls).isOne();
	}

	@Test
	void threadHasTheClassLoaderOfTheApplicationAndNothingElseOfItsStarter() throws Exception {
		ClassLoader original = Thread.currentThread().getContextClassLoader();
		try (URLClassLoader application = new URLClassLoader(new URL[0], original)) {
			Thread.currentThread().setContextClassLoader(application);
			this.inheritable.set("of the starter");
			this.lifecycle.start();
			assertThat(this.dataSource.asked.await(30, TimeUnit.SECONDS)).isTrue();
			assertThat(this.dataSource.caller.getContextClassLoader()).isSameAs(application);
			assertThat(this.dataSource.inherited).isNull();
		}
		finally {
			this.inheritable.remove();
			Thread.currentThread().setContextClassLoader(original);
		}
	}

	/**
	 * Gives no connection, and takes the interrupt of who waits for one.
	 */
	private final class SilentDataSource extends AbstractDataSource {

		private final CountDownLatch asked = new CountDownLatch(1);

		private final CountDownLatch answer = new CountDownLatch(1);

		private volatile Thread caller;

		private volatile String inherited;

		private volatile int calls;

		@Override
		public Connection getConnection() throws SQLException {
			this.calls++;
			this.caller = Thread.currentThread();
			this.inherited = TransactionFencingLifecycleTests.this.inheritable.get();
			this.asked.countDown();
			try {
				this.answer.await();
			}
			catch (InterruptedException ex) {
				// As some drivers do, without setting the flag again
			}
			throw new SQLException("No connection");
		}

		@Override
		public Connection getConnection(String username, String password) throws SQLException {
			return getConnection();
		}

	}

}
