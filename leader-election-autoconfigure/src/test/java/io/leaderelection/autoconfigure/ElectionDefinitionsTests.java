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

import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for {@link ElectionDefinitions}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class ElectionDefinitionsTests {

	@Test
	void hasTheDocumentedDefaults() {
		ElectionDefinition definition = definitions().get("default");
		assertThat(definition.settings().lease()).hasSeconds(5);
		assertThat(definition.settings().takeoverDelay()).hasMillis(250);
		assertThat(definition.settings().fastTakeover()).isEqualTo(FastTakeover.AUTO);
		assertThat(definition.settings().drainTimeout()).hasSeconds(20);
		assertThat(definition.settings().candidate()).isTrue();
		assertThat(definition.lockId()).isNull();
		assertThat(definition.termEpoch()).isZero();
	}

	@Test
	void fastTakeoverIsDisabledForAllElections() {
		ElectionDefinitions definitions = definitions("leader-election.fast-takeover", "false",
				"leader-election.elections.reports.lease-duration", "7s");
		assertThat(definitions.get("default").settings().fastTakeover()).isEqualTo(FastTakeover.FALSE);
		assertThat(definitions.get("reports").settings().fastTakeover()).isEqualTo(FastTakeover.FALSE);
	}

	@Test
	void allElectionsHaveTheSameNodeId() {
		ElectionDefinitions definitions = definitions("leader-election.elections.reports.candidate", "true");
		assertThat(definitions.get("reports").settings().nodeId()).isNotEmpty()
			.isEqualTo(definitions.get("default").settings().nodeId());
	}

	@Test
	void blankOptionalValuesCountAsNotSet() {
		ElectionDefinition definition = definitions("leader-election.lock-id", "", "leader-election.node-id", " ")
			.get("default");
		assertThat(definition.lockId()).isNull();
		assertThat(definition.settings().nodeId()).isNotBlank();
	}

	@Test
	void electionsMayBeConfiguredByEnvironmentVariables() {
		ElectionDefinition definition = definitions("LEADERELECTION_ELECTIONS_REPORTS_LEASEDURATION", "7s")
			.get("reports");
		assertThat(definition.settings().lease()).hasSeconds(7);
	}

	@Test
	void longestStopIsThatOfAnyElection() {
		ElectionDefinitions definitions = definitions("leader-election.elections.b.drain-timeout", "25s");
		assertThat(definitions.longestStop()).hasSeconds(28);
	}

	@Test
	void leaseMustNotBeTooShort() {
		refused("leader-election.lease-duration", "499ms").satisfies((ex) -> {
			assertThat(ex.getDescription()).contains("Value: 499ms");
			assertThat(ex.getDescription()).contains("every pause of the JVM");
			assertThat(ex.getAction()).contains("from 500ms to 1h").contains("with its unit");
		});
		assertThat(definitions("leader-election.lease-duration", "500ms").get("default").settings().lease())
			.hasMillis(500);
	}

	@Test
	void leaseWithoutUnitIsRefusedAsMilliseconds() {
		refused("leader-election.lease-duration", "5").satisfies(
				(ex) -> assertThat(ex.getMessage()).contains("Property: leader-election.lease-duration", "Value: 5ms"));
	}

	@Test
	void leaseMustNotBeTooLong() {
		refused("leader-election.lease-duration", "2h")
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("No node would lead for that long"));
	}

	@Test
	void delaysMustNotBeNegative() {
		refused("leader-election.takeover-delay", "-1s").satisfies((ex) -> {
			assertThat(ex.getDescription()).contains("Value: -1s");
			assertThat(ex.getDescription()).contains("It is negative.");
		});
		refused("leader-election.drain-timeout", "-20ms")
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("It is negative."));
		refused("leader-election.resign-when-unhealthy.after", "-1s")
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("It is negative."));
	}

	@Test
	void takeoverDelayMustHaveSomethingToDoWithTheLease() {
		refused("leader-election.takeover-delay", "11s").satisfies((ex) -> {
			assertThat(ex.getDescription()).contains("After one lease (5s in the election 'default')")
				.contains("only leaves the application without a leader");
			assertThat(ex.getAction()).contains("at most twice the duration of the lease");
		});
		assertThat(definitions("leader-election.takeover-delay", "5s").get("default").settings().takeoverDelay())
			.hasSeconds(5);
	}

	@Test
	void inheritedValueIsRefusedByTheNameOfThePropertyThatSetsIt() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.takeover-delay", "5s",
					"leader-election.elections.reports.lease-duration", "1s"))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: leader-election.takeover-delay");
				assertThat(ex.getDescription()).contains("1s in the election 'reports'");
			});
	}

	@Test
	void ownValueIsRefusedByItsFullName() {
		refused("leader-election.elections.reports.lease-duration", "10ms");
		refused("leader-election.elections.reports.takeover-delay", "1m");
		refused("leader-election.elections.reports.drain-timeout", "1m");
		refused("leader-election.elections.reports.term-epoch", "16");
		refused("leader-election.elections.reports.lock-id", "x");
	}

	@Test
	void drainMustEndBeforeThePhaseDoes() {
		refused("leader-election.drain-timeout", "27s").satisfies((ex) -> {
			assertThat(ex.getDescription()).contains("2s of grace")
				.contains("1s for a database")
				.contains("not below the 30s of spring.lifecycle.timeout-per-shutdown-phase");
			assertThat(ex.getAction())
				.isEqualTo("Set it below 27s, or raise spring.lifecycle.timeout-per-shutdown-phase.");
		});
		assertThat(definitions("leader-election.drain-timeout", "26999ms").longestStop()).hasMillis(29999);
		assertThat(
				definitions("leader-election.drain-timeout", "50s", "spring.lifecycle.timeout-per-shutdown-phase", "1m")
					.longestStop())
			.hasSeconds(53);
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.elections.reports.drain-timeout", "1s",
					"spring.lifecycle.timeout-per-shutdown-phase", "1s"))
			.satisfies(
					(ex) -> assertThat(ex.getAction()).isEqualTo("Raise spring.lifecycle.timeout-per-shutdown-phase."));
	}

	@ParameterizedTest
	@CsvSource({ "30s, PT20S, false", "20s, PT16S, false", "5s, PT1S, false", "4s, PT1S, true", "1s, PT1S, true" })
	void drainThatIsNotSetFitsIntoThePhase(String phase, Duration drain, boolean warned, CapturedOutput output) {
		assertThat(definitions("spring.lifecycle.timeout-per-shutdown-phase", phase).get("default")
			.settings()
			.drainTimeout()).isEqualTo(drain);
		assertThat(output.toString().contains("may exit before a hand-over is complete, which takes up to 4s"))
			.isEqualTo(warned);
		assertThat(definitions("leader-election.mode", "always", "leader-election.drain-timeout", "1m",
				"spring.lifecycle.timeout-per-shutdown-phase", phase)
			.longestStop()).hasSeconds(63);
	}

	@Test
	void servicesAreStartedAtLeastOnce() {
		refused("leader-election.services.start-attempts", "0");
		refused("leader-election.services.start-timeout", "0s");
		refused("leader-election.services.start-timeout", "25h");
		assertThat(definitions("leader-election.services.start-timeout", "24h").all()).hasSize(1);
		assertThat(definitions("leader-election.services.start-attempts", "1").all()).hasSize(1);
	}

	@ParameterizedTest
	@ValueSource(strings = { "-1s", "25h", "200000d", "106751991167d", "PT2562047788015215H" })
	void unhealthyNodeMustResignSomeTime(String after) {
		refused("leader-election.resign-when-unhealthy.after", after)
			.satisfies((ex) -> assertThat(ex.getAction()).contains("up to 24h"));
		assertThat(definitions("leader-election.resign-when-unhealthy.after", "24h").all()).hasSize(1);
		assertThat(definitions("leader-election.resign-when-unhealthy.after", "0").all()).hasSize(1);
	}

	@ParameterizedTest
	@MethodSource("durations")
	void noDurationIsTooLongOrTooShortForArithmetic(String property) {
		// With milliseconds too, which do not fit into a long
		for (String value : List.of("9223372036854775807s", "PT9223372036854775807.999S", "0s", "-1s", "-1ns",
				"-9223372036854775808s", "PT-9223372036854775807.001S")) {
			try {
				ElectionDefinitions definitions = definitions(property, value,
						"spring.lifecycle.timeout-per-shutdown-phase", "9223372036854775807ms");
				for (ElectionDefinition definition : definitions.all()) {
					assertThat(definitions.longestStop().toNanos()).isPositive();
					assertThat(definition.settings().lease().toNanos()).isPositive();
					assertThat(definition.settings().takeoverDelay().toNanos()).isNotNegative();
					assertThat(definition.settings().priorityHold().toNanos()).isPositive();
				}
			}
			catch (InvalidUsageException ex) {
				assertThat(ex.getDescription()).as(value).contains("Property: " + property);
			}
		}
	}

	static Stream<String> durations() {
		return RelaxedBindingTests.ALL.entrySet()
			.stream()
			.filter((entry) -> entry.getValue().matches("[0-9]+[smh]"))
			.map(Map.Entry::getKey);
	}

	@Test
	void everyDurationIsATestedOne() {
		assertThat(durations()).hasSize(durations(LeaderElectionProperties.class));
	}

	private static int durations(Class<?> type) {
		return Arrays.stream(type.getRecordComponents())
			.map(RecordComponent::getType)
			.mapToInt((component) -> (component == Duration.class) ? 1
					: (component == Map.class || !component.isRecord()) ? 0 : durations(component))
			.sum()
				+ ((type == LeaderElectionProperties.class) ? durations(LeaderElectionProperties.Election.class) : 0);
	}

	@Test
	void drainMustNotTakeADay() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.drain-timeout", "25h",
					"spring.lifecycle.timeout-per-shutdown-phase", "2d"))
			.satisfies((ex) -> assertThat(ex.getAction()).contains("up to 24h"));
	}

	@Test
	void schedulesNeedPositiveDurations() {
		refused("leader-election.schedules.transaction-idle-timeout", "999us");
		refused("leader-election.schedules.transaction-idle-timeout", "25d")
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("It is longer than PostgreSQL supports."));
		refused("leader-election.schedules.max-clock-skew", "0s");
		refused("leader-election.schedules.within", "0s");
	}

	@Test
	void termEpochHasFourBits() {
		refused("leader-election.term-epoch", "16");
		refused("leader-election.term-epoch", "-1");
		assertThat(definitions("leader-election.term-epoch", "15").get("default").termEpoch()).isEqualTo(15);
	}

	@ParameterizedTest
	@ValueSource(strings = { "", "a b", "a/b", "-a", "büro", "a\n", "${x" })
	void nameMustBeFitForThreadsAndMetrics(String name) {
		refused("leader-election.name", name)
			.satisfies((ex) -> assertThat(ex.getAction()).contains("letters, digits, '.', '_' and '-'"));
	}

	@Test
	void nameOfFurtherElectionMustBeFitToo() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.elections[a b].candidate", "true"))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: leader-election.elections.a b");
				assertThat(ex.getDescription()).contains("Value: a b");
			});
	}

	@Test
	void furtherElectionMustNotHaveTheNameOfTheDefault() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.name", "reports",
					"leader-election.elections.reports.candidate", "true"))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: leader-election.elections.reports");
				assertThat(ex.getDescription()).contains("The default election has this name.");
			});
	}

	@Test
	void partitionsAreElectionsThatInherit() {
		ElectionDefinitions definitions = definitions("leader-election.partitions.part", "2", "leader-election.lock-id",
				"255", "leader-election.priority", "7");
		assertThat(definitions.all()).extracting(ElectionDefinition::election)
			.containsExactly("default", "part-0", "part-1");
		assertThat(definitions.get("part-1").settings().profile().priority()).isEqualTo(7);
		assertThat(definitions.get("part-1").lockId()).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "-1", "0", "1001" })
	void partitionsMustBeFromOneToAThousand(String number) {
		refused("leader-election.partitions.part", number)
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("from 1 to 1000"));
		assertThat(definitions("leader-election.partitions.part", "1").all()).hasSize(2);
		assertThat(definitions("leader-election.partitions.part", "1000").all()).hasSize(1001);
	}

	@Test
	void namesOfPartitionsMustBeFitToo() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.partitions[a b]", "2"))
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("Value: a b-0"));
	}

	@Test
	void partitionMustNotHaveTheNameOfAnotherElection() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.elections.part-1.priority", "3",
					"leader-election.partitions.part", "2"))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: leader-election.partitions.part");
				assertThat(ex.getDescription()).contains("There is another election 'part-1'.");
			});
	}

	@ParameterizedTest
	@ValueSource(strings = { "-1", "0" })
	void nodeMustBeAllowedToLead(String number) {
		refused("leader-election.max-led", number)
			.satisfies((ex) -> assertThat(ex.getAction()).contains("candidate=false"));
		assertThat(definitions("leader-election.max-led", "1").all()).hasSize(1);
	}

	@Test
	void twoElectionsMustNotHaveTheSameLock() {
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.lock-id", "255", "leader-election.elections.reports.lock-id",
					"0xFF"))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: leader-election.elections.reports.lock-id");
				assertThat(ex.getDescription()).contains("The election 'default' has the same lock");
			});
	}

	@Test
	void unreachableAfterMustBeLongerThanOrdinarySilence() {
		refused("leader-election.health.unreachable-after", "1s")
			.satisfies((ex) -> assertThat(ex.getDescription()).contains("only every 1s (election 'default')"));
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.lease-duration", "10m",
					"leader-election.health.unreachable-after", "1500ms"))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: leader-election.health.unreachable-after");
				assertThat(ex.getDescription()).contains("only every 1500ms");
			});
	}

	@Test
	void standbysMustBeFromOneToAThousand() {
		refused("leader-election.standbys", "0")
			.satisfies((ex) -> assertThat(ex.getAction()).contains("leader-election.candidate=false"));
		refused("leader-election.standbys", "1001");
		assertThat(definitions().get("default").settings().standbys()).isEqualTo(3);
		ElectionDefinitions definitions = definitions("leader-election.standbys", "2",
				"leader-election.elections.reports.standbys", "1", "leader-election.elections.sales.candidate",
				"false");
		assertThat(definitions.get("default").settings().standbys()).isEqualTo(2);
		assertThat(definitions.get("reports").settings().standbys()).isEqualTo(1);
		assertThat(definitions.get("sales").settings().standbys()).isEqualTo(2);
	}

	@Test
	void priorityMustBeFromZeroToAHundred() {
		refused("leader-election.priority", "-1");
		refused("leader-election.priority", "101");
		refused("leader-election.elections.reports.priority", "101");
		ElectionDefinitions definitions = definitions("leader-election.priority", "10",
				"leader-election.elections.reports.priority", "20", "leader-election.elections.sales.candidate",
				"false");
		assertThat(definitions.get("default").settings().profile().priority()).isEqualTo(10);
		assertThat(definitions.get("reports").settings().profile().priority()).isEqualTo(20);
		assertThat(definitions.get("sales").settings().profile().priority()).isEqualTo(10);
	}

	@Test
	void priorityHoldMustNeitherBeAMomentNorForEver() {
		refused("leader-election.priority-hold", "999ms");
		refused("leader-election.priority-hold", "25h");
		refused("leader-election.elections.reports.priority-hold", "0s");
		assertThat(definitions().get("default").settings().priorityHold()).isEqualTo(Duration.ofMinutes(1));
		assertThat(definitions("leader-election.priority-hold", "2m", "leader-election.elections.reports.priority-hold",
				"3m")
			.get("reports")
			.settings()
			.priorityHold()).isEqualTo(Duration.ofMinutes(3));
	}

	@Test
	void metadataMustBeShortAndPrintable() {
		refused("leader-election.metadata.url", "a\nb");
		refused("leader-election.metadata.zone", "Zürich");
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> definitions("leader-election.metadata.url", "x".repeat(62),
					"leader-election.metadata.zone", "x".repeat(58)))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: leader-election.metadata");
				assertThat(ex.getDescription())
					.contains("Reason: As lines of the form name=value, all entries together have 130 characters");
				assertThat(ex.getAction()).contains("at most 128 characters");
			});
		assertThat(definitions("leader-election.metadata.url", "x".repeat(60), "leader-election.metadata.zone",
				"x".repeat(58), "leader-election.elections.reports.candidate", "true")
			.all()).allSatisfy((definition) -> assertThat(definition.settings().profile().metadata()).hasSize(2));
	}

	@Test
	void nodeIdMustBePrintable() {
		refused("leader-election.node-id", "a\u0000b");
		refused("leader-election.node-id", "büro-1");
		refused("leader-election.node-id", "x".repeat(256));
		assertThat(definitions("leader-election.node-id", "Office 1").get("default").settings().nodeId())
			.isEqualTo("Office 1");
	}

	@Test
	void propertiesDoNotRevealThePassword() {
		assertThat(
				properties(environment("leader-election.datasource.url", "jdbc:postgresql://u:p4ss@h/db?password=w0rd",
						"leader-election.datasource.password", "s3cret"))
					.toString())
			.contains("jdbc:postgresql:(hidden)")
			.doesNotContain("s3cret", "p4ss", "w0rd");
	}

	private static ThrowableAssertAlternative<InvalidUsageException> refused(String property, String value) {
		return assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> definitions(property, value))
			.satisfies((ex) -> {
				assertThat(ex.getDescription()).contains("Property: " + property);
				assertThat(ex.getDescription()).endsWith(".");
				assertThat(ex.getAction()).endsWith(".");
			});
	}

	private static ElectionDefinitions definitions(String... namesAndValues) {
		StandardEnvironment environment = environment(namesAndValues);
		return ElectionDefinitions.of(properties(environment), environment);
	}

	private static LeaderElectionProperties properties(StandardEnvironment environment) {
		return Binder.get(environment).bindOrCreate("leader-election", LeaderElectionProperties.class);
	}

	private static StandardEnvironment environment(String... namesAndValues) {
		Map<String, Object> values = new LinkedHashMap<>();
		for (int i = 0; i < namesAndValues.length; i += 2) {
			values.put(namesAndValues[i], namesAndValues[i + 1]);
		}
		StandardEnvironment environment = new StandardEnvironment();
		String name = (namesAndValues.length > 0 && namesAndValues[0].startsWith("LEADER"))
				? StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME : "test";
		if (name.equals("test")) {
			environment.getPropertySources().addFirst(new MapPropertySource(name, values));
		}
		else {
			environment.getPropertySources().replace(name, new SystemEnvironmentPropertySource(name, values));
		}
		ConfigurationPropertySources.attach(environment);
		return environment;
	}

}
