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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;

import com.jayway.jsonpath.JsonPath;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.dialect.Dialect;
import com.networknt.schema.dialect.Dialects;
import com.networknt.schema.keyword.NonValidationKeyword;
import io.kubernetes.client.openapi.JSON;
import io.kubernetes.client.openapi.models.V1Deployment;
import io.kubernetes.client.openapi.models.V1Secret;
import io.kubernetes.client.openapi.models.V1Service;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.skyscreamer.jsonassert.JSONAssert;
import org.skyscreamer.jsonassert.JSONCompareMode;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

import org.springframework.boot.convert.DurationStyle;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Holds the files in {@code deploy} of the sample against what Compose and Kubernetes
 * define, against what the sample needs, and against themselves. Whether they start needs
 * a machine with containers or systemd.
 */
@Tag("ring1")
class DeploymentTests {

	private static final Path SAMPLE = Path.of("../../sample-app");

	private static final String COMPOSE = "compose.yaml";

	/** The one with which Spring Boot starts a PostgreSQL for development. */
	private static final String DEVELOPMENT = "../compose.yaml";

	private static final String KUBERNETES = "kubernetes.yaml";

	private static final String SERVICE = "sample.service";

	private static final Map<String, Class<?>> KINDS = Map.of("v1 Secret", V1Secret.class, "v1 Service",
			V1Service.class, "apps/v1 Deployment", V1Deployment.class);

	private static final String IMAGE = "leader-election-sample";

	/** The drain timeout, by default, and 2 s of grace. */
	private static final Duration HAND_OVER = Duration.ofSeconds(22);

	private static final String[] DATABASE = { "SPRING_DATASOURCE_URL", "SPRING_DATASOURCE_USERNAME",
			"SPRING_DATASOURCE_PASSWORD" };

	@ParameterizedTest
	@ValueSource(strings = { COMPOSE, DEVELOPMENT, "../../monitoring/compose.yaml" })
	void composeFileIsValid(String name) throws IOException {
		Dialect dialect = Dialect.builder(Dialects.getDraft7()).keyword(new NonValidationKeyword("deprecated")).build();
		Schema schema = SchemaRegistry.withDialect(dialect)
			.getSchema(SchemaLocation.of("classpath:deploy/compose-spec.json"));
		for (Map<String, Object> document : load(read(name))) {
			assertThat(schema.validate(JsonPath.parse(document).jsonString(), InputFormat.JSON)).isEmpty();
		}
	}

	@Test
	void developmentHasAPostgresOnlyOnThisMachine() throws IOException {
		Map<String, Object> compose = load(read(DEVELOPMENT)).get(0);
		assertThat(JsonPath.<Map<String, Object>>read(compose, "$.services")).containsOnlyKeys("postgres");
		assertThat(JsonPath.<String>read(compose, "$.services.postgres.image"))
			.isEqualTo(JsonPath.<String>read(load(read(COMPOSE)).get(0), "$.services.postgres.image"));
		assertThat(JsonPath.<List<String>>read(compose, "$.services.postgres.ports"))
			.containsExactly("127.0.0.1::5432");
		Map<String, Object> settings = JsonPath
			.read(load(Files.readString(SAMPLE.resolve("src/main/resources/application.yml"))).get(0), "$.spring");
		assertThat(JsonPath.<Boolean>read(settings, "$.docker.compose.enabled")).isFalse();
		// Hand-over is visible if the first instance ends
		assertThat(JsonPath.<String>read(settings, "$.docker.compose.lifecycle-management")).isEqualTo("start-only");
	}

	/**
	 * What the model does not know it refuses, what is of another type it may convert.
	 */
	@Test
	void kubernetesFileIsValid() throws Exception {
		for (Map<String, Object> document : load(read(KUBERNETES))) {
			assertThat(KINDS).containsKey(kind(document));
			String json = JsonPath.parse(document).jsonString();
			JSONAssert.assertEquals(json, JSON.serialize(JSON.deserialize(json, KINDS.get(kind(document)))),
					JSONCompareMode.STRICT_ORDER);
		}
	}

