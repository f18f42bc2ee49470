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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.dsl.IntegrationFlow;
import org.springframework.integration.dsl.Pollers;
import org.springframework.integration.endpoint.SourcePollingChannelAdapter;
import org.springframework.integration.support.SmartLifecycleRoleController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for services that leadership starts and stops, and for endpoints of Spring
 * Integration whose role follows an election, between application contexts on one server.
 */
@Tag("ring2")
class ServiceHandOverTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	@RegisterExtension
	final Nodes nodes = new Nodes("leader-election.integration.roles.default=orders");

	@ParameterizedTest
	@ValueSource(classes = { Service.class, Endpoint.class })
	void serviceHasStoppedBeforeThatOfTheNextLeaderStarts(Class<? extends Recording> type) {
		LocalNode first = this.nodes.start(type);
		LocalNode second = this.nodes.start(type);
		Awaitility.await().until(service(first)::isRunning);
		assertThat(service(second).isRunning()).isFalse();
		assertThat(first.elector().resign()).succeedsWithin(LIMIT).isEqualTo(true);
		assertOrder(service(first), second);
		assertThat(second.elector().getLeadership().getTerm()).isNotNull();
	}

	@ParameterizedTest
	@ValueSource(classes = { Service.class, Endpoint.class })
	void closingTheContextStopsTheServiceBeforeTheLockIsFree(Class<? extends Recording> type) {
		LocalNode first = this.nodes.start(type);
		Recording service = service(first);
		LocalNode second = this.nodes.start(type);
		Awaitility.await().until(service::isRunning);
		first.close();
		assertOrder(service, second);
	}

	@Test
	void nodeThatCannotStartItsServiceLeavesItToAnother() {
		LocalNode first = this.nodes.start(FailingService.class, "leader-election.services.start-attempts=1");
		LocalNode second = this.nodes.start(Service.class);
		Awaitility.await().until(service(second)::isRunning);
		assertThat(second.leads()).isTrue();
		assertThat(first.leads()).isFalse();
		assertThat(first.events()).satisfies((events) -> assertThat(events.size() % 2).isZero()).isNotEmpty();
	}

	@ParameterizedTest
	@ValueSource(classes = { Service.class, Endpoint.class })
	void serviceIsStoppedWhenTheSessionIsLostAndStartedInTheNextTerm(Class<? extends Recording> type) {
		Recording service = service(this.nodes.start(type));
		Awaitility.await().until(service::isRunning);
		long started = service.started();
		PostgreSqlServer.shared()
			.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
					+ " WHERE application_name LIKE 'leader-election %'");
		Awaitility.await().until(() -> service.isRunning() && service.started() != started);
		assertThat(service.stopped() - started).isPositive();
		assertThat(service.started() - service.stopped()).isPositive();
	}

	@Test
	void handOverWaitsForTheMessageOfAGuardedHandler() throws Exception {
		LocalNode node = this.nodes.start(FlowApplication.class);
		Handler handler = node.bean(Handler.class);
		assertThat(handler.begun.await(LIMIT.toSeconds(), TimeUnit.SECONDS)).isTrue();
		CompletableFuture<Boolean> handOver = node.elector().resign();
		Awaitility.await().until(() -> !node.leads());
		assertThat(node.bean(SourcePollingChannelAdapter.class).isRunning()).isTrue();
		handler.go.countDown();
		assertThat(handOver).succeedsWithin(LIMIT).isEqualTo(true);
		assertThat(handler.interrupted).isFalse();
		assertThat(handler.handled.get()).isPositive();
	}

	private static void assertOrder(Recording former, LocalNode next) {
		Awaitility.await().until(service(next)::isRunning);
		assertThat(former.isRunning()).isFalse();
		assertThat(former.stopped()).isPositive();
		assertThat(service(next).started() - former.stopped()).isPositive();
		assertThat(next.awaitEvent(0).time() - former.stopped()).as("grant after the stop").isPositive();
	}

	private static Recording service(LocalNode node) {
		return node.bean(Recording.class);
	}

	@EnableIntegration
	static class FlowApplication {

		@Bean
		static Handler handler(LeaderElector elector) {
			return new Handler(elector);
		}

		@Bean
		static IntegrationFlow flow(Handler handler) {
			return IntegrationFlow
				.fromSupplier(() -> "message",
						(endpoint) -> endpoint.role("orders")
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
	 * Takes its time to stop, during which the lock would be taken if it were free.
	 */
	static class Recording implements SmartLifecycle {

		private volatile long started;

		private volatile long stopped;

		private volatile boolean running;

		long started() {
			return this.started;
		}

		long stopped() {
			return this.stopped;
		}

		@Override
		public void start() {
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
				Thread.sleep(500);
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

	@LeaderOnly
	static class Service extends Recording {

	}

	static class FailingService extends Service {

		@Override
		public void start() {
			throw new IllegalStateException("Cannot be started here");
		}

	}

	@EnableIntegration
	static class Endpoint extends Recording {

		@Autowired
		void follow(SmartLifecycleRoleController roles) {
			roles.addLifecycleToRole("orders", this);
		}

		@Override
		public boolean isAutoStartup() {
			return false;
		}

		@Override
		public int getPhase() {
			return 0;
		}

	}

}
