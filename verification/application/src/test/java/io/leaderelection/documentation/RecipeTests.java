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

package io.leaderelection.documentation;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpClient.Redirect;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.stream.Stream;

import com.sun.net.httpserver.HttpServer;
import io.leaderelection.LeaderElector;
import io.leaderelection.documentation.JavaExample.Form;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the documented recipes route requests to the leader.
 */
@Tag("ring2")
class RecipeTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@TempDir
	private static Path directory;

	private static JavaExamples examples;

	private final HttpClient client = HttpClient.newBuilder().followRedirects(Redirect.NORMAL).build();

	private final String group = "recipe-" + UUID.randomUUID();

	@BeforeAll
	static void compile() {
		examples = new JavaExamples(Markdown.of(Path.of("docs/guide/who-leads.md")).blocks("java"), directory);
	}

	@AfterAll
	static void close() throws IOException {
		examples.close();
	}

	@Test
	void followerRedirectsRequestsToTheLeader() throws Exception {
		int leaderPort = Processes.freePort();
		int followerPort = Processes.freePort();
		try (ConfigurableApplicationContext leader = start("LeaderRedirect", leaderPort);
				ConfigurableApplicationContext follower = start("LeaderRedirect", followerPort)) {
			await(leader);
			Awaitility.await().until(() -> follower.getBean(LeaderElector.class).getLeader() != null);
			HttpResponse<String> response = get(followerPort, "/catalog/node?detail=full");
			assertThat(response.body()).isEqualTo(leader.getBean(LeaderElector.class).getNodeId());
			assertThat(response.uri()).hasPort(leaderPort).hasQuery("detail=full");
			leader.close();
			await(follower);
			assertThat(get(followerPort, "/catalog/node").body())
				.isEqualTo(follower.getBean(LeaderElector.class).getNodeId());
		}
	}

	@Test
	void leaderLabelsItsPodUntilThatSucceedsAndFreesTheLockAfterwards() throws Exception {
		List<String> requests = new CopyOnWriteArrayList<>();
		Set<String> failed = ConcurrentHashMap.newKeySet();
		HttpServer kubernetes = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
		kubernetes.createContext("/", (exchange) -> {
			String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
			requests.add(exchange.getRequestMethod() + " " + exchange.getRequestURI() + " "
					+ exchange.getRequestHeaders().getFirst("Authorization") + " " + body);
			boolean first = failed.add(exchange.getRequestURI().getPath());
			exchange.sendResponseHeaders(first ? 503 : 200, -1);
			exchange.close();
		});
		kubernetes.start();
		String url = "--kubernetes.url=http://localhost:" + kubernetes.getAddress().getPort();
		try (ConfigurableApplicationContext first = start("LeaderLabel", 0, url, "--kubernetes.token=t",
				"--kubernetes.pod=/pods/first");
				ConfigurableApplicationContext second = start("LeaderLabel", 0, url, "--kubernetes.token=t",
						"--kubernetes.pod=/pods/second")) {
			await(first);
			// The first request of each pod has failed
			Awaitility.await().untilAsserted(() -> assertThat(requests).hasSize(4));
			assertThat(requests).filteredOn((request) -> request.contains("first"))
				.containsExactly(label("first", "leader"), label("first", "leader"));
			assertThat(requests).filteredOn((request) -> request.contains("second"))
				.containsExactly(label("second", "follower"), label("second", "follower"));
			first.getBean(LeaderElector.class).resign();
			await(second);
			Awaitility.await().until(() -> requests.size() == 6);
			assertThat(requests.subList(4, 6)).containsExactly(label("first", "follower"), label("second", "leader"));
		}
		finally {
			kubernetes.stop(0);
		}
	}

	private static String label(String pod, String role) {
		return "PATCH /pods/" + pod + " Bearer t {\"metadata\":{\"labels\":{\"role\":\"" + role + "\"}}}";
	}

	private static void await(ConfigurableApplicationContext node) throws InterruptedException {
		assertThat(node.getBean(LeaderElector.class).awaitLeadership(LIMIT)).isTrue();
	}

	private HttpResponse<String> get(int port, String path) throws IOException, InterruptedException {
		return this.client.send(HttpRequest.newBuilder(URI.create("http://localhost:" + port + path)).build(),
				BodyHandlers.ofString());
	}

	private ConfigurableApplicationContext start(String recipe, int port, String... properties) {
		Class<?> bean = examples.classes(Form.TYPES)
			.stream()
			.filter((type) -> type.getSimpleName().equals(recipe))
			.findFirst()
			.orElseThrow();
		String[] all = Stream.concat(Stream.of("--leader-election.group=" + this.group, "--server.port=" + port,
				"--leader-election.metadata.url=http://localhost:" + port,
				"--spring.datasource.url=" + server.jdbcUrl(), "--spring.datasource.username=" + server.username(),
				"--spring.datasource.password=" + server.password(), "--spring.main.banner-mode=off"),
				Stream.of(properties))
			.toArray(String[]::new);
		return new SpringApplicationBuilder(Node.class, bean).registerShutdownHook(false)
			.resourceLoader(new DefaultResourceLoader(examples.classLoader()))
			.run(all);
	}

	/**
	 * A node with a resource that only the leader has.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	@EnableScheduling
	@RestController
	static class Node {

		private final LeaderElector elector;

		Node(LeaderElector elector) {
			this.elector = elector;
		}

		@GetMapping("/catalog/node")
		String node() {
			return this.elector.getNodeId();
		}

	}

}