	@Test
	void composeStartsThreeNodesOnOneDatabase() throws IOException {
		Map<String, Object> file = load(read(COMPOSE)).get(0);
		assertThat(file).containsOnlyKeys("services");
		assertThat(JsonPath.<Map<String, Object>>read(file, "$.services")).containsOnlyKeys("postgres", "node");
		Map<String, Object> node = JsonPath.read(file, "$.services.node");
		assertThat(node)
			.containsOnlyKeys("image", "restart", "deploy", "ports", "environment", "depends_on", "stop_grace_period")
			.containsEntry("image", IMAGE)
			.containsEntry("restart", "on-failure")
			.containsEntry("ports", List.of("127.0.0.1:8081-8083:8080"));
		assertThat(JsonPath.<Integer>read(node, "$.deploy.replicas")).isEqualTo(3);
		assertThat(JsonPath.<String>read(node, "$.depends_on.postgres.condition")).isEqualTo("service_healthy");
		assertThat(DurationStyle.detectAndParse((String) node.get("stop_grace_period"))).isGreaterThan(HAND_OVER);

		Map<String, String> environment = JsonPath.read(node, "$.environment");
		Map<String, String> postgres = JsonPath.read(file, "$.services.postgres.environment");
		String user = postgres.get("POSTGRES_USER");
		assertThat(environment).containsOnlyKeys(DATABASE)
			.containsEntry("SPRING_DATASOURCE_URL", "jdbc:postgresql://postgres/" + user)
			.containsEntry("SPRING_DATASOURCE_USERNAME", user)
			.containsEntry("SPRING_DATASOURCE_PASSWORD", postgres.get("POSTGRES_PASSWORD"));
		assertThat(JsonPath.<String>read(file, "$.services.postgres.healthcheck.test"))
			.isEqualTo("pg_isready -h 127.0.0.1 -U " + user);
	}

	@Test
	void kubernetesRunsThreeNodesOnOneDatabase() throws IOException {
		List<Map<String, Object>> objects = load(read(KUBERNETES));
		assertThat(objects).extracting((object) -> kind(object) + " " + name(object))
			.containsExactly("v1 Secret sample-postgres", "v1 Service sample-postgres",
					"apps/v1 Deployment sample-postgres", "v1 Service sample", "apps/v1 Deployment sample");
		assertConsistent(objects.get(1), objects.get(2), 5432);
		assertConsistent(objects.get(3), objects.get(4), 8080);

		assertThat(JsonPath.<String>read(objects.get(2), "$.spec.strategy.type")).isEqualTo("Recreate");
		Map<String, Object> postgres = container(objects.get(2));
		assertThat(JsonPath.<List<String>>read(postgres, "$.env[*].name")).containsExactly("POSTGRES_USER",
				"POSTGRES_PASSWORD");
		String user = JsonPath.read(postgres, "$.env[0].value");
		assertThat(JsonPath.<List<String>>read(postgres, "$.readinessProbe.exec.command")).containsExactly("pg_isready",
				"-h", "127.0.0.1", "-U", user);

		Map<String, Object> nodes = objects.get(4);
		assertThat(JsonPath.<Integer>read(nodes, "$.spec.replicas")).isEqualTo(3);
		int grace = JsonPath.read(nodes, "$.spec.template.spec.terminationGracePeriodSeconds");
		assertThat(Duration.ofSeconds(grace)).isGreaterThan(HAND_OVER);
		Map<String, Object> node = container(nodes);
		assertThat(node).containsEntry("image", IMAGE).containsEntry("imagePullPolicy", "IfNotPresent");
		assertThat(JsonPath.<List<String>>read(node, "$.env[*].name")).containsExactly(DATABASE);
		assertThat(JsonPath.<List<String>>read(node, "$.env[*].value"))
			.containsExactly("jdbc:postgresql://" + name(objects.get(1)) + "/" + user, user);
		for (String probe : List.of("readiness", "liveness")) {
			assertThat(JsonPath.<Map<String, Object>>read(node, "$." + probe + "Probe.httpGet"))
				.isEqualTo(Map.of("path", "/actuator/health/" + probe, "port", 8080));
		}

		for (Map<String, Object> container : List.of(postgres, node)) {
			assertThat(JsonPath.<List<Map<String, Object>>>read(container,
					"$.env[?(@.name =~ /.*_PASSWORD/)]..secretKeyRef"))
				.containsExactly(Map.of("name", name(objects.get(0)), "key", "password"));
		}
		assertThat(JsonPath.<Map<String, Object>>read(objects.get(0), "$.stringData")).containsOnlyKeys("password");
	}

