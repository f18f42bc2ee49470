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

package io.leaderelection.compatibility;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import com.jayway.jsonpath.JsonPath;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;

/**
 * A node of the application in a JVM of its own.
 */
final class OrdersNode implements AutoCloseable {

	static final Duration LIMIT = Duration.ofMinutes(2);

	/** The exit status after SIGTERM. */
	static final int TERMINATED = 143;

	private static final Pattern PORT = Pattern.compile("Tomcat started on port (\\d+)");

	private static final HttpClient client = HttpClient.newHttpClient();

	private final String name;

	private final Process process;

	private final Path output;

	OrdersNode(String name, Path java, String classPath, List<String> arguments, Path directory) {
		this.name = name;
		this.output = directory.resolve(name + ".log");
		List<String> command = new ArrayList<>(List.of(java.toString(), "-Xmx192m", "-XX:+UseSerialGC",
				"-XX:TieredStopAtLevel=1", "-cp", classPath, "com.example.orders.OrdersApplication"));
		command.addAll(arguments);
		command.add("--leader-election.node-id=" + name);
		try {
			this.process = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(this.output.toFile())
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	String name() {
		return this.name;
	}

	boolean isAlive() {
		return this.process.isAlive();
	}

	String output() {
		try {
			return Files.readString(this.output);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return a value of a JSON response, or the text of another.
	 * @param path the path of the request
	 * @param jsonPath the path of the value, empty for the whole response
	 */
	String get(String path, String jsonPath) {
		return send(request(path).GET(), jsonPath);
	}

	String post(String path, String jsonPath) {
		return send(request(path).POST(HttpRequest.BodyPublishers.noBody()), jsonPath);
	}

	private HttpRequest.Builder request(String path) {
		return HttpRequest.newBuilder(URI.create("http://localhost:" + port() + path)).timeout(LIMIT);
	}

	private String port() {
		Matcher matcher = PORT.matcher(output());
		Awaitility.await().atMost(LIMIT).until(() -> matcher.reset(output()).find());
		return matcher.group(1);
	}

	private static String send(HttpRequest.Builder request, String jsonPath) {
		try {
			HttpResponse<String> response = client.send(request.build(), BodyHandlers.ofString());
			if (response.statusCode() != 200) {
				throw new IllegalStateException(response + ": " + response.body());
			}
			return jsonPath.isEmpty() ? response.body()
					: String.valueOf((Object) JsonPath.read(response.body(), jsonPath));
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
	 * Send a signal that ends the process, and wait for that.
	 * @return the exit status
	 */
	int end(String signal) {
		Processes.signal(this.process.pid(), signal);
		return awaitEnd();
	}

	/**
	 * Wait until the process ends by itself.
	 * @return the exit status
	 */
	int awaitEnd() {
		Awaitility.await().atMost(LIMIT).until(() -> !isAlive());
		return this.process.exitValue();
	}

	@Override
	public void close() {
		this.process.destroyForcibly();
		awaitEnd();
	}

}
