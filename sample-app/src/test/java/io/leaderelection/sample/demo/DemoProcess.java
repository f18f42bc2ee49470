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
package io.leaderelection.sample.demo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.awaitility.Awaitility;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The demo as a visitor starts it: a process of its own, and those that it starts.
 */
final class DemoProcess {

	private static final Pattern ADDRESS = Pattern.compile("http://localhost:\\d+$", Pattern.MULTILINE);

	private static final Duration START_LIMIT = Duration.ofSeconds(180);

	private static final Duration STOP_LIMIT = Duration.ofSeconds(60);

	private final HttpClient client = HttpClient.newHttpClient();

	private final JsonMapper json = new JsonMapper();

	private final Path output;

	private final Process process;

	private DemoProcess(Path output, Process process) {
		this.output = output;
		this.process = process;
	}

	static DemoProcess start(Path directory) throws IOException {
		Path output = directory.resolve("demo.log");
		Process process = new ProcessBuilder(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp",
				System.getProperty("java.class.path"), DemoCluster.class.getName(), "--port=0")
			.redirectErrorStream(true)
			.redirectOutput(output.toFile())
			.start();
		DemoProcess demo = new DemoProcess(output, process);
		Awaitility.await().atMost(START_LIMIT).until(() -> !process.isAlive() || demo.address().find());
		assertThat(process.isAlive()).as(demo.output()).isTrue();
		return demo;
	}

	private Matcher address() {
		Matcher address = ADDRESS.matcher(output().replaceFirst("(?s)^.*\nOpen ", ""));
		return output().contains("\nOpen ") ? address : ADDRESS.matcher("");
	}

	String output() {
		try {
			return Files.readString(this.output);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	String url() {
		Matcher address = address();
		assertThat(address.find()).isTrue();
		return address.group();
	}

	JsonNode state() {
		return get(url() + "/api/state");
	}

	/**
	 * What the demo tells of a node.
	 */
	JsonNode node(String name) {
		for (JsonNode node : state().path("nodes")) {
			if (node.path("name").asString("").equals(name)) {
				return node;
			}
		}
		throw new IllegalArgumentException("There is no node " + name);
	}

	List<String> nodesThatAre(String process) {
		return state().path("nodes")
			.valueStream()
			.filter((node) -> node.path("process").asString("").equals(process))
			.map((node) -> node.path("name").asString(""))
			.toList();
	}

	JsonNode get(String url) {
		return send(HttpRequest.newBuilder(URI.create(url)));
	}

	JsonNode post(String path) {
		return send(HttpRequest.newBuilder(URI.create(url() + path)).POST(HttpRequest.BodyPublishers.noBody()));
	}

	private JsonNode send(HttpRequest.Builder request) {
		try {
			return this.json.readTree(
					this.client.send(request.timeout(Duration.ofSeconds(10)).build(), BodyHandlers.ofString()).body());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * The processes that the demo has started, and those that they have.
	 */
	List<ProcessHandle> descendants() {
		return this.process.descendants().toList();
	}

	/**
	 * End it as Ctrl-C does.
	 */
	void stop() {
		this.process.destroy();
		Awaitility.await().atMost(STOP_LIMIT).until(() -> !this.process.isAlive());
	}

}