	@Test
	void kubernetesRunsThemWhereRestrictedPodsOnlyMayRun() throws IOException {
		List<Map<String, Object>> objects = load(read(KUBERNETES));
		for (Map<String, Object> deployment : List.of(objects.get(2), objects.get(4))) {
			assertThat(JsonPath.<Map<String, Object>>read(deployment, "$.spec.template.spec.securityContext"))
				.containsEntry("runAsNonRoot", true)
				.containsEntry("seccompProfile", Map.of("type", "RuntimeDefault"));
			assertThat(container(deployment).get("securityContext"))
				.isEqualTo(Map.of("allowPrivilegeEscalation", false, "capabilities", Map.of("drop", List.of("ALL"))));
		}
	}

	@Test
	void serviceStopsWithoutAShellAndHasTimeForTheHandOver() throws IOException {
		Map<String, String> service = read(SERVICE).lines()
			.filter((line) -> line.contains("=") && !line.startsWith("#"))
			.map((line) -> line.split("=", 2))
			.collect(Collectors.toMap((setting) -> setting[0], (setting) -> setting[1]));
		assertThat(service.get("ExecStart")).matches("/usr/bin/java -jar /\\S+/sample-app-exec\\.jar");
		assertThat(DurationStyle.detectAndParse(service.get("TimeoutStopSec"))).isGreaterThan(HAND_OVER);
		assertThat(service).containsEntry("SuccessExitStatus", "143")
			.containsEntry("Restart", "on-failure")
			.doesNotContainKeys("KillSignal", "KillMode", "SendSIGKILL");
		assertThat(read(SERVICE)).contains(DATABASE);
	}

	@Test
	void imageIsThatOfTheBuild() throws IOException {
		assertThat(SAMPLE.resolve("pom.xml")).content()
			.contains("<spring-boot.build-image.imageName>" + IMAGE + "</spring-boot.build-image.imageName>");
	}

	private static void assertConsistent(Map<String, Object> service, Map<String, Object> deployment, int port) {
		Map<String, Object> labels = JsonPath.read(deployment, "$.spec.template.metadata.labels");
		assertThat(JsonPath.<Map<String, Object>>read(deployment, "$.spec.selector.matchLabels")).isEqualTo(labels);
		assertThat(JsonPath.<Map<String, Object>>read(service, "$.spec.selector")).isEqualTo(labels);
		assertThat(JsonPath.<List<Integer>>read(service, "$.spec.ports[*].port")).containsExactly(port);
	}

	private static String kind(Map<String, Object> object) {
		return object.get("apiVersion") + " " + object.get("kind");
	}

	private static String name(Map<String, Object> object) {
		return JsonPath.read(object, "$.metadata.name");
	}

	private static Map<String, Object> container(Map<String, Object> deployment) {
		List<Map<String, Object>> containers = JsonPath.read(deployment, "$.spec.template.spec.containers");
		assertThat(containers).hasSize(1);
		return containers.get(0);
	}

	private static String read(String file) throws IOException {
		return Files.readString(SAMPLE.resolve("deploy").resolve(file));
	}

	@SuppressWarnings("unchecked")
	private static List<Map<String, Object>> load(String yaml) {
		LoaderOptions options = new LoaderOptions();
		options.setAllowDuplicateKeys(false);
		return StreamSupport.stream(new Yaml(new SafeConstructor(options)).loadAll(yaml).spliterator(), false)
			.map((document) -> (Map<String, Object>) document)
			.toList();
	}

}
