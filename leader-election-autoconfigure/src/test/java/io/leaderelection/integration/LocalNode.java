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

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A node as an application context in this JVM.
 */
public final class LocalNode implements AutoCloseable {

	private final ConfigurableApplicationContext context;

	private final DefaultLeaderElectors electors;

	private final List<Seen> events = new CopyOnWriteArrayList<>();

	LocalNode(PostgreSqlServer server, List<Class<?>> sources, List<String> properties) {
		this.context = run(
				new SpringApplicationBuilder(sources.toArray(Class<?>[]::new)).listeners(ApplicationListener
					.<LeadershipEvent>forPayload((event) -> this.events.add(new Seen(System.nanoTime(), event)))),
				server, properties);
		this.electors = bean(DefaultLeaderElectors.class);
	}

	/**
	 * Run an application on a server, with properties of which the last counts.
	 */
	public static ConfigurableApplicationContext run(SpringApplicationBuilder application, PostgreSqlServer server,
			List<String> properties) {
		Map<String, String> arguments = new LinkedHashMap<>();
		Stream
			.concat(Stream.of("spring.application.name=test", "leader-election.lease-duration=5s",
					"spring.datasource.url=" + server.jdbcUrl(), "spring.datasource.username=" + server.username(),
					"spring.datasource.password=" + server.password(), "spring.datasource.hikari.minimum-idle=0",
					"spring.main.banner-mode=off", "spring.main.log-startup-info=false"), properties.stream())
			.map((property) -> property.split("=", 2))
			.forEach((property) -> arguments.put(property[0], "--" + property[0] + "=" + property[1]));
		return application.web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.run(arguments.values().toArray(String[]::new));
	}

	public ConfigurableApplicationContext context() {
		return this.context;
	}

	public <T> T bean(Class<T> type) {
		return this.context.getBean(type);
	}

	public DefaultLeaderElectors electors() {
		return this.electors;
	}

	public DefaultLeaderElector elector() {
		return this.electors.getDefault();
	}

	public ElectionStatus status() {
		return elector().status();
	}

	public boolean leads() {
		return elector().isLeader();
	}

	public LocalNode awaitLeader() {
		Awaitility.await().until(this::leads);
		return this;
	}

	/**
	 * Wait until this node has observed who leads.
	 */
	public LocalNode awaitFollowing(LocalNode leader) {
		Awaitility.await().until(() -> leader.elector().getNodeId().equals(status().leader()));
		return this;
	}

	/**
	 * Wait until this node has observed as many candidates.
	 */
	public LocalNode awaitCandidates(int number) {
		Awaitility.await().until(() -> status().candidates().size() == number);
		return this;
	}

	public LocalNode awaitProblem(String text) {
		Awaitility.await().until(() -> String.valueOf(status().problem()).contains(text));
		return this;
	}

	/**
	 * Events in the order in which listeners saw them, in the form "granted 0:1:775".
	 */
	public List<String> events() {
		return this.events.stream().map(Seen::toString).toList();
	}

	public List<Seen> seen() {
		return List.copyOf(this.events);
	}

	/**
	 * Return an event, for which a listener may not have been called yet.
	 */
	public Seen awaitEvent(int index) {
		Awaitility.await().until(() -> this.events.size() > index);
		return this.events.get(index);
	}

	/**
	 * Wait for an event that ends a term.
	 */
	public Seen awaitRevocation(int index, Reason reason) {
		Seen seen = awaitEvent(index);
		assertThat(((LeadershipRevokedEvent) seen.event()).getReason()).isEqualTo(reason);
		return seen;
	}

	@Override
	public void close() {
		this.context.close();
	}

	@Override
	public String toString() {
		return this.electors.all().stream().map(DefaultLeaderElector::status).toList() + " " + events();
	}

	/**
	 * An event and when it was seen.
	 */
	public record Seen(long time, LeadershipEvent event) {

		public Term term() {
			return this.event.getLeadership().getTerm();
		}

		@Override
		public String toString() {
			return ((this.event instanceof LeadershipGrantedEvent) ? "granted " : "revoked ") + term();
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
