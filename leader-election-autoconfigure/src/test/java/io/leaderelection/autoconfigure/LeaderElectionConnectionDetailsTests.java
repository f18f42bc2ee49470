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

import java.util.LinkedHashMap;
import java.util.Map;

import javax.sql.DataSource;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.engine.DefaultLeaderElector;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;
import org.springframework.boot.autoconfigure.service.connection.ConnectionDetailsFactories;
import org.springframework.boot.docker.compose.core.ConnectionPorts;
import org.springframework.boot.docker.compose.core.ImageReference;
import org.springframework.boot.docker.compose.core.RunningService;
import org.springframework.boot.docker.compose.service.connection.DockerComposeConnectionSource;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.mock.env.MockEnvironment;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaderElectionConnectionDetails} of properties, of beans and of Docker
 * Compose.
 */
@Tag("ring1")
class LeaderElectionConnectionDetailsTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class))
		.withPropertyValues("spring.application.name=shop");

	@Test
	void areThoseOfTheProperties() {
		this.contextRunner
			.withPropertyValues("leader-election.mode=always",
					"leader-election.datasource.url=jdbc:postgresql://one/db",
					"leader-election.datasource.username=user", "leader-election.datasource.password=secret")
			.run((context) -> assertThat(context).getBean(LeaderElectionConnectionDetails.class)
				.satisfies((details) -> assertDetails(details, "jdbc:postgresql://one/db", "user", "secret"))
				.asString()
				.doesNotContain("secret"));
	}

	@Test
	void areNoneWithoutProperties() {
		this.contextRunner.withPropertyValues("leader-election.mode=always")
			.run((context) -> assertDetails(context.getBean(LeaderElectionConnectionDetails.class), null, null, null));
	}

	@Test
	void ofABeanReplaceTheProperties() {
		LeaderElectionConnectionDetails otherDatabase = mock(LeaderElectionConnectionDetails.class);
		given(otherDatabase.getJdbcUrl()).willReturn("jdbc:mysql://other/db");
		this.contextRunner.withBean(LeaderElectionConnectionDetails.class, () -> otherDatabase)
			.withPropertyValues("leader-election.datasource.url=jdbc:postgresql://one/db")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOfSatisfying(InvalidUsageException.class, (failure) -> {
					assertThat(failure.getDescription())
						.contains("The LeaderElectionConnectionDetails points to jdbc:mysql://other/db");
					assertThat(failure.getAction()).contains("the URL of the LeaderElectionConnectionDetails")
						.doesNotContain("leader-election.datasource.url");
				}));
	}

	@Test
	void ofABeanThatFailAreLikeAnUnreachableDatabase() {
		LeaderElectionConnectionDetails failing = mock(LeaderElectionConnectionDetails.class);
		given(failing.getJdbcUrl()).willReturn("jdbc:postgresql://localhost:1/db");
		given(failing.getPassword()).willThrow(new IllegalStateException("no token"));
		this.contextRunner.withBean(LeaderElectionConnectionDetails.class, () -> failing)
			.run((context) -> assertThat(context).getBean(DefaultLeaderElector.class)
				.extracting((elector) -> elector.status().problem())
				.hasToString("The database for leader election cannot be reached: no token"));
	}

	@Test
	void ofABeanAreRefusedBesideADataSourceForElections() {
		this.contextRunner
			.withBean(LeaderElectionConnectionDetails.class, () -> mock(LeaderElectionConnectionDetails.class))
			.withBean(DataSource.class, () -> mock(DataSource.class),
					(definition) -> ((AbstractBeanDefinition) definition)
						.addQualifier(new AutowireCandidateQualifier(LeaderElectionDataSource.class)))
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining("a @LeaderElectionDataSource and LeaderElectionConnectionDetails"));
	}

	@Test
	void ofDockerComposeAreThoseOfTheServiceWithTheLabel() {
		Map<Class<?>, ConnectionDetails> details = compose("leader-election",
				Map.of("POSTGRES_USER", "user", "POSTGRES_PASSWORD", "secret", "POSTGRES_DB", "elections"),
				Map.of("org.springframework.boot.jdbc.parameters", "sslmode=require"));
		assertThat(details).containsOnlyKeys(LeaderElectionConnectionDetails.class);
		assertDetails((LeaderElectionConnectionDetails) details.get(LeaderElectionConnectionDetails.class),
				"jdbc:postgresql://127.0.0.1:32768/elections?sslmode=require", "user", "secret");
	}

	@Test
	void ofDockerComposeHaveTheDefaultsOfTheImage() {
		Map<Class<?>, ConnectionDetails> details = compose("leader-election",
				Map.of("POSTGRES_HOST_AUTH_METHOD", "trust"), Map.of());
		assertDetails((LeaderElectionConnectionDetails) details.get(LeaderElectionConnectionDetails.class),
				"jdbc:postgresql://127.0.0.1:32768/postgres", "postgres", null);
	}

	@Test
	void ofDockerComposeAreNotThoseOfOtherServices() {
		assertThat(compose("postgres", Map.of("POSTGRES_PASSWORD", "secret"), Map.of()))
			.containsKey(JdbcConnectionDetails.class)
			.doesNotContainKey(LeaderElectionConnectionDetails.class);
	}

	/**
	 * Return the details that Spring Boot obtains for a service of Docker Compose.
	 */
	private static Map<Class<?>, ConnectionDetails> compose(String connection, Map<String, String> environment,
			Map<String, String> labels) {
		Map<String, String> all = new LinkedHashMap<>(labels);
		all.put("org.springframework.boot.service-connection", connection);
		ConnectionPorts ports = mock(ConnectionPorts.class);
		given(ports.get(5432)).willReturn(32768);
		RunningService service = mock(RunningService.class);
		given(service.image()).willReturn(ImageReference.of("postgres:18"));
		given(service.host()).willReturn("127.0.0.1");
		given(service.ports()).willReturn(ports);
		given(service.env()).willReturn(environment);
		given(service.labels()).willReturn(all);
		DockerComposeConnectionSource source = mock(DockerComposeConnectionSource.class);
		given(source.getRunningService()).willReturn(service);
		given(source.getEnvironment()).willReturn(new MockEnvironment());
		return new ConnectionDetailsFactories(ConfigurableApplicationContext.class.getClassLoader())
			.getConnectionDetails(source, true);
	}

	private static void assertDetails(LeaderElectionConnectionDetails details, @Nullable String url,
			@Nullable String username, @Nullable String password) {
		assertThat(details.getJdbcUrl()).isEqualTo(url);
		assertThat(details.getUsername()).isEqualTo(username);
		assertThat(details.getPassword()).isEqualTo(password);
	}

}
