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

package io.leaderelection;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import com.jayway.jsonpath.JsonPath;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.LeadershipDescriptor;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint.ResignationDescriptor;
import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.ElectionStore.Description;
import io.leaderelection.engine.LogContext;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.observation.LeaderWorkObservationDocumentation;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import io.micrometer.common.docs.KeyName;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.test.util.ReflectionTestUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.willReturn;
import static org.mockito.Mockito.mock;

/**
 * Tests that the names that users write into configuration, queries, alerts and searches
 * of logs do not change by accident.
 */
@Tag("ring1")
class PublicNamesTests {

	private static final Path NAMES = Path.of("src/test/resources/public-names.txt");

	private static final Path PRESENT = Path.of("target/public-names.txt");

	private static final Pattern CODE = Pattern.compile("`([^`]+)`");

	/** Tags whose values are names, too, if the meter has several of them. */
	private static final Set<String> ENUMERATIONS = Set.of("kind", "reason", "result", "outcome");

	@Test
	void haveNotChanged() throws IOException {
		List<String> present = new ArrayList<>();
		add(present, "Properties and their defaults", properties());
		add(present, "Properties of leader-election.elections.<name>",
				Arrays.stream(LeaderElectionProperties.Election.class.getRecordComponents())
					.map((component) -> component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT)));
		add(present, "Meters and their tags", meters());
		add(present, "Keys of the observation leader.election.work", observation());
		add(present, "Keys of the MDC", mdc());
		add(present, "Endpoint, read", fields("", LeadershipDescriptor.class));
		add(present, "Endpoint, write", fields("", ResignationDescriptor.class));
		add(present, "Health", health());
		add(present, "Info", info());
		add(present, "Log messages", logMessages());
		Files.createDirectories(PRESENT.getParent());
		Files.write(PRESENT, present);
		List<String> expected = Files.readAllLines(NAMES);
		List<String> changes = new ArrayList<>();
		present.stream().filter((name) -> !expected.contains(name)).forEach((name) -> changes.add("new: " + name));
		expected.stream().filter((name) -> !present.contains(name)).forEach((name) -> changes.add("gone: " + name));
		String advice = """
				Public names have changed, which configurations, dashboards, alerts, clients of the endpoint or searches
				of logs may depend on. If this is intended, copy %s to %s, and describe it in CHANGELOG.md"""
			.formatted(PRESENT, NAMES);
		assertThat(changes).as(advice).isEmpty();
		assertThat(present).as(advice).isEqualTo(expected);
	}

	private static void add(List<String> present, String title, Stream<String> names) {
		if (!present.isEmpty()) {
			present.add("");
		}
		present.add("# " + title);
		List<String> sorted = names.distinct().sorted().toList();
		assertThat(sorted).as(title).isNotEmpty();
		present.addAll(sorted);
	}

	private static Stream<String> properties() throws IOException {
		try (InputStream metadata = LeaderElectionProperties.class
			.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
			List<Map<String, Object>> list = JsonPath.parse(metadata).read("$.properties");
			return list.stream().map((property) -> {
				Object value = property.get("defaultValue");
				return property.get("name") + ((value != null) ? "=" + value : "");
			});
		}
	}

	private static Stream<String> meters() {
		Map<String, Map<String, Set<String>>> meters = new TreeMap<>();
		new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withBean(Jobs.class)
			.withPropertyValues("leader-election.mode=always", "leader-election.observation.enabled=true",
					"leader-election.spread=true")
			.run((context) -> {
				context.getBean(Jobs.class).job();
				for (Meter meter : context.getBean(MeterRegistry.class).getMeters()) {
					if (meter.getId().getName().startsWith("leader.")) {
						Map<String, Set<String>> tags = meters.computeIfAbsent(
								meter.getId().getName() + " " + meter.getId().getType().name().toLowerCase(Locale.ROOT),
								(name) -> new TreeMap<>());
						meter.getId()
							.getTags()
							.forEach((tag) -> tags.computeIfAbsent(tag.getKey(), (key) -> new TreeSet<>())
								.add(tag.getValue()));
					}
				}
			});
		return meters.entrySet().stream().map((meter) -> meter.getKey() + tags(meter.getValue()));
	}

	private static String tags(Map<String, Set<String>> tags) {
		StringBuilder text = new StringBuilder();
		tags.forEach((key, values) -> text.append(' ')
			.append(key)
			.append((ENUMERATIONS.contains(key) && values.size() > 1) ? "=" + String.join("|", values) : ""));
		return text.toString();
	}

	private static Stream<String> observation() {
		LeaderWorkObservationDocumentation work = LeaderWorkObservationDocumentation.LEADER_WORK;
		return Stream.concat(keys("low", work.getLowCardinalityKeyNames()),
				keys("high", work.getHighCardinalityKeyNames()));
	}

	private static Stream<String> keys(String cardinality, KeyName[] keys) {
		return Arrays.stream(keys).map((key) -> key.asString() + " (" + cardinality + ")");
	}

	private static Stream<String> mdc() {
		return Arrays.stream(LogContext.class.getDeclaredFields())
			.filter((field) -> field.getType() == String.class)
			.map(Field::getName)
			.map((name) -> (String) ReflectionTestUtils.getField(LogContext.class, name));
	}

	/**
	 * The fields of a record in JSON, as paths.
	 */
	private static Stream<String> fields(String prefix, Class<?> type) {
		return Arrays.stream(type.getRecordComponents()).flatMap((component) -> {
			String path = prefix + component.getName();
			return Stream.concat(Stream.of(path), nested(path, component));
		});
	}

	private static Stream<String> nested(String path, RecordComponent component) {
		if (component.getGenericType() instanceof ParameterizedType generic) {
			Type[] arguments = generic.getActualTypeArguments();
			return (arguments[arguments.length - 1] instanceof Class<?> element && element.isRecord())
					? fields(path + ".*.", element) : Stream.empty();
		}
		return component.getType().isRecord() ? fields(path + ".", component.getType()) : Stream.empty();
	}

	private static Stream<String> health() {
		Term term = new Term(0, 1, 756);
		ElectionStatus everything = new ElectionStatus("default", Role.LEADER, "node", term, Instant.EPOCH, "node",
				"session", term, Instant.EPOCH, NodeProfile.DEFAULT, "role", List.of("node"), 0, List.of(),
				Instant.EPOCH, Duration.ZERO, Duration.ofSeconds(5), Duration.ofSeconds(3), "fast", true, "other",
				"problem", false);
		DefaultLeaderElector elector = mock(DefaultLeaderElector.class);
		given(elector.status()).willReturn(everything);
		given(elector.describeStore()).willReturn(new Description("advisory-lock", "key", "lock", "table", "database"));
		DefaultLeaderElectors electors = mock(DefaultLeaderElectors.class);
		willReturn(List.of(elector)).given(electors).all();
		Map<String, Object> details = new LeadershipHealthIndicator("shop", electors, () -> true,
				Duration.ofSeconds(30), () -> Map.of("transactionManager", "fenced"),
				() -> new SpreadStatus(16, 4, "problem"))
			.health()
			.getDetails();
		Map<?, ?> election = (Map<?, ?>) ((Map<?, ?>) details.get("elections")).get("default");
		Map<?, ?> spread = (Map<?, ?>) details.get("spread");
		return Stream
			.of(details.keySet().stream(), election.keySet().stream().map((name) -> "elections.*." + name),
					spread.keySet().stream().map((name) -> "spread." + name))
			.flatMap((names) -> names);
	}

	private static Stream<String> info() {
		List<String> names = new ArrayList<>();
		new ApplicationContextRunner().withUserConfiguration(Application.class)
			.withPropertyValues("leader-election.mode=always", "management.info.leadership.enabled=true")
			.run((context) -> {
				Info.Builder info = new Info.Builder();
				context.getBean("leadershipInfoContributor", InfoContributor.class).contribute(info);
				Map<?, ?> elections = (Map<?, ?>) info.build().get("leadership", Map.class).get("elections");
				((Map<?, ?>) elections.get("default")).keySet()
					.forEach((name) -> names.add("leadership.elections.*." + name));
			});
		return names.stream();
	}

	/**
	 * What the document on log messages lists. Another test verifies that it is logged.
	 */
	private static Stream<String> logMessages() throws IOException {
		List<String> messages = new ArrayList<>();
		String level = "INFO";
		for (String line : Files.readAllLines(Path.of("../docs/reference/log-messages.md"))) {
			if (line.startsWith("## ")) {
				level = line.substring(3).replace("`", "");
			}
			else if (line.contains(" (election 'default'") && messages.size() < 2) {
				// The example of what each node logs at start
				messages.add(level + " " + line.substring(0, line.indexOf(" (")));
			}
			else if (line.startsWith("| `")) {
				String prefix = level + " ";
				CODE.matcher(line.substring(0, line.indexOf(" | ")))
					.results()
					.forEach((message) -> messages.add(prefix + message.group(1)));
			}
		}
		return messages.stream();
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration(exclude = DataSourceAutoConfiguration.class)
	static class Application {

	}

	static class Jobs {

		@LeaderOnly
		void job() {
		}

		@LeaderOnly
		@DurableSchedule(name = "report")
		@Scheduled(cron = "0 0 2 * * *")
		void report() {
		}

	}

}
