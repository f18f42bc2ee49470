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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Locale;
import java.util.Map;

import io.leaderelection.annotation.InvalidUsageException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link UnknownProperties}.
 */
@Tag("ring1")
@ExtendWith(OutputCaptureExtension.class)
class UnknownPropertiesTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class))
		.withPropertyValues("leader-election.mode=always");

	@ParameterizedTest
	@CsvSource({ "leader-election.leese-duration,lease-duration", "leaderElection.leaseDuraton,lease-duration",
			"leader_election.lease_duraton,lease-duration", "leader-election.lease.duration,lease-duration",
			"leader-election.lease-duration.x,lease-duration", "leader-election.start-timeout,services.start-timeout",
			"leader-election.schedule.within,schedules.within", "leader-election.datasource.user,datasource.username",
			"leader-election.metadatas.zone,metadata.*", "leader-election.epoch,term-epoch",
			"leader-election.lease-duration.y,lease-duration", "leader-election.health.group,group",
			"leader-election.elections.reports.drain,elections.*.drain-timeout" })
	void unknownPropertyIsReported(String name, String nearest, CapturedOutput output) {
		this.contextRunner.withPropertyValues(name + "=s3cr3t").run((context) -> {
			assertThat(context).hasNotFailed();
			assertThat(output)
				.contains("Leader election has no property '%s' (\"%s\" from property source \"test\"). "
					.formatted(name, name) + "It is ignored. Did you mean 'leader-election." + nearest + "'?")
				.doesNotContain("s3cr3t");
		});
	}

	@ParameterizedTest
	@CsvSource({ "leader-election.candidate[0],candidate", "leader-election.candidates,candidate",
			"leader-election.groups,group", "leader-election.table-nam,table-name", "leaderElection.lockIds,lock-id",
			"leader_election.fenceing,fencing", "leader-election.elections.reports.candidte,elections.*.candidate",
			"leader-election.election.reports.candidate,elections.*.candidate",
			"leader-election.elections[my.reports].candidte,elections.*.candidate",
			"leader-election.elections.my.reports.candidate,elections.*.candidate" })
	void misspeltPropertyThatDecidesWhoLeadsIsRejected(String name, String nearest) {
		this.contextRunner.withPropertyValues(name + "=s3cr3t")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.isInstanceOf(InvalidUsageException.class)
				.hasMessage("Leader election has no property '%s' (\"%s\" from property source \"test\"). "
					.formatted(name, name) + "Did you mean 'leader-election." + nearest + "'?"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "leader-election.enabled", "leaderElection.enabled", "leader-election.enable",
			"leader-election.elections.reports.enabled" })
	void whatDisablesAnElectionIsNamed(String name) {
		this.contextRunner.withPropertyValues(name + "=false")
			.run((context) -> assertThat(context).getFailure()
				.rootCause()
				.hasMessageEndingWith(
						" Set leader-election.mode=always to run without elections, or leader-election.candidate=false if this node must not lead."));
	}

	@Test
	void fileIsNamedWithTheLine(@TempDir Path directory) throws IOException {
		Path file = Files.writeString(directory.resolve("application.yml"), "leader-election:\n  enabled: false\n");
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> application().run("--spring.config.location=" + file.toUri()))
			.havingRootCause()
			.withMessageStartingWith("Leader election has no property 'leader-election.enabled' (URL [")
			.withMessageContaining("application.yml] - 2:12).");
	}

	@Test
	void argumentAndSystemPropertyAreRejected() {
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> application().run("--leader-election.enabled=false"))
			.havingRootCause()
			.isInstanceOf(InvalidUsageException.class);
		this.contextRunner.withSystemProperties("leader-election.enabled=false")
			.run((context) -> assertThat(context).getFailure().rootCause().isInstanceOf(InvalidUsageException.class));
	}

	private static SpringApplicationBuilder application() {
		return new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
			.properties("leader-election.mode=always", "leader-election.candidate=false");
	}

	@Test
	void unknownVariablesAreReported(CapturedOutput output) {
		this.contextRunner
			.withInitializer((context) -> context.getEnvironment()
				.getPropertySources()
				.addFirst(new SystemEnvironmentPropertySource("test-systemEnvironment",
						Map.of("LEADER_ELECTION_SERVICE_HOST", "10.0.0.1", "LEADERELECTION_LEASEDURATION", "7s",
								"LEADER_ELECTION_PRIORITY_HOLD", "2m", "LEADERELECTION_METADATA_ZONE", "a",
								"LEADERELECTION_ELECTIONS_REPORTS_CANDIDATE", "false", "HOME", "/"))))
			.run((context) -> {
				assertThat(context).hasSingleBean(LeaderElectionProperties.class);
				assertThat(context.getBean(LeaderElectionProperties.class).leaseDuration()).hasSeconds(7);
			});
		assertThat(output).contains(
				"Environment variables that are not properties of leader election are ignored: [LEADER_ELECTION_SERVICE_HOST]");
	}

	@Test
	void everyPropertyIsKnownHoweverItIsSpelt(CapturedOutput output) {
		for (String name : RelaxedBindingTests.ALL.keySet()) {
			check(name);
			check(name.replace("-", ""));
			check(name.replace('-', '_'));
			check(name.toUpperCase(Locale.ROOT));
			UnknownProperties.check(new MapPropertySource("test",
					Map.of("leader-election.metadata[a.b]", "", "leader-election.integration.roles.reports[0]", "",
							"leader-election.elections[a.b].candidate", "", "leader-election.elections.reports", "",
							"leader-election.services", "", "leader-election", "")));
		}
		assertThat(output).doesNotContain("has no property");
		check("leader-election[0]");
		assertThat(output).contains("has no property 'leader-election[0]'");
	}

	private static void check(String name) {
		UnknownProperties.check(new MapPropertySource("test", Map.of(name, "")));
	}

	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration(LeaderElectionAutoConfiguration.class)
	static class Application {

	}

}
