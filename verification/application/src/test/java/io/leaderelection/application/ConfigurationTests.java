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

package io.leaderelection.application;

import java.util.Map;

import javax.sql.DataSource;

import io.leaderelection.autoconfigure.LeaderElectionDataSource;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * Applications that are configured by their environment, wrongly, or by a bean.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class ConfigurationTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@AutoClose
	private final Nodes nodes = new Nodes(WebApplication.class);

	@Test
	void environmentVariablesDefineElections() {
		Node node = start(Map.of("LEADERELECTION_LEASEDURATION", "8s", "LEADERELECTION_ELECTIONS_REPORTS_LEASEDURATION",
				"10s", "LEADERELECTION_ELECTIONS_MAILS_CANDIDATE", "false"));
		assertThat(node.get("/actuator/leadership").at("/elections").propertyNames())
			.containsExactlyInAnyOrder("default", "reports", "mails");
		assertThat(node.get("/actuator/leadership/default").text("/lease")).isEqualTo("PT8S");
		assertThat(node.get("/actuator/leadership/reports").text("/lease")).isEqualTo("PT10S");
		assertThat(node.get("/actuator/leadership/reports").text("/candidate")).isEqualTo("true");
		assertThat(node.get("/actuator/leadership/mails").text("/lease")).isEqualTo("PT8S");
		assertThat(node.get("/actuator/leadership/mails").text("/candidate")).isEqualTo("false");
	}

	@Test
	void environmentVariablesSelectTheTableAndCreateIt() {
		server.execute("CREATE SCHEMA environment");
		Node node = start(Map.of("LEADERELECTION_STORE", "table", "LEADERELECTION_INITIALIZESCHEMA", "always",
				"LEADERELECTION_TABLENAME", "environment.leader_election"))
			.awaitLeader();
		assertThat(node.get("/actuator/leadership/default").text("/store")).isEqualTo("table");
		assertThat(server.query("SELECT owner FROM environment.leader_election WHERE owner IS NOT NULL")).hasSize(1);
	}

	@Test
	void wrongValueKeepsTheApplicationFromStartingAndIsNamed(CapturedOutput output) {
		assertThatException()
			.isThrownBy(() -> start(Map.of("LEADERELECTION_ELECTIONS_REPORTS_LEASEDURATION", "100ms")));
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Property: leader-election.elections.reports.lease-duration")
			.contains("Value: 100ms");
	}

	@Test
	void valueThatIsNoDurationKeepsTheApplicationFromStartingAndIsNamed(CapturedOutput output) {
		assertThatException().isThrownBy(() -> this.nodes.start("only", "leader-election.lease-duration=soon"));
		assertThat(output).contains("APPLICATION FAILED TO START")
			.contains("Property: leader-election.lease-duration")
			.contains("Value: \"soon\"");
	}

	@Test
	void electionsAreHeldOnTheDataSourceThatIsAnnotated() {
		server.execute("CREATE DATABASE elections");
		try (Nodes others = new Nodes(OtherDatabase.class)) {
			Node node = others.start("only").awaitLeader();
			Awaitility.await()
				.until(() -> "not fenced: not on the election database"
					.equals(node.get("/actuator/leadership").text("/fencing/transactionManager")));
			assertThat(node.get("/actuator/health").status()).isEqualTo(200);
		}
	}

	private Node start(Map<String, Object> environment) {
		String name = StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME;
		return this.nodes.start((context) -> context.getEnvironment()
			.getPropertySources()
			.replace(name, new SystemEnvironmentPropertySource(name, environment)), "only");
	}

	@Configuration(proxyBeanMethods = false)
	static class OtherDatabase {

		@Bean(defaultCandidate = false)
		@LeaderElectionDataSource
		DataSource electionDataSource() {
			return new DriverManagerDataSource(
					"jdbc:postgresql://" + server.host() + ":" + server.port() + "/elections", server.username(),
					server.password());
		}

	}

}
