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
import java.io.UncheckedIOException;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import org.assertj.core.api.AssertProvider;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.test.json.BasicJsonTester;
import org.springframework.boot.test.json.JsonContent;
import org.springframework.boot.test.json.JsonContentAssert;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.http.HttpMethod;
import org.springframework.http.HttpStatusCode;
import org.springframework.http.MediaType;
import org.springframework.util.Assert;
import org.springframework.web.client.RestClient;

/**
 * A node of the sample, in this JVM or in one of its own, as HTTP sees it.
 */
final class SampleNode implements AutoCloseable {

	private static final BasicJsonTester json = new BasicJsonTester(SampleNode.class);

	private static final Duration START_LIMIT = Duration.ofSeconds(60);

	private final String id;

	private final String url;

	private final @Nullable ConfigurableApplicationContext context;

	private final @Nullable Process process;

	private SampleNode(String id, String url, @Nullable ConfigurableApplicationContext context,
			@Nullable Process process) {
		this.id = id;
		this.url = url;
		this.context = context;
		this.process = process;
	}

	/**
	 * Start a node in this JVM.
	 */
	static SampleNode start(String url, String id, String... properties) {
		ConfigurableApplicationContext context = SpringApplication.run(SampleApplication.class,
				arguments(url, id, 0, properties).toArray(String[]::new));
		return new SampleNode(id, url(context.getEnvironment().getRequiredProperty("local.server.port")), context,
				null);
	}

	/**
	 * Start a node in a JVM of its own, and wait until it serves.
	 */
	static SampleNode fork(String url, String id, String... properties) {
		try {
			int port = freePort();
			List<String> command = new ArrayList<>(List.of(
					Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-XX:TieredStopAtLevel=1",
					"-cp", System.getProperty("java.class.path"), SampleApplication.class.getName()));
			command.addAll(arguments(url, id, port, properties));
			Process process = new ProcessBuilder(command).redirectErrorStream(true)
				.redirectOutput(ProcessBuilder.Redirect.DISCARD)
				.start();
			SampleNode node = new SampleNode(id, url(String.valueOf(port)), null, process);
			Awaitility.await().atMost(START_LIMIT).ignoreExceptions().until(() -> node.get("").status() == 200);
			return node;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static int freePort() throws IOException {
		try (ServerSocket socket = new ServerSocket(0)) {
			return socket.getLocalPort();
		}
	}

	private static String url(String port) {
		return "http://localhost:" + port + "/actuator/leadership";
	}

	private static List<String> arguments(String url, String id, int port, String... properties) {
		return Stream
			.concat(Stream.of("server.port=" + port, "leader-election.node-id=" + id, "spring.datasource.url=" + url,
					"spring.main.banner-mode=off"), Stream.of(properties))
			.map((property) -> "--" + property)
			.toList();
	}

	String id() {
		return this.id;
	}

	ConfigurableApplicationContext context() {
		Assert.state(this.context != null, "Runs in a JVM of its own");
		return this.context;
	}

	LeaderElector elector() {
		return context().getBean(LeaderElector.class);
	}

	/**
	 * Read the endpoint, or what is below it.
	 */
	Answer get(String path) {
		return exchange(HttpMethod.GET, path, null);
	}

	/**
	 * Write to the endpoint with a body, if there is one.
	 */
	Answer post(String path, @Nullable String body) {
		return exchange(HttpMethod.POST, path, body);
	}

	private Answer exchange(HttpMethod method, String path, @Nullable String body) {
		RestClient.RequestBodySpec request = RestClient.create(this.url).method(method).uri(path);
		if (body != null) {
			request.contentType(MediaType.APPLICATION_JSON).body(body);
		}
		return request.exchange((sent, response) -> {
			String text = new String(response.getBody().readAllBytes(), StandardCharsets.UTF_8);
			HttpStatusCode status = response.getStatusCode();
			return new Answer(status.value(), text);
		});
	}

	/**
	 * Kill the JVM of this node.
	 */
	void kill() {
		Assert.state(this.process != null, "Runs in this JVM");
		this.process.destroyForcibly();
	}

	@Override
	public void close() {
		if (this.context != null) {
			this.context.close();
		}
		if (this.process != null) {
			this.process.destroyForcibly().onExit().join();
		}
	}

	/**
	 * What the endpoint answered.
	 *
	 * @param status the status of HTTP
	 * @param body the body
	 */
	record Answer(int status, String body) implements AssertProvider<JsonContentAssert> {

		JsonContent<Object> content() {
			return json.from(this.body);
		}

		@Override
		public JsonContentAssert assertThat() {
			return content().assertThat();
		}

	}

}
