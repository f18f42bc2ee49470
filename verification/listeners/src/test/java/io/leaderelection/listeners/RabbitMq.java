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

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;

import org.springframework.amqp.core.Queue;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.core.RabbitAdmin;
import org.springframework.test.util.TestSocketUtils;
import org.springframework.util.FileSystemUtils;

/**
 * A RabbitMQ from the files that Debian's package has installed. With
 * {@code -Dsuite.rabbitmq=required}, a test fails rather than being skipped where there
 * are none.
 */
final class RabbitMq implements AutoCloseable {

	private static final Path SCRIPT = Path.of("/usr/lib/rabbitmq/bin/rabbitmq-server");

	private final Path folder;

	private final int port = TestSocketUtils.findAvailableTcpPort();

	private final Process names;

	private final Process server;

	private final CachingConnectionFactory connections;

	private RabbitMq() throws IOException {
		this.folder = Files.createTempDirectory("leader-election-rabbitmq");
		int namesPort = TestSocketUtils.findAvailableTcpPort();
		// The server would otherwise leave it running
		this.names = process(namesPort, "epmd", "-address", "127.0.0.1");
		this.server = process(namesPort, SCRIPT.toString());
		this.connections = new CachingConnectionFactory("127.0.0.1", this.port);
		Runtime.getRuntime().addShutdownHook(new Thread(this::kill));
	}

	private Process process(int namesPort, String... command) throws IOException {
		ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true)
			.redirectOutput(this.folder.resolve("log").toFile());
		builder.environment()
			.putAll(Map.of("HOME", this.folder.toString(), "ERL_EPMD_PORT", String.valueOf(namesPort),
					"RABBITMQ_NODENAME", "listeners" + this.port + "@localhost", "RABBITMQ_NODE_IP_ADDRESS",
					"127.0.0.1", "RABBITMQ_NODE_PORT", String.valueOf(this.port), "RABBITMQ_DIST_PORT",
					String.valueOf(TestSocketUtils.findAvailableTcpPort()), "RABBITMQ_MNESIA_BASE",
					this.folder.resolve("data").toString(), "RABBITMQ_LOG_BASE", this.folder.resolve("logs").toString(),
					"RABBITMQ_ENABLED_PLUGINS_FILE", this.folder.resolve("plugins").toString(), "RABBITMQ_CONFIG_FILE",
					this.folder.resolve("rabbitmq").toString()));
		return builder.start();
	}

	/**
	 * Start a server, or skip the test if none is installed.
	 */
	static RabbitMq start() {
		if (!Files.isExecutable(SCRIPT)) {
			Assumptions.assumeTrue("required".equals(System.getProperty("suite.rabbitmq")), "There is no " + SCRIPT);
		}
		try {
			RabbitMq started = new RabbitMq();
			started.await();
			return started;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private void await() {
		Awaitility.await().ignoreExceptions().until(() -> {
			if (!this.server.isAlive()) {
				throw new AssertionError("RabbitMQ has ended: " + log());
			}
			this.connections.createConnection().close();
			return true;
		});
	}

	private String log() {
		try {
			return Files.readString(this.folder.resolve("log"));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	int port() {
		return this.port;
	}

	void declare(Queue queue) {
		new RabbitAdmin(this.connections).declareQueue(queue);
	}

	@Override
	public void close() {
		this.connections.destroy();
		kill();
		try {
			FileSystemUtils.deleteRecursively(this.folder);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private void kill() {
		Stream
			.concat(this.server.descendants().toList().stream(),
					Stream.of(this.server.toHandle(), this.names.toHandle()))
			.forEach((process) -> {
				process.destroyForcibly();
				process.onExit().join();
			});
	}

}
