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

package io.leaderelection.listeners;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests of a leader-only listener on two nodes, with a real broker and a real database.
 * Ring 2 runs all of them on Kafka, whose tests override those of ring 3.
 */
abstract class AbstractListenerTests {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String queue = "orders-" + UUID.randomUUID();

	private final Deliveries deliveries = new Deliveries();

	private final List<ConfigurableApplicationContext> nodes = new ArrayList<>();

	private final Class<?> listeners;

	private final String[] properties;

	/**
	 * Create a new instance.
	 * @param listeners the configuration with a leader-only {@link Listener} for the
	 * queue {@code ${orders}}, and another listener for {@code ${orders.copy}}
	 * @param properties where the broker is
	 */
	AbstractListenerTests(Class<?> listeners, String... properties) {
		this.listeners = listeners;
		this.properties = properties;
	}

	/**
	 * Send a message to a queue.
	 */
	abstract void send(ConfigurableApplicationContext node, String queue, String message);

	/**
	 * Return the container of the leader-only listener, whose id is {@code orders}.
	 */
	abstract @Nullable Object container(ConfigurableApplicationContext node);

	/**
	 * Return whether a container processes no further message.
	 */
	boolean isStopping(SmartLifecycle container) {
		return !container.isRunning();
	}

	/**
	 * Have the broker create a queue, unless it does so by itself.
	 */
	void create(String name) {
	}

	@AfterEach
	void close() {
		this.deliveries.release();
		this.nodes.forEach(ConfigurableApplicationContext::close);
	}

	@Test
	void onlyTheLeaderProcessesMessagesOfALeaderOnlyListener() {
		ConfigurableApplicationContext first = startFirst();
		ConfigurableApplicationContext second = start("second");
		sendAll(second, 1, 10);
		awaitProcessed(10, "first");
		resign(first, second);
		sendAll(first, 11, 20);
		awaitProcessed(20, "second");
		assertThat(this.deliveries.processed()).hasSize(20);
		Listener listener = first.getBean(Listener.class);
		assertThatExceptionOfType(NotLeaderException.class).isThrownBy(() -> listener.on("by hand"));
		send(first, this.queue + "-first", "copy");
		send(first, this.queue + "-second", "copy");
		this.deliveries.await("first has copied copy");
		this.deliveries.await("second has copied copy");
	}

	@Test
	@Tag("ring3")
	void handOverWaitsForAMessageInFlight() {
		ConfigurableApplicationContext first = startFirst();
		ConfigurableApplicationContext second = start("second");
		send(second, this.queue, Deliveries.SLOW);
		send(second, this.queue, "next");
		send(second, this.queue + "-first", "copy");
		this.deliveries.await("first begins slow");
		// Until then, the client has received the next message in advance
		this.deliveries.await("first has copied copy");
		elector(first).resign();
		Object container = AopProxyUtils.getSingletonTarget(container(first));
		Awaitility.await().until(() -> isStopping((SmartLifecycle) container));
		this.deliveries.release();
		this.deliveries.await("second leads");
		send(second, this.queue, "last");
		this.deliveries.await("second has processed last");
		this.deliveries.await("second has processed next");
		assertThat(this.deliveries.events()).containsSubsequence("first begins slow", "first has processed slow",
				"second leads", "second has processed next");
		assertProcessedOnceByTheLeader(Deliveries.SLOW, "next", "last");
	}

	@Test
	@Tag("ring3")
	void messageWhileAHandOverWaitsForOtherWorkIsProcessed() {
		ConfigurableApplicationContext first = startFirst();
		ConfigurableApplicationContext second = start("second");
		Thread work = new Thread(() -> first.getBean(Listener.class).work());
		work.start();
		this.deliveries.await("first works");
		elector(first).resign();
		Awaitility.await().until(() -> !elector(first).isLeader());
		send(second, this.queue, "next");
		this.deliveries.await("first has processed next");
		this.deliveries.release();
		this.deliveries.await("second leads");
		send(second, this.queue, "last");
		this.deliveries.await("second has processed last");
		assertThat(this.deliveries.events()).containsSubsequence("first works", "first has processed next",
				"second leads", "second has processed last");
		assertProcessedOnceByTheLeader("next", "last");
	}

	@Test
	void noMessageIsLostWhenLeadershipIsLost() throws Exception {
		startFirst();
		ConfigurableApplicationContext second = start("second");
		send(second, this.queue, Deliveries.SLOW);
		this.deliveries.await("first begins slow");
		endSession("first");
		this.deliveries.await("second begins slow");
		this.deliveries.release();
		sendAll(second, 1, 10);
		this.deliveries.await("second has processed slow");
		awaitProcessed(11, "second");
	}

