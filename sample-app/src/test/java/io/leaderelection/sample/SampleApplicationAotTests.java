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

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import javax.tools.ToolProvider;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import org.springframework.boot.SpringApplicationAotProcessor;
import org.springframework.boot.test.json.BasicJsonTester;
import org.springframework.boot.test.json.JsonContent;
import org.springframework.web.client.RestClient;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for {@link SampleApplication}, processed ahead of time as by the goal
 * {@code process-aot} of Spring Boot's Maven plugin and run in that mode, over HTTP.
 */
@Tag("ring3")
class SampleApplicationAotTests {

	private static final String CLASS_PATH = System.getProperty("java.class.path");

	private final BasicJsonTester json = new BasicJsonTester(getClass());

	@TempDir
	private Path temp;

	@Test
	void leadsAndWorksWhenProcessedAheadOfTime() throws Exception {
		process();
		try (EmbeddedPostgres postgres = EmbeddedPostgres.start()) {
			String url = postgres.getJdbcUrl("postgres", "postgres");
			leadsAndWorks(url, "advisory-lock");
			// Chosen as it runs: nothing of the store is decided ahead of time
			leadsAndWorks(url, "table");
		}
	}

	private void leadsAndWorks(String database, String store) throws Exception {
		Path log = this.temp.resolve(store + ".log");
		Process node = java(log, this.temp.resolve("classes") + File.pathSeparator + CLASS_PATH,
				List.of("-Dspring.aot.enabled=true", SampleApplication.class.getName(), "--server.port=0",
						"--leader-election.store=" + store, "--management.endpoints.web.exposure.include=*",
						"--leader-election.initialize-schema=always", "--spring.datasource.url=" + database));
		try {
			eventually().until(() -> url(log) != null);
			String url = url(log);
			assertThat(log).content().contains("Starting AOT-processed SampleApplication");
			eventually().untilAsserted(
					() -> assertThat(json(url + "/status")).extractingJsonPathArrayValue("work").isNotEmpty());
			assertThat(json(url + "/status")).extractingJsonPathBooleanValue("leader").isTrue();
			assertThat(json(url + "/actuator/leadership")).extractingJsonPathStringValue("elections.default.role")
				.isEqualTo("leader");
			assertThat(json(url + "/actuator/leadership")).extractingJsonPathStringValue("elections.default.store")
				.isEqualTo(store);
			assertThat(json(url + "/actuator/health")).extractingJsonPathStringValue("components.leadership.status")
				.isEqualTo("UP");
			assertThat(get(url + "/actuator/prometheus")).contains("leader_election_leader{");
		}
		finally {
			node.destroy();
			assertThat(node.waitFor(30, TimeUnit.SECONDS)).isTrue();
		}
		assertThat(log).content().contains("<===== This node no longer leads: STOPPED");
	}

	private void process() throws IOException, InterruptedException {
		Path sources = this.temp.resolve("sources");
		Path classes = Files.createDirectories(this.temp.resolve("classes"));
		Path log = this.temp.resolve("process.log");
		// A URL, since TestSampleApplication otherwise adds a data source
		Process process = java(log, CLASS_PATH,
				List.of(SpringApplicationAotProcessor.class.getName(), SampleApplication.class.getName(),
						sources.toString(), classes.toString(), classes.toString(), "test", "test",
						"--spring.datasource.url=jdbc:postgresql://localhost/none",
						"--management.endpoints.web.exposure.include=*"));
		assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
		assertThat(process.exitValue()).as(Files.readString(log)).isZero();
		List<String> options = new ArrayList<>(List.of("-proc:none", "-nowarn", "-Xlint:none", "-d", classes.toString(),
				"-cp", classes + File.pathSeparator + CLASS_PATH));
		try (Stream<Path> files = Files.walk(sources)) {
			files.map(Path::toString).filter((file) -> file.endsWith(".java")).forEach(options::add);
		}
		assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, options.toArray(String[]::new))).isZero();
	}

	private static Process java(Path log, String classPath, List<String> arguments) throws IOException {
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", classPath));
		command.addAll(arguments);
		return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
	}

	private static String url(Path log) throws IOException {
		try (Stream<String> lines = Files.lines(log)) {
			return lines.filter((line) -> line.contains("Tomcat started on port"))
				.map((line) -> "http://localhost:" + line.replaceAll("^.*Tomcat started on port (\\d+).*$", "$1"))
				.findFirst()
				.orElse(null);
		}
	}

	private JsonContent<Object> json(String url) {
		return this.json.from(get(url));
	}

	private static String get(String url) {
		String body = RestClient.create(url).get().retrieve().body(String.class);
		assertThat(body).isNotNull();
		return body;
	}

	private static ConditionFactory eventually() {
		return await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(200));
	}

}
