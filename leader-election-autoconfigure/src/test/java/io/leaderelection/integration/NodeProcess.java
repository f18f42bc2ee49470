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

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;

import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;

/**
 * The handle of a {@link NodeApplication} in a JVM of its own.
 */
final class NodeProcess implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final String name;

	private final Process process;

	private final Writer commands;

	private final List<Entry> history = new CopyOnWriteArrayList<>();

	private final List<String> output = new CopyOnWriteArrayList<>();

	NodeProcess(String name, PostgreSqlServer server, int port, String... properties) {
		this.name = name;
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m",
						"-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
						NodeApplication.class.getName(), "--spring.application.name=node-test",
						"--leader-election.node-id=" + name, "--spring.datasource.url=" + server.jdbcUrl(port),
						"--spring.datasource.username=" + server.username(),
						"--spring.datasource.password=" + server.password(),
						"--spring.datasource.hikari.minimum-idle=0", "--spring.main.banner-mode=off"));
		for (String property : properties) {
			command.add("--" + property);
		}
		try {
			this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.commands = new OutputStreamWriter(this.process.getOutputStream(), StandardCharsets.UTF_8);
		Thread reader = new Thread(this::read, "output of " + name);
		reader.setDaemon(true);
		reader.start();
	}

	private void read() {
		try (BufferedReader reader = new BufferedReader(
				new InputStreamReader(this.process.getInputStream(), StandardCharsets.UTF_8))) {
			for (String line = reader.readLine(); line != null; line = reader.readLine()) {
				if (line.startsWith("@ ")) {
					String[] parts = line.split(" ", 4);
					this.history.add(new Entry(this.name, Long.parseLong(parts[1]), parts[2], parts[3].trim()));
				}
				else {
					this.output.add(line);
				}
			}
		}
		catch (IOException ex) {
			this.output.add("The output has ended: " + ex);
		}
	}

	String name() {
		return this.name;
	}

	List<Entry> history() {
		return List.copyOf(this.history);
	}

	List<String> output() {
		return List.copyOf(this.output);
	}

	NodeProcess awaitStarted() {
		await("STARTED", Long.MIN_VALUE);
		return this;
	}

	/**
	 * Wait for the first entry of a kind after the given time.
	 */
	Entry await(String kind, long after) {
		try {
			return Awaitility.await()
				.atMost(LIMIT)
				.pollInterval(Duration.ofMillis(5))
				.until(() -> find(kind, after), Optional::isPresent)
				.orElseThrow();
		}
		catch (RuntimeException ex) {
			throw new IllegalStateException("No " + kind + " on " + this.name + ": " + this.history + this.output, ex);
		}
	}

	Optional<Entry> find(String kind, long after) {
		return this.history.stream().filter((entry) -> entry.kind().equals(kind) && entry.time() > after).findFirst();
	}

	/**
	 * The last entry of a kind, if any.
	 */
	Optional<Entry> last(String kind) {
		return this.history.stream().filter((entry) -> entry.kind().equals(kind)).reduce((first, second) -> second);
	}

	boolean leads() {
		return last("FIRST_TRUE").map(Entry::time).orElse(0L) > last("LAST_TRUE").map(Entry::time).orElse(0L);
	}

	void command(String command) {
		try {
			this.commands.write(command + "\n");
			this.commands.flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	void signal(String signal) {
		Processes.signal(this.process.pid(), signal);
	}

	@Override
	public void close() {
		this.process.destroyForcibly();
	}

	/**
	 * Something that happened on a node.
	 */
	record Entry(String node, long time, String kind, String details) {
	}

}
