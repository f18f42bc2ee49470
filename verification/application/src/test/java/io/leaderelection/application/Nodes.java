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

package io.leaderelection.application;

import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.testsupport.PostgreSqlServer;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Applications that elect one leader among them: in one JVM, each with a port of its own.
 * The one that is started first leads.
 */
final class Nodes implements AutoCloseable {

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final String group = UUID.randomUUID().toString();

	private final List<Node> nodes = new ArrayList<>();

	private final Class<?> beans;

	private final String[] properties;

	/**
	 * Create nodes that have the given beans and properties in common.
	 */
	Nodes(Class<?> beans, String... properties) {
		this.beans = beans;
		this.properties = properties;
	}

	Node start(String id, String... properties) {
		return start((context) -> {
		}, id, properties);
	}

	Node start(ApplicationContextInitializer<ConfigurableApplicationContext> initializer, String id,
			String... properties) {
		SpringApplication application = new SpringApplication(WebApplication.class, this.beans);
		application.addInitializers(initializer);
		String[] arguments = Stream
			.of(Stream.of("server.port=0", "leader-election.node-id=" + id, "spring.application.name=" + this.group,
					"spring.datasource.url=" + this.server.jdbcUrl(),
					"spring.datasource.username=" + this.server.username(),
					"spring.datasource.password=" + this.server.password()), Stream.of(this.properties),
					Stream.of(properties))
			.flatMap((source) -> source)
			.map((property) -> "--" + property)
			.toArray(String[]::new);
		Node node = new Node(id, application.run(arguments));
		this.nodes.add(node);
		return node;
	}

	/**
	 * Start a leader and a follower that know of each other.
	 */
	List<Node> startTwo() {
		Node leader = start("first").awaitLeader();
		Node follower = start("second");
		leader.awaitView(leader, leader, follower);
		follower.awaitView(leader, leader, follower);
		return List.of(leader, follower);
	}

	@Override
	public void close() {
		this.nodes.forEach(Node::close);
	}

}
