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
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import org.assertj.core.api.AbstractStringAssert;
import org.jspecify.annotations.Nullable;
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

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.assertj.core.api.Assertions.tuple;

/**
 * Tests for {@link ElectionDefinitions}.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class ElectionDefinitionsTests {

	private static final String PHASE = "spring.lifecycle.timeout-per-shutdown-phase=";

	@Test
	void hasTheDocumentedDefaults() {
		ElectionDefinition definition = definitions().get("default");
		assertThat(definition.settings().lease()).hasSeconds(5);
		assertThat(definition.settings().takeoverDelay()).hasMillis(250);
		assertThat(definition.settings().fastTakeover()).isEqualTo(FastTakeover.AUTO);
		assertThat(definition.settings().drainTimeout()).hasSeconds(20);
		assertThat(definition.settings().candidate()).isTrue();
		assertThat(definition.settings().standbys()).isEqualTo(3);
		assertThat(definition.settings().priorityHold()).hasMinutes(1);
		assertThat(definition.lockId()).isNull();
		assertThat(definition.termEpoch()).isZero();
	}

	@Test
	void furtherElectionsInheritWhatTheyDoNotSet() {
		ElectionDefinitions definitions = definitions("fast-takeover=false", "standbys=2", "priority=10",
				"priority-hold=2m", "elections.reports.lease-duration=7s", "elections.reports.standbys=1",
				"elections.reports.priority=20", "elections.reports.priority-hold=3m",
				"elections.sales.candidate=false");
		assertThat(definitions.all()).extracting(ElectionDefinition::settings)
			.extracting(ElectionSettings::election, ElectionSettings::fastTakeover, ElectionSettings::standbys,
					(settings) -> settings.profile().priority(), ElectionSettings::priorityHold)
			.containsExactly(tuple("default", FastTakeover.FALSE, 2, 10, Duration.ofMinutes(2)),
					tuple("reports", FastTakeover.FALSE, 1, 20, Duration.ofMinutes(3)),
					tuple("sales", FastTakeover.FALSE, 2, 10, Duration.ofMinutes(2)));
		assertThat(definitions.get("reports").settings().nodeId()).isNotEmpty()
			.isEqualTo(definitions.get("default").settings().nodeId());
	}

	@ParameterizedTest
	@CsvSource({ "mode=postgresql, 0", "spread=true, 1000000", "max-led=4, -4", "spread=true;max-led=4, 4",
			"spread=true;max-led=2147483647, 1000000", "mode=always;max-led=4, 0" })
	void capacityIsNegativeWithoutSpread(String properties, int capacity) {
		assertThat(definitions(("store=table;" + properties).split(";")).get("default").settings().profile().capacity())
			.isEqualTo(capacity);
	}

	@Test
	void furtherElectionsReplaceWhatTheySet() {
		ElectionDefinitions definitions = definitions("node-id=node-a", "lock-id=42", "lease-duration=8s",
				"takeover-delay=300ms", "drain-timeout=7s", "term-epoch=2", "candidate=false",
				"elections.reports.lease-duration=4s", "elections.reports.candidate=true");
		ElectionDefinition reports = definitions.get("reports");
		assertThat(definitions.get("default").lockId()).isEqualTo(42);
		assertThat(reports.lockId()).isNull();
		assertThat(reports.termEpoch()).isEqualTo(2);
		assertThat(reports.settings().nodeId()).isEqualTo("node-a");
		assertThat(reports.settings().lease()).hasSeconds(4);
		assertThat(reports.settings().takeoverDelay()).hasMillis(300);
		assertThat(reports.settings().drainTimeout()).hasSeconds(7);
		assertThat(reports.settings().candidate()).isTrue();
		assertThat(definitions.get("default").settings().candidate()).isFalse();
	}

	@Test
	void blankOptionalValuesCountAsNotSet() {
		ElectionDefinition definition = definitions("lock-id=", "node-id= ").get("default");
		assertThat(definition.lockId()).isNull();
		assertThat(definition.settings().nodeId()).isNotBlank();
	}

	@Test
	void longestStopIsThatOfAnyElection() {
		assertThat(definitions("elections.b.drain-timeout=25s").longestStop()).hasSeconds(28);
		assertThat(definitions("drain-timeout=26999ms").longestStop()).hasMillis(29999);
		assertThat(definitions("drain-timeout=50s", PHASE + "1m").longestStop()).hasSeconds(53);
	}

	@Test
	void partitionsAreElectionsThatInherit() {
		ElectionDefinitions definitions = definitions("partitions.part=2", "lock-id=255", "priority=7");
		assertThat(definitions.all()).extracting(ElectionDefinition::election)
			.containsExactly("default", "part-0", "part-1");
		assertThat(definitions.get("part-1").settings().profile().priority()).isEqualTo(7);
		assertThat(definitions.get("part-1").lockId()).isNull();
		assertThat(definitions("partitions.part=1").all()).hasSize(2);
		assertThat(definitions("partitions.part=1000").all()).hasSize(1001);
	}

	/**
	 * The properties, the one that is refused, and what the description and, after an
	 * arrow, the action contain.
	 */
	@ParameterizedTest
	@CsvSource(delimiter = '|', ignoreLeadingAndTrailingWhitespace = true,
			textBlock = """
							lease-duration=499ms | lease-duration | Value: 499ms; every pause of the JVM => from 500ms to 1h; with its unit
							lease-duration=5 | lease-duration | Value: 5ms
							lease-duration=2h | lease-duration | No node would lead for that long
							takeover-delay=-1s | takeover-delay | Value: -1s; It is negative.
							drain-timeout=-20ms | drain-timeout | It is negative.
							takeover-delay=11s | takeover-delay | After one lease (5s in the election 'default'); \
							only leaves the application without a leader => at most twice the duration of the lease
							takeover-delay=5s, elections.reports.lease-duration=1s | takeover-delay | 1s in the election 'reports'
							elections.reports.lease-duration=10ms | elections.reports.lease-duration |
							elections.reports.takeover-delay=1m | elections.reports.takeover-delay |
							elections.reports.drain-timeout=1m | elections.reports.drain-timeout |
							elections.reports.term-epoch=16 | elections.reports.term-epoch |
							elections.reports.lock-id=x | elections.reports.lock-id |
							drain-timeout=25h, spring.lifecycle.timeout-per-shutdown-phase=2d | drain-timeout | => up to 24h
							services.start-attempts=0 | services.start-attempts |
							services.start-timeout=0s | services.start-timeout |
							services.start-timeout=25h | services.start-timeout |
							resign-when-unhealthy.after=-1s | resign-when-unhealthy.after | It is negative. => up to 24h
							resign-when-unhealthy.after=25h | resign-when-unhealthy.after | => up to 24h
							resign-when-unhealthy.after=200000d | resign-when-unhealthy.after | => up to 24h
							resign-when-unhealthy.after=106751991167d | resign-when-unhealthy.after | => up to 24h
							resign-when-unhealthy.after=PT2562047788015215H | resign-when-unhealthy.after | => up to 24h
							schedules.transaction-idle-timeout=999us | schedules.transaction-idle-timeout |
							schedules.transaction-idle-timeout=25d | schedules.transaction-idle-timeout | \
							It is longer than PostgreSQL supports.
							schedules.transaction-idle-timeout=0s | schedules.transaction-idle-timeout | It is not positive
					schedules.max-clock-skew=0s | schedules.max-clock-skew | It is not positive
							schedules.within=0s | schedules.within |
							term-epoch=16 | term-epoch |
							term-epoch=-1 | term-epoch |
							name= | name | => letters, digits, '.', '_' and '-'
							name=a b | name | => letters, digits, '.', '_' and '-'
							name=a/b | name | => letters, digits, '.', '_' and '-'
							name=-a | name | => letters, digits, '.', '_' and '-'
							name=büro | name | => letters, digits, '.', '_' and '-'
							name=a⏎ | name | => letters, digits, '.', '_' and '-'
							name=${x | name | => letters, digits, '.', '_' and '-'
							elections[a b].candidate=true | elections.a b | Value: a b
							name=reports, elections.reports.candidate=true | elections.reports | The default election has this name.
							partitions.part=-1 | partitions.part | from 1 to 1000
							partitions.part=0 | partitions.part | from 1 to 1000
							partitions.part=1001 | partitions.part | from 1 to 1000
							partitions[a b]=2 | partitions | Value: a b-0
							elections.part-1.priority=3, partitions.part=2 | partitions.part | There is another election 'part-1'.
							max-led=-1 | max-led | => candidate=false
							max-led=0 | max-led | => candidate=false
							spread=true | spread | With the advisory lock => leader-election.store=table; leader-election.initialize-schema=always
							spread-hold=9s | spread-hold | whether nodes still change => from 10s to 24h
							spread-hold=25h | spread-hold |
							lock-id=255, elections.reports.lock-id=0xFF | elections.reports.lock-id | \
							The election 'default' has the same lock
							health.unreachable-after=1s | health.unreachable-after | only every 1s (election 'default')
							lease-duration=10m, health.unreachable-after=1500ms | health.unreachable-after | only every 1500ms
							standbys=0 | standbys | => leader-election.candidate=false
							standbys=1001 | standbys |
							priority=-1 | priority |
							priority=101 | priority |
							elections.reports.priority=101 | elections.reports.priority |
							priority-hold=999ms | priority-hold |
							priority-hold=25h | priority-hold |
							elections.reports.priority-hold=0s | elections.reports.priority-hold |
							metadata.url=a⏎b | metadata.url |
							metadata.zone=Zürich | metadata.zone |
							node-id=a␀b | node-id |
							node-id=büro-1 | node-id |
							""")
	void invalidValueIsRefused(String properties, String refused, @Nullable String texts) {
		String[] parts = (texts != null) ? texts.split("\\s*=>\\s*") : new String[] { "" };
		AbstractStringAssert<?> action = assertRefused(refused,
				properties.replace('⏎', '\n').replace('␀', '\0').split(",\\s+"), parts[0].split(";\\s+"));
		if (parts.length > 1) {
			action.contains(parts[1].split(";\\s+"));
		}
	}

	@Test
	void drainMustEndBeforeThePhaseDoes() {
		assertRefused("drain-timeout", new String[] { "drain-timeout=27s" }, "2s of grace", "1s for a database",
				"not below the 30s of spring.lifecycle.timeout-per-shutdown-phase")
			.isEqualTo("Set it below 27s, or raise spring.lifecycle.timeout-per-shutdown-phase.");
		assertRefused("elections.reports.drain-timeout",
				new String[] { "elections.reports.drain-timeout=1s", PHASE + "1s" }, "not below the 1s")
			.isEqualTo("Raise spring.lifecycle.timeout-per-shutdown-phase.");
	}

	@Test
	void longValueIsRefused() {
		assertRefused("node-id", new String[] { "node-id=" + "x".repeat(256) }, "node-id");
		assertRefused("metadata", new String[] { "metadata.url=" + "x".repeat(62), "metadata.zone=" + "x".repeat(58) },
				"Reason: As lines of the form name=value, all entries together have 130 characters")
			.contains("at most 128 characters");
		assertThat(definitions("metadata.url=" + "x".repeat(60), "metadata.zone=" + "x".repeat(58),
				"elections.reports.candidate=true")
			.all()).allSatisfy((definition) -> assertThat(definition.settings().profile().metadata()).hasSize(2));
	}

	@ParameterizedTest
	@ValueSource(strings = { "services.start-timeout=24h", "services.start-attempts=1",
			"resign-when-unhealthy.after=24h", "resign-when-unhealthy.after=0", "max-led=1", "spread-hold=24h" })
	void limitIsAccepted(String property) {
		assertThat(definitions(property).all()).hasSize(1);
	}

	@Test
	void limitsAreSettings() {
		ElectionDefinition definition = definitions("lease-duration=500ms", "takeover-delay=1s", "term-epoch=15",
				"node-id=Office 1")
			.get("default");
		assertThat(definition.settings().lease()).hasMillis(500);
		assertThat(definition.settings().takeoverDelay()).hasSeconds(1);
		assertThat(definition.termEpoch()).isEqualTo(15);
		assertThat(definition.settings().nodeId()).isEqualTo("Office 1");
	}

	@ParameterizedTest
	@CsvSource({ "30s, PT20S, false", "20s, PT16S, false", "5s, PT1S, false", "4s, PT1S, true", "1s, PT1S, true" })
	void drainThatIsNotSetFitsIntoThePhase(String phase, Duration drain, boolean warned, CapturedOutput output) {
		assertThat(definitions(PHASE + phase).get("default").settings().drainTimeout()).isEqualTo(drain);
		assertThat(output.toString().contains("may exit before a hand-over is complete, which takes up to 4s"))
			.isEqualTo(warned);
		assertThat(definitions("mode=always", "drain-timeout=1m", PHASE + phase).longestStop()).hasSeconds(63);
	}

	@ParameterizedTest
	@MethodSource("durations")
	void noDurationIsTooLongOrTooShortForArithmetic(String property) {
		// With milliseconds too, which do not fit into a long
		for (String value : List.of("9223372036854775807s", "PT9223372036854775807.999S", "0s", "-1s", "-1ns",
				"-9223372036854775808s", "PT-9223372036854775807.001S")) {
			try {
				ElectionDefinitions definitions = definitions(property + "=" + value, PHASE + "9223372036854775807ms");
				for (ElectionDefinition definition : definitions.all()) {
					assertThat(definitions.longestStop().toNanos()).isPositive();
					assertThat(definition.settings().lease().toNanos()).isPositive();
					assertThat(definition.settings().takeoverDelay().toNanos()).isNotNegative();
					assertThat(definition.settings().priorityHold().toNanos()).isPositive();
				}
			}
			catch (InvalidUsageException ex) {
				assertThat(ex.getDescription()).as(value).contains("Property: leader-election." + property);
			}
		}
	}

	static Stream<String> durations() {
		return RelaxedBindingTests.ALL.entrySet()
			.stream()
			.filter((entry) -> entry.getValue().matches("[0-9]+[smh]"))
			.map((entry) -> entry.getKey().substring("leader-election.".length()));
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
	void propertiesDoNotRevealThePassword() {
		assertThat(properties(
				environment("datasource.url=jdbc:postgresql://u:p4ss@h/db?password=w0rd", "datasource.password=s3cret"))
			.toString()).contains("jdbc:postgresql:(hidden)").doesNotContain("s3cret", "p4ss", "w0rd");
	}

	/**
	 * Return what can be asserted about the action.
	 */
	private static AbstractStringAssert<?> assertRefused(String refused, String[] properties, String... description) {
		InvalidUsageException failure = catchThrowableOfType(InvalidUsageException.class,
				() -> definitions(properties));
		assertThat(failure).isNotNull();
		assertThat(failure.getDescription()).contains("Property: leader-election." + refused)
			.contains(description)
			.endsWith(".");
		return assertThat(failure.getAction()).endsWith(".");
	}

	private static ElectionDefinitions definitions(String... properties) {
		StandardEnvironment environment = environment(properties);
		ConfigurationPropertySources.attach(environment);
		return ElectionDefinitions.of(properties(environment), environment);
	}

	private static LeaderElectionProperties properties(StandardEnvironment environment) {
		return Binder.get(environment).bindOrCreate("leader-election", LeaderElectionProperties.class);
	}

	/**
	 * Return properties, of the library unless they are of Spring.
	 */
	private static StandardEnvironment environment(String... properties) {
		Map<String, Object> values = new LinkedHashMap<>();
		for (String property : properties) {
			String[] parts = property.split("=", 2);
			values.put(parts[0].startsWith("spring.") ? parts[0] : "leader-election." + parts[0], parts[1]);
		}
		StandardEnvironment environment = new StandardEnvironment();
		environment.getPropertySources().addFirst(new MapPropertySource("test", values));
		return environment;
	}

}
