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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.event.ApplicationPreparedEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.jdbc.datasource.DelegatingDataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Faults in the life of application contexts, on a real server.
 */
@AdvisoryLockOnly
@Tag("ring2")
class ContextFaultTests {

	private static final Duration LEASE = Duration.ofSeconds(2);

	/** How long a watcher reads from a connection of a pool. */
	private static final Duration LONGEST_READ = Duration.ofSeconds(5);

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = UUID.randomUUID().toString();

	private final ElectionKeys keys = ElectionKeys.derive(this.group, "default");

	private final List<String> events = new CopyOnWriteArrayList<>();

	@AfterEach
	void nothingIsLeft() {
		awaitNothingLeft();
	}

	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(classes = { SmartLifecycle.class, ApplicationListener.class, ApplicationRunner.class })
	void refreshFailsAfterTheElectionHasStarted(Class<?> role) {
		SpringApplicationBuilder failing = builder(this.server.port())
			.initializers((context) -> context.getBeanFactory().registerSingleton("failing", new Failing(role)));
		assertThatException().isThrownBy(failing::run).withStackTraceContaining("meant to fail");
		awaitNothingLeft();
		// Granted or not: no listener has received one event without the other
		assertThat(this.events.size() % 2).isZero();
		try (ConfigurableApplicationContext next = start()) {
			assertThat(next.getBean(LeaderElector.class).isLeader()).isTrue();
		}
	}

