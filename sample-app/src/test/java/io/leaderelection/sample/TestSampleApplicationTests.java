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

package io.leaderelection.sample;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link TestSampleApplication}, with nodes in processes of their own.
 */
@Tag("ring3")
class TestSampleApplicationTests {

	private final List<Process> nodes = new ArrayList<>();

	@TempDir
	private Path directory;

	@AfterEach
	void killNodesAndStopServer() throws IOException {
		this.nodes.forEach((node) -> node.destroyForcibly().onExit().join());
		Path state = this.directory.resolve("target/postgres/state");
		if (Files.exists(state)) {
			ProcessHandle.of(Long.parseLong(Files.readAllLines(state).get(1))).ifPresent((server) -> {
				server.destroy();
				eventually().until(() -> !server.isAlive());
			});
		}
	}

	@Test
	void serverOutlivesTheNodeThatStartedItAndEndsAfterTheLast() throws IOException {
		Process first = start("first.log");
		awaitLine("first.log", "Acquired leadership");
		Path state = this.directory.resolve("target/postgres/state");
		String url = Files.readAllLines(state).get(0);
		ProcessHandle server = ProcessHandle.of(Long.parseLong(Files.readAllLines(state).get(1))).orElseThrow();

		Process second = start("second.log");
		awaitLine("second.log", "Not leader");
		awaitLine("second.log", "--spring.datasource.url=" + url);
		first.destroyForcibly();
		awaitLine("second.log", "Acquired leadership");
		assertThat(server.isAlive()).isTrue();

		second.destroy();
		awaitLine("second.log", "<===== This node no longer leads: STOPPED");
		eventually().until(() -> !server.isAlive());
		assertThat(state).doesNotExist();
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> DriverManager.getConnection(url));
	}

	@Test
	void serverForAnotherApplicationIsTheSame() throws IOException {
		start("node.log");
		awaitLine("node.log", "Acquired leadership");
		String url = Files.readAllLines(this.directory.resolve("target/postgres/state")).get(0);
		Process held = start("held.log", "postgres");
		awaitLine("held.log", "--spring.datasource.url=" + url);
		assertThat(held.isAlive()).isTrue();
		assertThat(this.directory.resolve("held.log")).content().doesNotContain("leadership");
		assertThat(this.directory.resolve("target/postgres/server.log")).content().doesNotContain("password=");
	}

	@Test
	void nodesHaveOneServerIfTheFirstIsKilledWhileItStarts() throws IOException {
		Process first = start("first.log");
		eventually().until(() -> Files.exists(this.directory.resolve("target/postgres/server.log")));
		first.destroyForcibly().onExit().join();
		start("second.log");
		awaitLine("second.log", "Acquired leadership");
		start("third.log");
		awaitLine("third.log", "Not leader");
	}

	@Test
	void configuredUrlWins() throws IOException {
		Process node = start("node.log", "--spring.datasource.url=jdbc:postgresql://localhost:1/none");
		eventually().until(() -> !node.isAlive());
		awaitLine("node.log", "Connection to localhost:1 refused");
		assertThat(this.directory.resolve("target")).doesNotExist();
	}

	private Process start(String log, String... arguments) throws IOException {
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
						"-cp", System.getProperty("java.class.path"), TestSampleApplication.class.getName()));
		command.addAll(List.of(arguments));
		Process node = new ProcessBuilder(command).directory(this.directory.toFile())
			.redirectErrorStream(true)
			.redirectOutput(this.directory.resolve(log).toFile())
			.start();
		this.nodes.add(node);
		return node;
	}

	private void awaitLine(String log, String line) {
		eventually().untilAsserted(() -> assertThat(this.directory.resolve(log)).content().contains(line));
	}

	private static ConditionFactory eventually() {
		return await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(200));
	}

}
