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

import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.LeaderElector;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.dsl.IntegrationFlow;
import org.springframework.integration.dsl.Pollers;
import org.springframework.integration.endpoint.AbstractEndpoint;
import org.springframework.integration.endpoint.SourcePollingChannelAdapter;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for endpoints of Spring Integration whose role follows an election, between two
 * application contexts on one server.
 */
@Tag("ring2")
class SpringIntegrationHandOverTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = "leader-election.group=" + UUID.randomUUID();

	@Test
	void endpointHasStoppedBeforeTheLockIsFree() {
		try (LocalNode first = start(); LocalNode second = start()) {
			Awaitility.await().until(endpoint(first)::isRunning);
			assertThat(endpoint(second).isRunning()).isFalse();
			assertThat(first.elector().resign()).succeedsWithin(LIMIT).isEqualTo(true);
			assertOrder(endpoint(first), second);
		}
	}

	@Test
	void endpointHasStoppedBeforeTheLockIsFreeWhenTheContextIsClosed() {
		LocalNode first = start();
		Endpoint endpoint = endpoint(first);
		try (LocalNode second = start()) {
			Awaitility.await().until(endpoint::isRunning);
			first.close();
			assertOrder(endpoint, second);
		}
	}

	@Test
	void endpointIsStoppedWhenTheSessionIsLostAndStartedInTheNextTerm() {
		try (LocalNode only = start()) {
			Endpoint endpoint = endpoint(only);
			Awaitility.await().until(endpoint::isRunning);
			int starts = endpoint.starts;
			this.server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
					+ " WHERE application_name LIKE 'leader-election %'");
			Awaitility.await().until(() -> endpoint.starts > starts && endpoint.isRunning());
			assertThat(endpoint.stopped).isPositive();
		}
	}

	@Test
	void handOverWaitsForTheMessageOfAGuardedHandler() throws Exception {
		try (LocalNode node = LocalNode.start(this.server, FlowApplication.class, this.group)) {
			Handler handler = node.context().getBean(Handler.class);
			assertThat(handler.begun.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
			CompletableFuture<Boolean> handOver = node.elector().resign();
			Awaitility.await().until(() -> !node.leads());
			assertThat(node.context().getBean(SourcePollingChannelAdapter.class).isRunning()).isTrue();
			handler.go.countDown();
			assertThat(handOver).succeedsWithin(LIMIT).isEqualTo(true);
			assertThat(handler.interrupted).isFalse();
			assertThat(handler.handled.get()).isPositive();
		}
	}

	private static void assertOrder(Endpoint former, LocalNode next) {
		Awaitility.await().until(endpoint(next)::isRunning);
		assertThat(former.isRunning()).isFalse();
		assertThat(next.seen().get(0).time() - former.stopped).as("grant after the stop").isPositive();
	}

	private static Endpoint endpoint(LocalNode node) {
		return node.context().getBean(Endpoint.class);
	}

	private LocalNode start() {
		return LocalNode.start(this.server, Application.class, this.group,
				"leader-election.integration.roles.default=orders");
	}

	@Configuration(proxyBeanMethods = false)
	@EnableIntegration
	static class Application {

		@Bean
		Endpoint endpoint() {
			return new Endpoint();
		}

	}

	@Configuration(proxyBeanMethods = false)
	@EnableIntegration
	static class FlowApplication {

		@Bean
		Handler handler(LeaderElector elector) {
			return new Handler(elector);
		}

		@Bean
		IntegrationFlow flow(Handler handler) {
			return IntegrationFlow
				.fromSupplier(() -> "message",
						(endpoint) -> endpoint.role("default")
							.autoStartup(false)
							.poller(Pollers.fixedDelay(Duration.ofMillis(10))))
				.handle((message) -> handler.handle())
				.get();
		}

	}

	/**
	 * Handles a message for as long as the test says.
	 */
	static class Handler {

		private final CountDownLatch begun = new CountDownLatch(1);

		private final CountDownLatch go = new CountDownLatch(1);

		private final AtomicInteger handled = new AtomicInteger();

		private final LeaderElector elector;

		private volatile boolean interrupted;

		Handler(LeaderElector elector) {
			this.elector = elector;
		}

		void handle() {
			this.elector.runIfLeader(() -> {
				this.begun.countDown();
				try {
					this.go.await(LIMIT.toSeconds(), TimeUnit.SECONDS);
					this.handled.incrementAndGet();
				}
				catch (InterruptedException ex) {
					this.interrupted = true;
				}
			});
		}

	}

	/**
	 * Takes its time to stop.
	 */
	static class Endpoint extends AbstractEndpoint {

		private static final long STOP_TIME = 500;

		private volatile int starts;

		private volatile long stopped;

		Endpoint() {
			setRole("orders");
			setAutoStartup(false);
		}

		@Override
		public String getComponentType() {
			return "test-endpoint";
		}

		@Override
		protected void doStart() {
			this.starts++;
		}

		@Override
		protected void doStop() {
			try {
				// During which the lock would be taken if it were free
				Thread.sleep(STOP_TIME);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			this.stopped = System.nanoTime();
		}

	}

}