	@Test
	@Tag("ring3")
	void followerClosedWhileItWaitsInTheQueue() {
		try (ConfigurableApplicationContext leader = start()) {
			ConfigurableApplicationContext follower = start();
			Awaitility.await().until(() -> !this.server.advisoryLocks("NOT granted").isEmpty());
			closeWithin(follower, Duration.ZERO);
			Awaitility.await().atMost(FaultRuns.SLACK).until(() -> sessions().size() == 1);
			assertThat(leader.getBean(LeaderElector.class).isLeader()).isTrue();
		}
	}

	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(booleans = { true, false })
	void closedWhileItOpensASession(boolean answeredLater) {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			if (answeredLater) {
				proxy.hold();
			}
			else {
				proxy.acceptWithoutAnswer();
			}
			ConfigurableApplicationContext node = start(proxy.port());
			assertThat(node.getBean(LeaderElector.class).isLeader()).isFalse();
			Awaitility.await().until(() -> proxy.connections() == 1);
			closeWithin(node, Duration.ZERO);
			// A session that opens after all is closed at once
			proxy.heal();
			Awaitility.await().until(() -> proxy.connections() == 0);
			assertThat(this.events).isEmpty();
		}
	}

	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(booleans = { true, false })
	void watcherReturnsTheConnectionOfThePool(boolean closed) throws SQLException {
		try (TcpProxy proxy = new TcpProxy(this.server);
				HikariDataSource pool = FencedWriter.pool(this.server.jdbcUrl(proxy.port()), this.server.username(),
						this.server.password(), 10);
				ConfigurableApplicationContext node = builder(proxy.port())
					.initializers((context) -> context.getBeanFactory()
						.registerSingleton("dataSource", new CutDataSource(pool, proxy)))
					.run("--leader-election.candidate=false", "--leader-election.fencing=off")) {
			DefaultLeaderElector elector = node.getBean(DefaultLeaderElectors.class).getDefault();
			// A watcher uses the pool only after the application has
			pool.getConnection().close();
			Awaitility.await()
				.until(() -> pool.getHikariPoolMXBean() != null
						&& pool.getHikariPoolMXBean().getActiveConnections() == 1);
			if (closed) {
				closeWithin(node, Duration.ZERO);
			}
			Awaitility.await()
				.atMost(LONGEST_READ.plus(FaultRuns.SLACK))
				.until(() -> pool.getHikariPoolMXBean().getActiveConnections() == 0);
			proxy.heal();
			if (!closed) {
				Instant healed = Instant.now();
				Awaitility.await().until(() -> elector.status().lastConfirmation().isAfter(healed));
				assertThat(elector.status().problem())
					.isEqualTo("is not a candidate: it is configured with candidate=false");
			}
		}
	}

	@Test
	@Tag("ring3")
	void nodeThatFindsNoSeatStartsAlsoIfItIsToFailFast() {
		String[] arguments = { "--leader-election.standbys=1", "--leader-election.fail-fast=true" };
		try (ConfigurableApplicationContext leader = builder(this.server.port()).run(arguments);
				ConfigurableApplicationContext standby = builder(this.server.port()).run(arguments)) {
			Awaitility.await()
				.until(() -> this.server.advisoryLocks("mode = 'ShareLock' AND objsubid = 1 AND granted").size() == 2);
			try (ConfigurableApplicationContext watcher = builder(this.server.port()).run(arguments)) {
				ElectionStatus status = watcher.getBean(DefaultLeaderElectors.class).getDefault().status();
				assertThat(status.watching()).isTrue();
				assertThat(status.leader()).isEqualTo(leader.getBean(LeaderElector.class).getNodeId());
				assertThat(standby.getBean(LeaderElector.class).isLeader()).isFalse();
			}
		}
	}

	@Test
	@Tag("ring3")
	void nodeThatWouldOnlyWatchFailsFastWithoutADatabase() {
		try (TcpProxy proxy = new TcpProxy(this.server)) {
			proxy.refuse();
			assertThatException()
				.isThrownBy(() -> builder(proxy.port())
					.run("--leader-election.candidate=false", "--leader-election.fail-fast=true")
					.close())
				.withStackTraceContaining("Leader election could not be started");
		}
	}

	@Test
	@Tag("ring3")
	void closedWhileItWaitsForTheBarrier() throws Exception {
		try (Connection fence = holdFence()) {
			ConfigurableApplicationContext node = start();
			assertThat(node.getBean(LeaderElector.class).isLeader()).isFalse();
			assertThat(this.server.advisoryLocks("granted AND mode = 'ExclusiveLock'")).isNotEmpty();
			closeWithin(node, Duration.ZERO);
			assertThat(this.events).isEmpty();
			Awaitility.await().atMost(FaultRuns.SLACK).until(() -> this.server.advisoryLocks("true").size() == 1);
		}
	}

	@Test
	@Tag("ring3")
	void closedByAnotherThreadWhileItStarts() throws Exception {
		try (Connection fence = holdFence()) {
			AtomicReference<ConfigurableApplicationContext> prepared = new AtomicReference<>();
			CompletableFuture<?> starting = CompletableFuture.runAsync(() -> builder(this.server.port())
				.listeners((ApplicationListener<ApplicationPreparedEvent>) (event) -> prepared
					.set(event.getApplicationContext()))
				.run());
			// It has won, and its start waits for the grant
			Awaitility.await().until(() -> !this.server.advisoryLocks("granted AND mode = 'ExclusiveLock'").isEmpty());
			closeWithin(prepared.get(), Duration.ofSeconds(3));
			assertThat(sessions()).isEmpty();
			starting.handle((result, ex) -> null).get(10, TimeUnit.SECONDS);
			assertThat(this.events).isEmpty();
		}
	}

	@Test
	@Tag("ring3")
	void parentAndChildAreTwoNodes() throws Exception {
		try (ConfigurableApplicationContext parent = start()) {
			LeaderElector elector = parent.getBean(LeaderElector.class);
			ConfigurableApplicationContext child = builder(this.server.port()).parent(parent).run();
			LeaderElector other = child.getBean(LeaderElector.class);
			assertThat(elector.isLeader()).isTrue();
			assertThat(other.isLeader()).isFalse();
			assertThat(elector.resign().get(10, TimeUnit.SECONDS)).isTrue();
			Awaitility.await().atMost(FaultRuns.SLACK).until(other::isLeader);
			assertThat(elector.isLeader()).isFalse();
			child.close();
			Awaitility.await().atMost(FaultRuns.SLACK).until(elector::isLeader);
			assertThat(other.isLeader()).isFalse();
			Awaitility.await().atMost(FaultRuns.SLACK).until(() -> sessions().size() == 1);
		}
	}

	@Test
	void siblingsInOneProcessHandOver() {
		ConfigurableApplicationContext parent = new SpringApplicationBuilder(Empty.class).web(WebApplicationType.NONE)
			.run();
		ConfigurableApplicationContext first = builder(this.server.port()).parent(parent).run();
		ConfigurableApplicationContext second = builder(this.server.port()).parent(parent).run();
		assertThat(first.getBean(LeaderElector.class).isLeader()).isTrue();
		assertThat(second.getBean(LeaderElector.class).isLeader()).isFalse();
		first.close();
		LeaderElector next = second.getBean(LeaderElector.class);
		Awaitility.await().atMost(FaultRuns.SLACK).until(next::isLeader);
		// A parent that closes closes its children
		parent.close();
		second.close();
		assertThat(next.isLeader()).isFalse();
		assertThat(this.events).hasSize(4);
	}

	private ConfigurableApplicationContext start() {
		return start(this.server.port());
	}

	private ConfigurableApplicationContext start(int port) {
		return builder(port).run();
	}

	private SpringApplicationBuilder builder(int port) {
		return new SpringApplicationBuilder(Node.class).web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.listeners(ApplicationListener
				.<LeadershipEvent>forPayload((event) -> this.events.add(event.getClass().getSimpleName())))
			.properties("spring.application.name=test", "leader-election.group=" + this.group,
					"leader-election.lease-duration=" + LEASE.toMillis() + "ms",
					"spring.datasource.url=" + this.server.jdbcUrl(port),
					"spring.datasource.username=" + this.server.username(),
					"spring.datasource.password=" + this.server.password(), "spring.datasource.hikari.minimum-idle=0",
					"spring.main.banner-mode=off", "spring.main.log-startup-info=false");
	}

	private static void closeWithin(ConfigurableApplicationContext context, Duration bound) {
		long start = System.nanoTime();
		context.close();
		assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(bound.plus(FaultRuns.SLACK));
	}

	/**
	 * Share the key that a fenced transaction shares.
	 */
	private Connection holdFence() throws Exception {
		Connection connection = this.server.connect();
		try (Statement statement = connection.createStatement()) {
			statement.execute("SELECT pg_advisory_lock_shared(" + this.keys.fence() + ")");
		}
		return connection;
	}

	private void awaitNothingLeft() {
		Awaitility.await().atMost(FaultRuns.SLACK).untilAsserted(() -> {
			assertThat(sessions()).isEmpty();
			assertThat(this.server.advisoryLocks("true")).isEmpty();
		});
	}

	private List<Integer> sessions() {
		return this.server.sessions("leader-election %");
	}

	/**
	 * An application with nothing but the starter.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Node {

	}

	/**
	 * Lends a connection that is cut off at once, the first time.
	 */
	static class CutDataSource extends DelegatingDataSource {

		private final TcpProxy proxy;

		private boolean cut;

		CutDataSource(DataSource target, TcpProxy proxy) {
			super(target);
			this.proxy = proxy;
		}

		@Override
		public Connection getConnection() throws SQLException {
			Connection connection = super.getConnection();
			if (!this.cut) {
				this.cut = true;
				this.proxy.blackHole();
			}
			return connection;
		}

	}

	/**
	 * A context without an election.
	 */
	@Configuration(proxyBeanMethods = false)
	static class Empty {

	}

	/**
	 * Fails in one of its roles: while the elections start or just after, when they have
	 * started, or when the context is up.
	 */
	record Failing(
			Class<?> role) implements SmartLifecycle, ApplicationListener<ContextRefreshedEvent>, ApplicationRunner {

		@Override
		public void start() {
			failAs(SmartLifecycle.class);
		}

		@Override
		public void onApplicationEvent(ContextRefreshedEvent event) {
			failAs(ApplicationListener.class);
		}

		@Override
		public void run(ApplicationArguments arguments) {
			failAs(ApplicationRunner.class);
		}

		private void failAs(Class<?> role) {
			if (role == this.role) {
				throw new IllegalStateException("This bean is meant to fail");
			}
		}

		@Override
		public void stop() {
		}

		@Override
		public boolean isRunning() {
			return false;
		}

	}

}
