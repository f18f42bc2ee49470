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

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.integration.LocalNode.NodeConfiguration;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.extension.AfterTestExecutionCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Starts nodes in this JVM, in a group of the test's own, and closes them before the
 * methods that run after a test. If the test has failed, their states are printed before.
 */
public final class Nodes implements AfterTestExecutionCallback {

	private final Deque<AutoCloseable> started;

	private final PostgreSqlServer server;

	private final List<Class<?>> sources;

	private final List<String> properties;

	public Nodes(String... properties) {
		this(PostgreSqlServer.shared(), properties);
	}

	public Nodes(PostgreSqlServer server, String... properties) {
		this(new ArrayDeque<>(), server, List.of(NodeConfiguration.class),
				Stream.concat(Stream.of("leader-election.group=group-" + UUID.randomUUID()), Stream.of(properties))
					.toList());
	}

	private Nodes(Deque<AutoCloseable> started, PostgreSqlServer server, List<Class<?>> sources,
			List<String> properties) {
		this.started = started;
		this.server = server;
		this.sources = sources;
		this.properties = properties;
	}

	/**
	 * Return the same nodes with further properties, of which the last counts.
	 */
	public Nodes with(String... further) {
		return new Nodes(this.started, this.server, this.sources,
				Stream.concat(this.properties.stream(), Stream.of(further)).toList());
	}

	/**
	 * Return the same nodes with further beans and configurations.
	 */
	public Nodes with(Class<?>... further) {
		return new Nodes(this.started, this.server, Stream.concat(this.sources.stream(), Stream.of(further)).toList(),
				this.properties);
	}

	/**
	 * Return the same nodes on another server.
	 */
	public Nodes on(PostgreSqlServer other) {
		return new Nodes(this.started, other, this.sources, this.properties);
	}

	/**
	 * Return the same nodes on another port of the server, for instance that of a proxy.
	 */
	public Nodes at(int port) {
		return with("spring.datasource.url=" + this.server.jdbcUrl(port));
	}

	/**
	 * Return the same nodes with a role whose password is "right".
	 */
	public Nodes as(String role) {
		return with("spring.datasource.username=" + role, "spring.datasource.password=right");
	}

	/**
	 * Return the same nodes, whose elections do not use the data source.
	 */
	public Nodes electingAs(String role, String password) {
		return with("leader-election.datasource.url=" + this.server.jdbcUrl(),
				"leader-election.datasource.username=" + role, "leader-election.datasource.password=" + password);
	}

	public LocalNode start(String... further) {
		LocalNode node = new LocalNode(this.server, this.sources, with(further).properties);
		return register(node);
	}

	public LocalNode start(Class<?> source, String... further) {
		return with(source).start(further);
	}

	/**
	 * Close a resource after the nodes that are started later, and before earlier ones.
	 */
	public <T extends AutoCloseable> T register(T resource) {
		this.started.push(resource);
		return resource;
	}

	/**
	 * Create a role that stays, and return its name.
	 */
	public String createRole(String... options) {
		String name = "role_" + UUID.randomUUID().toString().replace("-", "");
		this.server.execute("CREATE ROLE " + name + " LOGIN PASSWORD 'right' " + String.join(" ", options));
		return name;
	}

	/**
	 * Return the nodes in the order in which they were started.
	 */
	public List<LocalNode> all() {
		List<LocalNode> nodes = new ArrayList<>();
		this.started.descendingIterator().forEachRemaining((each) -> {
			if (each instanceof LocalNode node) {
				nodes.add(node);
			}
		});
		return nodes;
	}

	public LocalNode awaitLeader() {
		Awaitility.await().until(() -> all().stream().anyMatch(LocalNode::leads));
		return all().stream().filter(LocalNode::leads).findFirst().orElseThrow();
	}

	@Override
	public void afterTestExecution(ExtensionContext context) throws Exception {
		if (context.getExecutionException().isPresent()) {
			all().forEach(System.out::println);
		}
		while (!this.started.isEmpty()) {
			this.started.pop().close();
		}
	}

}
