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

package io.leaderelection.autoconfigure;

import java.lang.reflect.Modifier;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.stream.Stream;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.FollowedDataSourceTests.UnknownDataSource;
import io.leaderelection.postgresql.ElectionKeys;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.RETURNS_DEEP_STUBS;
import static org.mockito.Mockito.mock;

/**
 * Tests for what people read when an application does not start.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class FailureAnalysisTests {

	private static final String NO_DATA_SOURCE = "spring.autoconfigure.exclude="
			+ "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration";

	private static final String NOTHING_EXCLUDED = "--spring.autoconfigure.exclude=";

	private static final String UNREACHABLE = "--spring.datasource.url=jdbc:postgresql://localhost:1/db";

	private static final String ALWAYS = "--leader-election.mode=always";

	private static final Class<?> ANNOTATED = new GeneratedJob().with(LeaderOnly.class);

	/** A start waits for the first decision a second longer than this. */
	private static final String PATIENT = "--leader-election.takeover-delay=2s";

	@ParameterizedTest
	@MethodSource
	void applicationDoesNotStart(List<Class<?>> sources, List<String> arguments, List<String> texts,
			CapturedOutput output) {
		fail(output, sources, arguments.toArray(String[]::new)).contains(texts);
	}

	static Stream<Arguments> applicationDoesNotStart() {
		return Stream.of(failure("property", List.of(Application.class),
				List.of(ALWAYS, "--leader-election.lease-duration=100ms"),
				"Leader election cannot use the value of a property:", "Property: leader-election.lease-duration",
				"Value: 100ms", "Reason: A lease this short", "Action:", "Set a duration from 500ms to 1h"),
				failure("access that does not exist", List.of(Application.class),
						List.of(ALWAYS, "--management.endpoints.web.exposure.include=leadership",
								"--management.endpoint.leadership.access=sometimes"),
						"Invalid value 'sometimes' for configuration property 'management.endpoint.leadership.access'"),
				failure("unknown election",
						List.of(Application.class,
								new GeneratedJob()
									.with(GeneratedJob.annotation(LeaderOnly.class).define("value", "nightly"))),
						List.of(ALWAYS),
						".run()' is guarded by @LeaderOnly for the election 'nightly', which does not exist",
						"'leader-election.elections.nightly.*'"),
				failure("data source without accessible URL", List.of(Application.class, UnknownDataSource.class),
						List.of(), "UnknownDataSource) does not expose how it connects",
						"Set leader-election.datasource.url (and username, password)"),
				failure("data source for elections of another driver", List.of(Application.class, OtherDriver.class),
						List.of(PATIENT),
						"The connection for leader election is not a connection of the PostgreSQL JDBC driver of this ",
						"Point leader-election.datasource.url at a PostgreSQL server"),
				failure("data source for elections of another class loader",
						List.of(Application.class, OtherClassLoader.class), List.of(PATIENT),
						"is not a connection of the PostgreSQL JDBC driver of this application",
						"leader-election.datasource.url"),
				failure("several data sources for elections", List.of(Application.class, Undecided.class), List.of(),
						"Leader election cannot determine which of 2 @LeaderElectionDataSource beans to use",
						"Annotate only the one whose database holds the elections"),
				failure("no data source", List.of(Application.class), List.of(),
						"Leader election needs a PostgreSQL database, but the application has no DataSource.",
						"Action:", "spring.datasource.url", "leader-election.mode=always"),
				failure("no data source for annotated work", List.of(Application.class, ANNOTATED), List.of(),
						"the application has no DataSource",
						"With R2DBC, Spring Boot ignores that property: set leader-election.datasource.url"),
				failure("other database", List.of(Application.class),
						List.of(NOTHING_EXCLUDED, "--spring.datasource.url=jdbc:mysql://host/db",
								"--spring.datasource.driver-class-name=org.postgresql.Driver"),
						"The application's DataSource points to jdbc:mysql://host/db", "held on PostgreSQL only"),
				failure("same derived and configured lock", List.of(Application.class),
						List.of(NOTHING_EXCLUDED, UNREACHABLE,
								"--leader-election.elections.reports.lock-id="
										+ ElectionKeys.derive("shop", "default").main()),
						"Property: leader-election.elections.reports.lock-id",
						"The election 'default' has the same lock"),
				failure("out of reach, and fail-fast", List.of(Application.class),
						List.of(NOTHING_EXCLUDED, UNREACHABLE, "--leader-election.fail-fast=true"),
						"The database for leader election cannot be reached", "since leader-election.fail-fast is set",
						"start as a follower that keeps trying"),
				failure("no candidate, out of reach, and fail-fast", List.of(Application.class),
						List.of(NOTHING_EXCLUDED, UNREACHABLE, "--leader-election.candidate=false",
								"--leader-election.fail-fast=true"),
						"The database for leader election cannot be reached", "leader-election.fail-fast"),
				failure("method that cannot be guarded",
						List.of(Application.class, new GeneratedJob().modifiers(Modifier.FINAL).with(LeaderOnly.class)),
						List.of(ALWAYS), "run()", "Action:"),
				failure("guarded method without auto-configuration", List.of(ANNOTATED), List.of(),
						".run()' is guarded by @LeaderOnly, but there is no leader election in this application context.",
						"add @EnableAutoConfiguration"),
				failure("elector without auto-configuration", List.of(ElectorUser.class), List.of(),
						"ElectorUser required a bean of type 'io.leaderelection.LeaderElector' that could not be found.",
						"is excluded, or auto-configuration is not enabled",
						"To run without elections, for instance in tests, set leader-election.mode=always."),
				failure("elector of an election that does not exist",
						List.of(Application.class, NightlyElectorUser.class),
						List.of(ALWAYS, "--leader-election.elections.reports.candidate=true"),
						"There is no election with the qualifier of the injection point. The beans of elections are: "
								+ "'leaderElector', 'reportsLeaderElector'.",
						"'leader-election.elections.<name>.*'"),
				failure("other missing bean", List.of(DataSourceUser.class), List.of(),
						"Consider defining a bean of type 'javax.sql.DataSource'"));
	}

	private static Arguments failure(String name, List<Class<?>> sources, List<String> arguments, String... texts) {
		return Arguments.argumentSet(name, sources, arguments, List.of(texts));
	}

	@ParameterizedTest
	@ValueSource(strings = { "sometimes", "never", "manual" })
	void modeThatDoesNotExist(String mode, CapturedOutput output) {
		fail(output, List.of(Application.class), "--leader-election.mode=" + mode).contains("leader-election.mode")
			.contains(mode)
			.contains("ALWAYS");
	}

	@ParameterizedTest
	@CsvSource({ "leader-election.fencing, perhaps", "leader-election.initialize-schema, embedded",
			"leader-election.lock-id, 0x10000000000000000", "leader-election.elections.reports.lock-id, nine",
			"leader-election.elections.reports.lease-duration, 5lustra",
			"leader-election.elections.reports.term-epoch, sixteen", "leader-election.health.unreachable-after, 1s",
			"leader-election.candidate, maybe", "leader-election.resign-when-unhealthy.after, -3s",
			"leader-election.resign-when-unhealthy.after, soon", "leader-election.resign-when-unhealthy.group, nowhere",
			"leader-election.services.start-attempts, 0", "leader-election.services.start-attempts, often" })
	void valueThatIsNone(String property, String value, CapturedOutput output) {
		fail(output, List.of(Application.class), ALWAYS, "--" + property + "=" + value)
			.contains("Property: " + property)
			.containsPattern("Value: \"?" + value)
			.contains("Reason: ")
			.contains("Action:");
	}

	/**
	 * Lock ids whose derived keys of 32 bits are the same: those of terms, and those of
	 * terms and of notices.
	 */
	@ParameterizedTest
	@CsvSource({ "93939, 116207", "903, 113633" })
	void differentLocksWithTheSameDerivedKeys(String first, String second, CapturedOutput output) {
		fail(output, List.of(Application.class), NOTHING_EXCLUDED, UNREACHABLE, "--leader-election.lock-id=" + first,
				"--leader-election.elections.reports.lock-id=" + second)
			.contains("Property: leader-election.elections.reports.lock-id")
			.contains("Keys that are derived from it are also keys of the election 'default'");
	}

	/**
	 * Start an application, without a data source unless the arguments say so.
	 */
	private static AbstractStringAssert<?> fail(CapturedOutput output, List<Class<?>> sources, String... arguments) {
		assertThatException().isThrownBy(
				() -> new SpringApplicationBuilder(sources.toArray(Class<?>[]::new)).web(WebApplicationType.NONE)
					.properties("spring.application.name=shop", NO_DATA_SOURCE)
					.run(arguments)
					.close());
		return assertThat(output.toString()).contains("APPLICATION FAILED TO START");
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

	}

	static class OtherDriver {

		@Bean(defaultCandidate = false)
		@LeaderElectionDataSource
		DataSource electionDataSource() throws SQLException {
			Connection connection = mock(Connection.class, RETURNS_DEEP_STUBS);
			given(connection.getNetworkTimeout()).willThrow(new AbstractMethodError());
			given(connection.getMetaData().getDatabaseProductName()).willReturn(product());
			if (!product().equals("PostgreSQL")) {
				given(connection.isWrapperFor(any())).willThrow(new AbstractMethodError());
			}
			DataSource dataSource = mock(DataSource.class);
			given(dataSource.getConnection()).willReturn(connection);
			return dataSource;
		}

		String product() {
			return "Notes";
		}

	}

	static class OtherClassLoader extends OtherDriver {

		@Override
		String product() {
			return "PostgreSQL";
		}

	}

	static class Undecided extends OtherDriver {

		@Bean(defaultCandidate = false)
		@LeaderElectionDataSource
		DataSource anotherElectionDataSource() {
			return new UnknownDataSource();
		}

	}

	static class ElectorUser {

		ElectorUser(LeaderElector elector) {
		}

	}

	static class NightlyElectorUser {

		NightlyElectorUser(@Qualifier("nightly") LeaderElector elector) {
		}

	}

	static class DataSourceUser {

		DataSourceUser(DataSource dataSource) {
		}

	}

}
