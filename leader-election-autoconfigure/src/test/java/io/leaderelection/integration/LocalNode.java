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

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

/**
 * A node as an application context in this JVM.
 */
final class LocalNode implements AutoCloseable {

	private final ConfigurableApplicationContext context;

	private final List<Seen> events = new CopyOnWriteArrayList<>();

	private LocalNode(PostgreSqlServer server, int port, Class<?> configuration, String... properties) {
		Map<String, String> all = new LinkedHashMap<>();
		Stream
			.concat(Stream.of("spring.application.name=test", "leader-election.lease-duration=5s",
					"spring.datasource.url=" + server.jdbcUrl(port), "spring.datasource.username=" + server.username(),
					"spring.datasource.password=" + server.password(), "spring.datasource.hikari.minimum-idle=0",
					"spring.main.banner-mode=off", "spring.main.log-startup-info=false"), Stream.of(properties))
			.map((property) -> property.split("=", 2))
			.forEach((property) -> all.put(property[0], property[1]));
		this.context = new SpringApplicationBuilder(NodeConfiguration.class, configuration).web(WebApplicationType.NONE)
			.listeners(ApplicationListener
				.<LeadershipEvent>forPayload((event) -> this.events.add(new Seen(System.nanoTime(), event))))
			.registerShutdownHook(false)
			.run(all.entrySet()
				.stream()
				.map((property) -> "--" + property.getKey() + "=" + property.getValue())
				.toArray(String[]::new));
	}

	static LocalNode start(PostgreSqlServer server, String... properties) {
		return start(server, NodeConfiguration.class, properties);
	}

	static LocalNode start(PostgreSqlServer server, Class<?> configuration, String... properties) {
		return new LocalNode(server, server.port(), configuration, properties);
	}

	static LocalNode startAt(PostgreSqlServer server, int port, String... properties) {
		return new LocalNode(server, port, NodeConfiguration.class, properties);
	}

	ConfigurableApplicationContext context() {
		return this.context;
	}

	LeaderElector elector() {
		return this.context.getBean(LeaderElector.class);
	}

	boolean leads() {
		return elector().isLeader();
	}

	LocalNode awaitLeader() {
		Awaitility.await().until(this::leads);
		return this;
	}

	/**
	 * Events in the order in which listeners saw them, in the form "granted 0:1:775".
	 */
	List<String> events() {
		return this.events.stream().map(Seen::toString).toList();
	}

	List<Seen> seen() {
		return List.copyOf(this.events);
	}

	@Override
	public void close() {
		this.context.close();
	}

	/**
	 * An event and when it was seen.
	 */
	record Seen(long time, LeadershipEvent event) {

		@Override
		public String toString() {
			return ((this.event instanceof LeadershipGrantedEvent) ? "granted " : "revoked ")
					+ this.event.getLeadership().getTerm();
		}

	}

	/**
	 * An application with nothing but the starter.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class NodeConfiguration {

	}

}
