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

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;

import org.springframework.boot.SpringApplication;
import org.springframework.context.ApplicationContextInitializer;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Applications that elect one leader among them: in this JVM or in processes, each with a
 * port of its own. The one that is started first leads.
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
		ConfigurableApplicationContext context = application.run(arguments(id, 0, properties).toArray(String[]::new));
		return add(new Node(id, context.getEnvironment().getRequiredProperty("local.server.port", Integer.class),
				context::close));
	}

	/**
	 * Start a node in a process, which is killed when the node is closed.
	 */
	Node startProcess(String id) throws IOException {
		int port = Processes.freePort();
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
						"-cp", System.getProperty("java.class.path"), SpringApplication.class.getName()));
		command.addAll(arguments(id, port,
				"spring.main.sources=" + WebApplication.class.getName() + "," + this.beans.getName()));
		Process process = new ProcessBuilder(command).redirectErrorStream(true)
			.redirectOutput(Path.of("target", this.group + "-" + id + ".txt").toFile())
			.start();
		Node node = add(new Node(id, port, () -> process.destroyForcibly().onExit().join()));
		Awaitility.await().ignoreExceptions().until(() -> node.election().status() == 200);
		return node;
	}

	private List<String> arguments(String id, int port, String... properties) {
		return Stream
			.of(Stream.of("server.port=" + port, "leader-election.node-id=" + id,
					"spring.application.name=" + this.group), Stream.of(this.server.dataSourceProperties()),
					Stream.of(this.properties), Stream.of(properties))
			.flatMap((source) -> source)
			.map((property) -> "--" + property)
			.toList();
	}

	private Node add(Node node) {
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
