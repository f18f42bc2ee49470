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
import java.io.InputStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.documentation.JavaExample.Form;
import io.leaderelection.documentation.Markdown.CodeBlock;
import io.leaderelection.documentation.Surroundings.Catalog;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.postgresql.ds.PGSimpleDataSource;
import org.postgresql.jdbc.PreferQueryMode;
import tools.jackson.databind.JsonNode;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.Lifecycle;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.integration.support.SmartLifecycleRoleController;
import org.springframework.test.annotation.DirtiesContext.HierarchyMode;
import org.springframework.test.context.BootstrapWith;
import org.springframework.test.context.TestContextManager;
import org.springframework.test.util.ReflectionTestUtils;
import org.springframework.util.ReflectionUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the examples of the documents in Java and SQL compile, run and do what they
 * say.
 */
@Tag("ring1")
class ReadmeExamplesTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@TempDir
	private static Path directory;

	private static JavaExamples examples;

	@BeforeAll
	static void compile() {
		examples = new JavaExamples(
				Markdown.allBlocks("java").stream().filter((block) -> !MigrationExamplesTests.isPartOf(block)).toList(),
				directory);
	}

	@AfterAll
	static void close() throws IOException {
		examples.close();
	}

	@ParameterizedTest
	@MethodSource
	void compiles(JavaExample example) {
		assertThat(examples.errors(example)).isEmpty();
	}

	static List<JavaExample> compiles() {
		return examples.all();
	}

	@Test
	void areOfEveryForm() {
		assertThat(examples.all()).hasSizeGreaterThan(10)
			.extracting(JavaExample::form)
			.contains(Form.TYPES, Form.MEMBERS, Form.STATEMENTS);
	}

	@Test
	void runInAnApplication() throws Exception {
		String name = "documented-" + UUID.randomUUID();
		server.execute(
				"CREATE TABLE report (id bigint, body text, token bigint); CREATE TABLE int_lock (region text, client_id text)");
		server.execute("INSERT INTO report VALUES (1, 'old', 0)");
		try (ConfigurableApplicationContext context = DocumentedApplication.start(name, examples)) {
			Catalog catalog = context.getBean(Catalog.class);
			for (LeaderElector elector : context.getBean(LeaderElectors.class)) {
				Awaitility.await(elector.getElection()).atMost(LIMIT).until(elector::isLeader);
			}
			Awaitility.await("services")
				.atMost(LIMIT)
				.until(() -> services(context).toList(),
						(services) -> services.stream().allMatch(Lifecycle::isRunning));
			assertThat(services(context)).hasSize(2);
			SmartLifecycleRoleController roles = context.getBean(SmartLifecycleRoleController.class);
			Awaitility.await("endpoints").atMost(LIMIT).until(() -> roles.allEndpointsRunning("default"));
			assertThat(roles.getEndpointsRunningStatus("default")).hasSize(2);
			Awaitility.await("run on grant and by the scheduler")
				.atMost(LIMIT)
				.untilAsserted(() -> assertThat(catalog.calls).contains("rebuild", "refresh", "save fetched"));
			runStatements(context);
			assertThat(catalog.calls).contains("load", "load in a term");
			assertThat(server.query("SELECT body FROM report WHERE token > 0")).containsExactly("report");
			assertThat(context.getBean("elections", PGSimpleDataSource.class).getPreferQueryMode())
				.isEqualTo(PreferQueryMode.SIMPLE);
			JsonNode health = DocumentedJson.objectWith("leadership", Markdown.allBlocks("json")).get("leadership");
			Awaitility.await("health")
				.atMost(LIMIT)
				.untilAsserted(() -> assertThat(health(context)).isEqualTo(DocumentedJson.members(health)));
			assertThat(server.query(lockQuery().replace("'shop'", "'" + name + "'"))).contains("candidate", "main",
					"notice since", "term");
			Awaitility.await("resignation")
				.atMost(LIMIT)
				.untilAsserted(() -> assertThat(catalog.calls).contains("close RESIGNED"));
		}
		finally {
			server.execute("DROP TABLE report, int_lock; DROP TABLE IF EXISTS leader_election_schedule");
		}
	}

	/**
	 * The documented query for who holds which lock, reduced to one column.
	 */
	private static String lockQuery() {
		return Markdown.of(Path.of("docs", "operations", "troubleshooting.md"))
			.code("sql", "pg_locks")
			.replace("SELECT pid, usename AS role, application_name, key, mode, granted",
					"SELECT key || CASE WHEN since > clock_timestamp() - interval '10 min' THEN ' since' ELSE '' END");
	}

	@ParameterizedTest
	@MethodSource
	void sqlRuns(CodeBlock block) throws IOException {
		server.execute("CREATE ROLE shop LOGIN; CREATE ROLE shop_election LOGIN");
		server.execute("CREATE DATABASE shop");
		try {
			createTables("postgresql/schema-postgresql.sql");
			createTables("schedule/schema-schedule-postgresql.sql");
			server.execute(block.code());
		}
		finally {
			server.execute("DROP TABLE IF EXISTS leader_election_schedule");
			server.execute("DROP DATABASE shop");
			server.execute("DROP OWNED BY shop, shop_election");
			server.execute("DROP ROLE shop, shop_election");
		}
	}

	static List<CodeBlock> sqlRuns() {
		return Markdown.allBlocks("sql");
	}

	private static void createTables(String script) throws IOException {
		try (InputStream schema = LeaderElector.class.getResourceAsStream("/io/leaderelection/" + script)) {
			server.execute(new String(schema.readAllBytes(), StandardCharsets.UTF_8));
		}
	}

	private static Set<String> health(ConfigurableApplicationContext context) {
		Set<String> members = DocumentedJson.members(context.getBean(LeadershipHealthIndicator.class).health());
		members.removeIf((member) -> member.startsWith("details.elections.reports"));
		return members;
	}

	private static Stream<Lifecycle> services(ConfigurableApplicationContext context) {
		return context.getBeansOfType(Lifecycle.class)
			.entrySet()
			.stream()
			.filter((bean) -> bean.getKey().equals("orders") || bean.getKey().endsWith("Feed"))
			.map((bean) -> bean.getValue());
	}

	private static void runStatements(ConfigurableApplicationContext context) throws Exception {
		LeaderElector elector = context.getBean(LeaderElector.class);
		for (Class<?> type : examples.classes(Form.STATEMENTS)) {
			Surroundings example = (Surroundings) context.getBean(type);
			assertThat(elector.awaitLeadership(LIMIT)).as(type.getName()).isTrue();
			assertThat(elector.callIfLeader(() -> {
				example.run();
				return type;
			})).as(type.getName()).isPresent();
		}
	}

	@ParameterizedTest
	@MethodSource
	void testPasses(Class<?> type) throws Exception {
		Thread thread = Thread.currentThread();
		ClassLoader classLoader = thread.getContextClassLoader();
		// A slice loads the class of the test by its name
		thread.setContextClassLoader(examples.classLoader());
		try {
			run(type);
		}
		finally {
			thread.setContextClassLoader(classLoader);
		}
	}

	private static void run(Class<?> type) throws Exception {
		TestContextManager manager = new TestContextManager(type);
		Object test = ReflectionUtils.accessibleConstructor(type).newInstance();
		manager.beforeTestClass();
		manager.prepareTestInstance(test);
		List<Method> methods = Arrays.stream(type.getDeclaredMethods())
			.filter((method) -> AnnotatedElementUtils.hasAnnotation(method, Test.class))
			.toList();
		assertThat(methods).isNotEmpty();
		for (Method method : methods) {
			manager.beforeTestMethod(test, method);
			ReflectionTestUtils.invokeMethod(test, method.getName());
			manager.afterTestMethod(test, method, null);
		}
		manager.getTestContext().markApplicationContextDirty(HierarchyMode.EXHAUSTIVE);
	}

	static Stream<Class<?>> testPasses() {
		return examples.classes(Form.TYPES)
			.stream()
			.filter((type) -> AnnotatedElementUtils.hasAnnotation(type, BootstrapWith.class));
	}

}
