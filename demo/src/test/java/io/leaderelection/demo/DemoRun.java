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

package io.leaderelection.demo;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import tools.jackson.databind.JsonNode;

/**
 * A demo, started as the README does but for Maven, as its user and its page see it.
 */
final class DemoRun implements AutoCloseable {

	static final String CLASS_PATH = System.getProperty("surefire.test.class.path",
			System.getProperty("java.class.path"));

	private static final HttpClient CLIENT = HttpClient.newHttpClient();

	private final Process process;

	private final Path output;

	private DemoRun(Process process, Path output) {
		this.process = process;
		this.output = output;
	}

	static DemoRun start(Path temp, String classPath, String... args) throws IOException {
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
						"-Ddemo.ends-with-parent=true", "-cp", classPath, DemoCluster.class.getName()));
		command.addAll(List.of(args));
		Path output = Files.createTempFile(temp, "demo", ".log");
		return new DemoRun(
				new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start(), output);
	}

	static ConditionFactory eventually() {
		return Awaitility.await().atMost(Duration.ofSeconds(90)).pollInterval(Duration.ofMillis(100));
	}

	Process process() {
		return this.process;
	}

	String output() throws IOException {
		return Files.readString(this.output);
	}

	/**
	 * Wait until it prints the address of the page.
	 */
	DemoRun awaitOpen() {
		try {
			eventually().until(() -> {
				if (!this.process.isAlive()) {
					throw new IllegalStateException(output());
				}
				return output().contains("Open http");
			});
			return this;
		}
		catch (RuntimeException | Error ex) {
			// What it has started cleans up by itself
			this.process.destroyForcibly();
			throw ex;
		}
	}

	int awaitExit() throws InterruptedException {
		if (!this.process.waitFor(60, TimeUnit.SECONDS)) {
			throw new IllegalStateException("Still runs");
		}
		return this.process.exitValue();
	}

	/**
	 * The directory of its files, from what it says.
	 */
	RunDirectory directory() throws IOException {
		return new RunDirectory(Path.of(find("logs in (\\S+)")));
	}

	String url() throws IOException {
		return find("Open (http\\S+)");
	}

	private String find(String pattern) throws IOException {
		Matcher matcher = Pattern.compile(pattern).matcher(output());
		if (!matcher.find()) {
			throw new IllegalStateException(output());
		}
		return matcher.group(1);
	}

	JsonNode state() throws IOException, InterruptedException {
		return NodeClient.JSON.readTree(get("/api/state").body());
	}

	HttpResponse<String> get(String path) throws IOException, InterruptedException {
		return send(HttpRequest.newBuilder(URI.create(url() + path)));
	}

	HttpResponse<String> post(String path, String... headers) throws IOException, InterruptedException {
		HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url() + "/api/nodes" + path))
			.POST(HttpRequest.BodyPublishers.noBody());
		return send((headers.length != 0) ? request.headers(headers) : request);
	}

	/**
	 * The first line of the answer to a request for a host of that name.
	 */
	String statusOf(String request, String host) throws IOException {
		try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), URI.create(url()).getPort())) {
			String head = request + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 0\r\n\r\n";
			socket.getOutputStream().write(head.getBytes(StandardCharsets.US_ASCII));
			return new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII))
				.readLine();
		}
	}

	private static HttpResponse<String> send(HttpRequest.Builder request) throws IOException, InterruptedException {
		return CLIENT.send(request.build(), HttpResponse.BodyHandlers.ofString());
	}

	/**
	 * Wait until what the page would show is so.
	 */
	JsonNode await(String what, Predicate<JsonNode> condition) {
		return eventually().alias(what).until(this::state, condition::test);
	}

	/**
	 * Wait until some node leads that is up.
	 */
	String awaitLeader() {
		return await("leader", (state) -> state.hasNonNull("leader")).path("leader").asString();
	}

	@Override
	public void close() throws InterruptedException {
		this.process.destroy();
		if (!this.process.waitFor(60, TimeUnit.SECONDS)) {
			this.process.destroyForcibly();
		}
	}

}