	@Test
	@Tag("ring3")
	void restartedFollowerDoesNotStartTheContainer() {
		ConfigurableApplicationContext first = startFirst();
		ConfigurableApplicationContext second = start("second");
		second.stop();
		second.start();
		sendAll(second, 1, 10);
		awaitProcessed(10, "first");
		assertThat(this.deliveries.processed()).hasSize(10);
		resign(first, second);
		send(first, this.queue, "last");
		this.deliveries.await("second has processed last");
	}

	@Test
	@Tag("ring3")
	void containerThatStartsItselfOnAFollowerIsStoppedWithoutLosingAMessage() {
		ConfigurableApplicationContext first = startFirst();
		ConfigurableApplicationContext second = start("second");
		SmartLifecycle container = (SmartLifecycle) AopProxyUtils.getSingletonTarget(container(second));
		container.start();
		List<String> sent = new ArrayList<>();
		Awaitility.await().until(() -> {
			sent.add("first has processed " + sent.size());
			send(first, this.queue, String.valueOf(sent.size() - 1));
			return !container.isRunning();
		});
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.deliveries.processed()).containsExactlyInAnyOrderElementsOf(sent));
	}

	private void sendAll(ConfigurableApplicationContext node, int first, int last) {
		IntStream.rangeClosed(first, last).forEach((message) -> send(node, this.queue, String.valueOf(message)));
	}

	private void awaitProcessed(int count, String node) {
		Awaitility.await()
			.untilAsserted(() -> assertThat(this.deliveries.processed()).hasSizeGreaterThanOrEqualTo(count));
		assertThat(this.deliveries.processed().subList(Math.max(0, count - 10), count))
			.allMatch((event) -> event.startsWith(node + " has processed ") && !event.endsWith("without leadership"))
			.doesNotHaveDuplicates();
	}

	private void assertProcessedOnceByTheLeader(String... messages) {
		List<String> events = this.deliveries.events();
		assertThat(this.deliveries.processed().stream().map((event) -> event.replaceAll(".* ", "")))
			.containsExactlyInAnyOrder(messages);
		assertThat(events.subList(events.indexOf("second leads"), events.size()))
			.noneMatch((event) -> event.startsWith("first"));
	}

	private void resign(ConfigurableApplicationContext leader, ConfigurableApplicationContext other) {
		assertThat(elector(leader).resign().orTimeout(30, TimeUnit.SECONDS).join()).isTrue();
		Awaitility.await().until(() -> elector(other).isLeader());
	}

	private void endSession(String node) {
		assertThat(this.server.sessions("%" + node + "%")).isNotEmpty();
		this.server.terminate("%" + node + "%");
	}

	private static LeaderElector elector(ConfigurableApplicationContext node) {
		return node.getBean(LeaderElector.class);
	}

	private ConfigurableApplicationContext startFirst() {
		create(this.queue);
		create(this.queue + "-first");
		create(this.queue + "-second");
		ConfigurableApplicationContext first = start("first");
		Awaitility.await().until(() -> elector(first).isLeader());
		return first;
	}

	private ConfigurableApplicationContext start(String node) {
		String[] arguments = Stream
			.of(Stream.of("spring.application.name=" + this.queue, "leader-election.node-id=" + node,
					"orders=" + this.queue, "orders.copy=" + this.queue + "-" + node, "spring.artemis.mode=native",
					"spring.main.banner-mode=off", "leader-election.takeover-delay=0"),
					Stream.of(this.server.dataSourceProperties()), Stream.of(this.properties))
			.flatMap((source) -> source)
			.map((property) -> "--" + property)
			.toArray(String[]::new);
		ConfigurableApplicationContext context = new SpringApplicationBuilder(Application.class, this.listeners)
			.web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.initializers((created) -> created.getBeanFactory().registerSingleton("deliveries", this.deliveries))
			.run(arguments);
		this.nodes.add(context);
		return context;
	}

	@SpringBootConfiguration
	@EnableAutoConfiguration
	static class Application {

	}

	/** What the listeners of the brokers have in common. */
	static class Listener {

		private final Deliveries deliveries;

		private final LeaderElector elector;

		Listener(Deliveries deliveries, LeaderElector elector) {
			this.deliveries = deliveries;
			this.elector = elector;
		}

		void on(String message) {
			this.deliveries.process(this.elector, message);
		}

		void onCopy(String message) {
			this.deliveries.add(this.elector.getNodeId() + " has copied " + message);
		}

		@LeaderOnly
		void work() {
			this.deliveries.add("first works");
			this.deliveries.awaitRelease();
		}

	}

}
