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
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.StreamSupport;

import com.jayway.jsonpath.JsonPath;
import org.junit.jupiter.api.Test;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

import org.springframework.boot.convert.DurationStyle;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Holds the files in {@code deploy} against what the sample needs, and against
 * themselves. That they start is for a machine with containers to see.
 */
class DeploymentTests {

	private static final String IMAGE = "leader-election-sample";

	/** The drain timeout, by default, and 2 s of grace. */
	private static final Duration HAND_OVER = Duration.ofSeconds(22);

	private static final String[] DATABASE = { "SPRING_DATASOURCE_URL", "SPRING_DATASOURCE_USERNAME",
			"SPRING_DATASOURCE_PASSWORD" };

	@Test
	void composeStartsThreeNodesOnOneDatabase() throws IOException {
		Map<String, Object> file = load("compose.yaml").get(0);
		assertThat(file).containsOnlyKeys("services");
		assertThat(JsonPath.<Map<String, Object>>read(file, "$.services")).containsOnlyKeys("postgres", "node");
		Map<String, Object> node = JsonPath.read(file, "$.services.node");
		assertThat(node).containsOnlyKeys("image", "deploy", "ports", "environment", "depends_on", "stop_grace_period")
			.containsEntry("image", IMAGE)
			.containsEntry("ports", List.of("127.0.0.1:8081-8083:8080"));
		assertThat(JsonPath.<Integer>read(node, "$.deploy.replicas")).isEqualTo(3);
		assertThat(JsonPath.<String>read(node, "$.depends_on.postgres.condition")).isEqualTo("service_healthy");
		assertThat(DurationStyle.detectAndParse((String) node.get("stop_grace_period"))).isGreaterThan(HAND_OVER);

		Map<String, String> environment = JsonPath.read(node, "$.environment");
		Map<String, String> postgres = JsonPath.read(file, "$.services.postgres.environment");
		assertThat(environment).containsOnlyKeys(DATABASE)
			.containsEntry("SPRING_DATASOURCE_URL", "jdbc:postgresql://postgres/" + postgres.get("POSTGRES_USER"))
			.containsEntry("SPRING_DATASOURCE_USERNAME", postgres.get("POSTGRES_USER"))
			.containsEntry("SPRING_DATASOURCE_PASSWORD", postgres.get("POSTGRES_PASSWORD"));
		assertThat(JsonPath.<String>read(file, "$.services.postgres.healthcheck.test")).contains("pg_isready",
				postgres.get("POSTGRES_USER"));
	}

	@Test
	void kubernetesRunsThreeNodesOnOneDatabase() throws IOException {
		List<Map<String, Object>> objects = load("kubernetes.yaml");
		assertThat(objects)
			.extracting((object) -> object.get("apiVersion") + " " + object.get("kind") + " " + name(object))
			.containsExactly("v1 Secret sample-postgres", "v1 Service sample-postgres",
					"apps/v1 Deployment sample-postgres", "v1 Service sample", "apps/v1 Deployment sample");
		assertConsistent(objects.get(1), objects.get(2), 5432);
		assertConsistent(objects.get(3), objects.get(4), 8080);
		assertThat(JsonPath.<String>read(objects.get(2), "$.spec.strategy.type")).isEqualTo("Recreate");

		Map<String, Object> nodes = objects.get(4);
		assertThat(JsonPath.<Integer>read(nodes, "$.spec.replicas")).isEqualTo(3);
		Map<String, Object> pod = JsonPath.read(nodes, "$.spec.template.spec");
		assertThat(Duration.ofSeconds((Integer) pod.get("terminationGracePeriodSeconds"))).isGreaterThan(HAND_OVER);
		Map<String, Object> container = JsonPath.read(pod, "$.containers[0]");
		assertThat(container).containsEntry("image", IMAGE).containsEntry("imagePullPolicy", "IfNotPresent");
		assertThat(JsonPath.<List<String>>read(container, "$.env[*].name")).containsExactly(DATABASE);
		String service = name(objects.get(1));
		assertThat(JsonPath.<String>read(container, "$.env[0].value")).isEqualTo(
				"jdbc:postgresql://" + service + "/" + JsonPath.<String>read(objects.get(0), "$.stringData.username"));
		assertThat(JsonPath.<String>read(container, "$.readinessProbe.httpGet.path"))
			.isEqualTo("/actuator/health/readiness");
		assertThat(JsonPath.<String>read(container, "$.livenessProbe.httpGet.path"))
			.isEqualTo("/actuator/health/liveness");
		for (Map<String, Object> deployment : List.of(objects.get(2), nodes)) {
			assertThat(JsonPath.<List<String>>read(deployment, "$..secretKeyRef.name")).hasSize(2)
				.containsOnly(name(objects.get(0)));
			assertThat(JsonPath.<List<String>>read(deployment, "$..secretKeyRef.key")).containsExactly("username",
					"password");
		}
	}

	private static void assertConsistent(Map<String, Object> service, Map<String, Object> deployment, int port) {
		Map<String, Object> labels = JsonPath.read(deployment, "$.spec.template.metadata.labels");
		assertThat(JsonPath.<Map<String, Object>>read(deployment, "$.spec.selector.matchLabels")).isEqualTo(labels);
		assertThat(JsonPath.<Map<String, Object>>read(service, "$.spec.selector")).isEqualTo(labels);
		assertThat(JsonPath.<Integer>read(service, "$.spec.ports[0].port")).isEqualTo(port);
		assertThat(JsonPath.<Integer>read(deployment, "$.spec.template.spec.containers[0].ports[0].containerPort"))
			.isEqualTo(port);
	}

	@Test
	void imageIsThatOfTheBuild() throws IOException {
		assertThat(Path.of("pom.xml")).content()
			.contains("<spring-boot.build-image.imageName>" + IMAGE + "</spring-boot.build-image.imageName>");
	}

	private static String name(Map<String, Object> object) {
		return JsonPath.read(object, "$.metadata.name");
	}

	@SuppressWarnings("unchecked")
	private static List<Map<String, Object>> load(String file) throws IOException {
		LoaderOptions options = new LoaderOptions();
		options.setAllowDuplicateKeys(false);
		Yaml yaml = new Yaml(new SafeConstructor(options));
		return StreamSupport.stream(yaml.loadAll(Files.readString(Path.of("deploy", file))).spliterator(), false)
			.map((document) -> (Map<String, Object>) document)
			.toList();
	}

}
