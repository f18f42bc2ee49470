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

package io.leaderelection.integration;

import java.util.Arrays;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for services that leadership starts and stops, between several application
 * contexts on one server.
 */
@Tag("ring2")
class LeaderServiceHandOverTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "leader-election.group=" + UUID.randomUUID();

	@Test
	void serviceHasStoppedBeforeThatOfTheNextLeaderStarts() throws Exception {
		try (LocalNode first = start(); LocalNode second = start()) {
			Awaitility.await().until(() -> listener(first).isRunning());
			assertThat(listener(second).isRunning()).isFalse();
			assertThat(first.elector().resign().get(20, TimeUnit.SECONDS)).isTrue();
			Awaitility.await().until(() -> listener(second).isRunning());
			assertThat(listener(first).isRunning()).isFalse();
			assertThat(listener(first).stopped()).isPositive();
			assertThat(listener(second).started() - listener(first).stopped()).isPositive();
			assertThat(second.elector().getLeadership().getTerm()).isNotNull();
		}
	}

	@Test
	void closingTheContextStopsTheServiceBeforeTheLockIsFree() {
		LocalNode first = start();
		Listener listener = listener(first);
		try (LocalNode second = start()) {
			Awaitility.await().until(listener::isRunning);
			first.close();
			Awaitility.await().until(() -> listener(second).isRunning());
			assertThat(listener(second).started() - listener.stopped()).isPositive();
		}
	}

	@Test
	void nodeThatCannotStartItsServiceLeavesItToAnother() {
		try (LocalNode first = start("test.failures=1000", "leader-election.services.start-attempts=1");
				LocalNode second = start()) {
			Awaitility.await().until(() -> listener(second).isRunning());
			assertThat(second.leads()).isTrue();
			assertThat(first.leads()).isFalse();
			assertThat(first.events()).satisfies((events) -> assertThat(events.size() % 2).isZero()).isNotEmpty();
		}
	}

	@Test
	void serviceIsStoppedWhenTheSessionIsLostAndStartedInTheNextTerm() {
		try (LocalNode only = start()) {
			Awaitility.await().until(() -> listener(only).isRunning());
			long started = listener(only).started();
			this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
					+ " WHERE application_name LIKE 'leader-election %'");
			Awaitility.await().until(() -> listener(only).isRunning() && listener(only).started() != started);
			assertThat(listener(only).stopped() - started).isPositive();
			assertThat(listener(only).started() - listener(only).stopped()).isPositive();
		}
	}

	private static Listener listener(LocalNode node) {
		return node.context().getBean(Listener.class);
	}

	private LocalNode start(String... properties) {
		String[] all = Arrays.copyOf(properties, properties.length + 1);
		all[properties.length] = this.group;
		return LocalNode.start(this.server, Application.class, all);
	}

	@Configuration(proxyBeanMethods = false)
	static class Application {

		@Bean
		Listener listener(Environment environment) {
			return new Listener(environment.getProperty("test.failures", Integer.class, 0));
		}

	}

	/**
	 * Takes its time to stop.
	 */
	@LeaderOnly
	static class Listener implements SmartLifecycle {

		private int failures;

		private volatile long started;

		private volatile long stopped;

		private volatile boolean running;

		Listener(int failures) {
			this.failures = failures;
		}

		long started() {
			return this.started;
		}

		long stopped() {
			return this.stopped;
		}

		@Override
		public void start() {
			if (this.failures-- > 0) {
				throw new IllegalStateException("Cannot be started here");
			}
			this.started = System.nanoTime();
			this.running = true;
		}

		@Override
		public void stop(Runnable callback) {
			new Thread(() -> {
				stop();
				callback.run();
			}).start();
		}

		@Override
		public void stop() {
			try {
				Thread.sleep(300);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			this.running = false;
			this.stopped = System.nanoTime();
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

	}

}
