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

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.postgresql.ElectionKeys;
import org.assertj.core.api.AbstractStringAssert;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.datasource.AbstractDataSource;

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

	/** A start waits for the first decision a second longer than this. */
	private static final String PATIENT = "--leader-election.takeover-delay=2s";

	@Test
	void property(CapturedOutput output) {
		fail(output, List.of(Application.class), "--leader-election.mode=always",
				"--leader-election.lease-duration=100ms")
			.contains("Leader election cannot use the value of a property:")
			.contains("Property: leader-election.lease-duration")
			.contains("Value: 100ms")
			.contains("Reason: A lease this short")
			.contains("Action:")
			.contains("Set a duration from 500ms to 1h");
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
		fail(output, List.of(Application.class), "--leader-election.mode=always", "--" + property + "=" + value)
			.contains("Property: " + property)
			.containsPattern("Value: \"?" + value)
			.contains("Reason: ")
			.contains("Action:");
	}

	@Test
	void accessThatDoesNotExist(CapturedOutput output) {
		fail(output, List.of(Application.class), "--leader-election.mode=always",
				"--management.endpoints.web.exposure.include=leadership",
				"--management.endpoint.leadership.access=sometimes")
			.contains("Invalid value 'sometimes' for configuration property 'management.endpoint.leadership.access'");
	}

	@Test
	void unknownElection(CapturedOutput output) {
		fail(output, List.of(Application.class, UnknownElection.class), "--leader-election.mode=always")
			.contains("UnknownElection.work()' is guarded by @LeaderOnly for the election 'nightly', which does not "
					+ "exist")
			.contains("'leader-election.elections.nightly.*'");
	}

	@Test
	void dataSourceWithoutAccessibleUrl(CapturedOutput output) {
		fail(output, List.of(Application.class, Secretive.class)).contains("Secretive) does not expose how it connects")
			.contains("Set leader-election.datasource.url (and username, password)");
	}

	@Test
	void dataSourceForElectionsOfAnotherDriver(CapturedOutput output) {
		fail(output, List.of(Application.class, OtherDriver.class), PATIENT)
			.contains("The connection for leader election is not a connection of the PostgreSQL JDBC driver of this ")
			.contains("Point leader-election.datasource.url at a PostgreSQL server");
	}

	@Test
	void dataSourceForElectionsOfAnotherClassLoader(CapturedOutput output) {
		fail(output, List.of(Application.class, OtherClassLoader.class), PATIENT)
			.contains("is not a connection of the PostgreSQL JDBC driver of this application")
			.contains("leader-election.datasource.url");
	}

	@Test
	void severalDataSourcesForElections(CapturedOutput output) {
		fail(output, List.of(Application.class, Undecided.class))
			.contains("Leader election cannot determine which of 2 @LeaderElectionDataSource beans to use")
			.contains("Annotate only the one whose database holds the elections");
	}

	@Test
	void noDataSource(CapturedOutput output) {
		fail(output, List.of(Application.class))
			.contains("Leader election needs a PostgreSQL database, but the application has no DataSource.")
			.contains("Action:")
			.contains("spring.datasource.url")
			.contains("leader-election.mode=always");
	}

	@Test
	void noDataSourceForAnnotatedWork(CapturedOutput output) {
		fail(output, List.of(Application.class, Annotated.class)).contains("the application has no DataSource")
			.contains("With R2DBC, Spring Boot ignores that property: set leader-election.datasource.url");
	}

	@Test
	void otherDatabase(CapturedOutput output) {
		fail(output, List.of(Application.class), NOTHING_EXCLUDED, "--spring.datasource.url=jdbc:mysql://host/db",
				"--spring.datasource.driver-class-name=org.postgresql.Driver")
			.contains("The application's DataSource points to jdbc:mysql://host/db")
			.contains("held on PostgreSQL only");
	}

	@Test
	void sameDerivedAndConfiguredLock(CapturedOutput output) {
		long main = ElectionKeys.derive("shop", "default").main();
		fail(output, List.of(Application.class), NOTHING_EXCLUDED,
				"--spring.datasource.url=jdbc:postgresql://localhost:1/db", "--spring.application.name=shop",
				"--leader-election.elections.reports.lock-id=" + main)
			.contains("Property: leader-election.elections.reports.lock-id")
			.contains("The election 'default' has the same lock");
	}

	/**
	 * Lock ids whose derived keys of 32 bits are the same: those of terms, and those of
	 * terms and of notices.
	 */
	@ParameterizedTest
	@CsvSource({ "93939, 116207", "903, 113633" })
	void differentLocksWithTheSameDerivedKeys(String first, String second, CapturedOutput output) {
		fail(output, List.of(Application.class), NOTHING_EXCLUDED,
				"--spring.datasource.url=jdbc:postgresql://localhost:1/db", "--leader-election.lock-id=" + first,
				"--leader-election.elections.reports.lock-id=" + second)
			.contains("Property: leader-election.elections.reports.lock-id")
			.contains("Keys that are derived from it are also keys of the election 'default'");
	}

	@Test
	void outOfReachAndFailFast(CapturedOutput output) {
		fail(output, List.of(Application.class), NOTHING_EXCLUDED,
				"--spring.datasource.url=jdbc:postgresql://localhost:1/db", "--leader-election.fail-fast=true")
			.contains("The database for leader election cannot be reached")
			.contains("since leader-election.fail-fast is set")
			.contains("start as a follower that keeps trying");
	}

	@Test
	void unguardableMethod(CapturedOutput output) {
		fail(output, List.of(Application.class, Unguardable.class), "--leader-election.mode=always").contains("work()")
			.contains("Action:");
	}

	@Test
	void guardedMethodWithoutAutoConfiguration(CapturedOutput output) {
		fail(output, List.of(Annotated.class))
			.contains(
					"Annotated.work()' is guarded by @LeaderOnly, but there is no leader election in this application "
							+ "context.")
			.contains("add @EnableAutoConfiguration");
	}

	@Test
	void electorWithoutAutoConfiguration(CapturedOutput output) {
		fail(output, List.of(ElectorUser.class))
			.contains("ElectorUser required a bean of type 'io.leaderelection.LeaderElector' that could not be found.")
			.contains("is excluded, or auto-configuration is not enabled")
			.contains("To run without elections, for instance in tests, set leader-election.mode=always.");
	}

	@Test
	void electorOfAnElectionThatDoesNotExist(CapturedOutput output) {
		fail(output, List.of(Application.class, NightlyElectorUser.class), "--leader-election.mode=always",
				"--leader-election.elections.reports.candidate=true")
			.contains("There is no election with the qualifier of the injection point. The beans of elections are: "
					+ "'leaderElector', 'reportsLeaderElector'.")
			.contains("'leader-election.elections.<name>.*'");
	}

	@Test
	void otherMissingBean(CapturedOutput output) {
		fail(output, List.of(DataSourceUser.class)).contains("Consider defining a bean of type 'javax.sql.DataSource'");
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

	static class Annotated {

		@LeaderOnly
		void work() {
		}

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
			return new Secretive();
		}

	}

	static class Secretive extends AbstractDataSource {

		@Override
		public Connection getConnection() throws SQLException {
			throw new SQLException("Not even asked");
		}

		@Override
		public Connection getConnection(String username, String password) throws SQLException {
			return getConnection();
		}

	}

	static class UnknownElection {

		@LeaderOnly("nightly")
		void work() {
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

	static class Unguardable {

		@LeaderOnly
		final void work() {
		}

	}

}
