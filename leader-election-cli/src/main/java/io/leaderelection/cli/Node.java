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

package io.leaderelection.cli;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.function.LongConsumer;

import io.leaderelection.LeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * An application with the auto-configuration of leader election, as one node of an
 * election.
 */
final class Node implements AutoCloseable {

	private final String id;

	private final Options options;

	private final ConfigurableApplicationContext context;

	private Node(String id, Options options, ConfigurableApplicationContext context) {
		this.id = id;
		this.options = options;
		this.context = context;
	}

	/**
	 * Start a node.
	 * @param id the id of the node
	 * @param target the database
	 * @param options how to verify it
	 * @param fast whether a takeover is fast, which sockets that can be cut do not show
	 */
	static Node start(String id, Target target, Options options, boolean fast) {
		StandardEnvironment environment = new StandardEnvironment();
		// Not the configuration of an application that this user runs as well
		environment.getPropertySources().remove(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME);
		environment.getPropertySources().remove(StandardEnvironment.SYSTEM_PROPERTIES_PROPERTY_SOURCE_NAME);
		environment.getPropertySources().addFirst(new MapPropertySource("node", properties(id, target, options, fast)));
		return new Node(id, options, new SpringApplicationBuilder(NodeConfiguration.class).web(WebApplicationType.NONE)
			// The command closes its nodes itself, before it drops their tables
			.registerShutdownHook(false)
			.environment(environment)
			.run());
	}

	private static Map<String, Object> properties(String id, Target target, Options options, boolean fast) {
		String sockets = "socketFactory=" + NodeSockets.class.getName() + "&socketFactoryArg=" + key(options, id);
		Map<String, Object> properties = new HashMap<>();
		properties.put("spring.main.banner-mode", "off");
		properties.put("spring.config.location", "optional:classpath:/io/leaderelection/cli/");
		properties.put("logging.level.root", options.debug() ? "info" : "off");
		properties.put("logging.level.io.leaderelection", options.debug() ? "debug" : "off");
		properties.put("spring.datasource.url", target.url());
		properties.put("spring.datasource.hikari.maximum-pool-size", "2");
		properties.put("spring.datasource.hikari.minimum-idle", "0");
		properties.put("spring.datasource.hikari.connection-timeout", "10000");
		properties.put("spring.datasource.hikari.data-source-properties.ApplicationName", options.sessionNames());
		// A pooler in transaction mode would mix up prepared statements
		properties.put("spring.datasource.hikari.data-source-properties.prepareThreshold", "0");
		properties.put("leader-election.datasource.url",
				target.url() + ((target.url().indexOf('?') >= 0) ? "&" : "?") + sockets);
		put(properties, "spring.datasource.username", target.username());
		put(properties, "spring.datasource.password", target.password());
		put(properties, "leader-election.datasource.username", target.username());
		put(properties, "leader-election.datasource.password", target.password());
		properties.put("leader-election.group", options.election());
		properties.put("leader-election.name", options.election());
		properties.put("leader-election.node-id", id);
		properties.put("leader-election.lease-duration", options.lease().toMillis() + "ms");
		properties.put("leader-election.allow-session-pooler", options.allowSessionPooler());
		properties.put("leader-election.store", options.store().name());
		properties.put("leader-election.fast-takeover", fast);
		properties.put("leader-election.drain-timeout", "1s");
		properties.put("leader-election.fail-fast", "true");
		properties.put("leader-election.fencing", "required");
		if (options.isTable()) {
			properties.put("leader-election.table-name", options.table());
			properties.put("leader-election.initialize-schema", "always");
		}
		return properties;
	}

	private static String key(Options options, String id) {
		return options.election() + "-" + id;
	}

	private static void put(Map<String, Object> properties, String name, @Nullable String value) {
		if (value != null) {
			properties.put(name, value);
		}
	}

	String id() {
		return this.id;
	}

	LeaderElector elector() {
		return this.context.getBean(LeaderElector.class);
	}

	ElectionStatus status() {
		return this.context.getBean(DefaultLeaderElectors.class).getDefault().status();
	}

	/**
	 * Wait until this node leads.
	 * @return when it did
	 */
	long awaitLeadership(Duration limit) throws VerificationException, InterruptedException {
		if (!elector().awaitLeadership(limit)) {
			ElectionStatus status = status();
			throw VerificationException.of("election", "No node leads after " + Milliseconds.print(limit)
					+ ". Blocked by: " + status.blockedBy() + ". Problem: " + status.problem(), status);
		}
		return System.nanoTime();
	}

	/**
	 * Wait until the database has answered this node.
	 * @param since the time after which it must have answered
	 * @return whether it did
	 */
	boolean awaitContact(long since, Duration limit) throws InterruptedException {
		long deadline = System.nanoTime() + limit.toNanos();
		while (status().silence().toNanos() >= System.nanoTime() - since) {
			if (System.nanoTime() > deadline) {
				return false;
			}
			Thread.sleep(20);
		}
		return true;
	}

	/**
	 * Return the connections of the election, without those of the application.
	 */
	NodeSockets.Network network() {
		return NodeSockets.network(key(this.options, this.id));
	}

	/**
	 * Write in a transaction of leader work.
	 * @param write receives the id of the transaction before the commit
	 * @return whether this node led
	 */
	boolean write(LongConsumer write) {
		TransactionTemplate transaction = this.context.getBean(TransactionTemplate.class);
		JdbcTemplate jdbc = this.context.getBean(JdbcTemplate.class);
		return elector().runIfLeader(() -> transaction.executeWithoutResult((status) -> {
			Long id = jdbc.queryForObject("SELECT pg_catalog.pg_current_xact_id()::pg_catalog.text::bigint",
					Long.class);
			write.accept((id != null) ? id : 0);
			// Fails with the reason if the server has ended the session meanwhile. A
			// failure of the commit would be replaced by that of the rollback
			jdbc.execute("SELECT 1");
		}));
	}

	@Override
	public void close() {
		this.context.close();
		NodeSockets.forget(key(this.options, this.id));
	}

	/**
	 * The application.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class NodeConfiguration {

	}

}
