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

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Fencing;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.autoconfigure.health.ResignWhenUnhealthyAutoConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.availability.ApplicationAvailabilityAutoConfiguration;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.core.env.MapPropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for properties that are spelt in other ways.
 */
@Tag("ring1")
class RelaxedBindingTests {

	static final Map<String, String> ALL = new LinkedHashMap<>();

	static {
		ALL.put("leader-election.mode", "ALWAYS");
		ALL.put("leader-election.store", "table");
		ALL.put("leader-election.table-name", "infra.leases");
		ALL.put("leader-election.initialize-schema", "ALWAYS");
		ALL.put("leader-election.name", "main");
		ALL.put("leader-election.group", "shop");
		ALL.put("leader-election.lock-id", "0xFF");
		ALL.put("leader-election.node-id", "node-1");
		ALL.put("leader-election.lease-duration", "7s");
		ALL.put("leader-election.takeover-delay", "1s");
		ALL.put("leader-election.fast-takeover", "false");
		ALL.put("leader-election.drain-timeout", "8s");
		ALL.put("leader-election.candidate", "false");
		ALL.put("leader-election.standbys", "2");
		ALL.put("leader-election.metadata.url", "http://h");
		ALL.put("leader-election.priority", "10");
		ALL.put("leader-election.priority-hold", "3m");
		ALL.put("leader-election.spread", "true");
		ALL.put("leader-election.spread-hold", "12s");
		ALL.put("leader-election.max-led", "4");
		ALL.put("leader-election.term-epoch", "3");
		ALL.put("leader-election.fail-fast", "true");
		ALL.put("leader-election.allow-session-pooler", "true");
		ALL.put("leader-election.fencing", "REQUIRED");
		ALL.put("leader-election.services.start-attempts", "9");
		ALL.put("leader-election.services.start-timeout", "3m");
		ALL.put("leader-election.health.unreachable-after", "1m");
		ALL.put("leader-election.resign-when-unhealthy.group", "readiness");
		ALL.put("leader-election.resign-when-unhealthy.after", "2m");
		ALL.put("leader-election.schedules.max-clock-skew", "2m");
		ALL.put("leader-election.schedules.transaction-idle-timeout", "4m");
		ALL.put("leader-election.schedules.within", "6h");
		ALL.put("leader-election.observation.enabled", "true");
		ALL.put("leader-election.mdc.enabled", "true");
		ALL.put("leader-election.integration.enabled", "false");
		ALL.put("leader-election.integration.roles.reports", "orders,invoices");
		ALL.put("leader-election.datasource.url", "jdbc:postgresql://h/db");
		ALL.put("leader-election.datasource.username", "u");
		ALL.put("leader-election.datasource.password", "p");
		ALL.put("leader-election.elections.reports.lock-id", "0xFE");
		ALL.put("leader-election.elections.reports.lease-duration", "6s");
		ALL.put("leader-election.elections.reports.takeover-delay", "2s");
		ALL.put("leader-election.elections.reports.drain-timeout", "9s");
		ALL.put("leader-election.elections.reports.candidate", "true");
		ALL.put("leader-election.elections.reports.standbys", "5");
		ALL.put("leader-election.elections.reports.priority", "20");
		ALL.put("leader-election.elections.reports.priority-hold", "4m");
		ALL.put("leader-election.elections.reports.term-epoch", "4");
		ALL.put("leader-election.partitions.part", "16");
	}

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(ApplicationAvailabilityAutoConfiguration.class,
				LeaderElectionAutoConfiguration.class, ResignWhenUnhealthyAutoConfiguration.class));

	@Test
	void everyPropertyMayBeAnEnvironmentVariable() {
		assertThat(ALL.keySet())
			.containsExactlyInAnyOrderElementsOf(names("leader-election", LeaderElectionProperties.class).toList());
		LeaderElectionProperties expected = bind(new MapPropertySource("test", new LinkedHashMap<>(ALL)));
		assertThat(bind(environment(ALL))).isEqualTo(expected);
		ALL.forEach((name, value) -> {
			Map<String, String> without = new LinkedHashMap<>(ALL);
			without.remove(name);
			assertThat(bind(environment(without))).as(name).isNotEqualTo(expected);
		});
	}

	@Test
	void environmentVariablesMakeElections() {
		run(Map.of("leader-election.mode", "always", "leader-election.elections.reports.lease-duration", "7s"))
			.run((context) -> {
				assertThat(context.getBean(LeaderElectors.class).get("reports").isLeader()).isTrue();
				assertThat(context.getBean(LeaderElectionProperties.class).elections().get("reports").leaseDuration())
					.hasSeconds(7);
			});
	}

	@Test
	void environmentVariableTurnsResignationWhenUnhealthyOn() {
		run(Map.of("leader-election.mode", "always", "leader-election.resign-when-unhealthy.group", "readiness"))
			.run((context) -> assertThat(context).hasBean("leadershipHealthMonitor"));
		run(Map.of("leader-election.mode", "always", "leader-election.resign-when-unhealthy.group", ""))
			.run((context) -> assertThat(context).hasSingleBean(LeaderElector.class)
				.doesNotHaveBean("leadershipHealthMonitor"));
	}

	@Test
	void environmentVariableSetsTheMode() {
		run(Map.of("leader-election.mode", "ALWAYS")).run(
				(context) -> assertThat(context.getBean(LeaderElectionProperties.class).mode()).isEqualTo(Mode.ALWAYS));
	}

	@Test
	void offInYamlIsNoFencing() {
		// A boolean by then
		assertThat(bind(new MapPropertySource("test", Map.of("leader-election.fencing", false))).fencing())
			.isEqualTo(Fencing.OFF);
	}

	private static Stream<String> names(String prefix, Class<?> type) {
		return Arrays.stream(type.getRecordComponents()).flatMap((component) -> {
			String name = prefix + "." + component.getName().replaceAll("([A-Z])", "-$1").toLowerCase(Locale.ROOT);
			if (component.getName().equals("roles")) {
				return Stream.of(name + ".reports");
			}
			if (component.getName().equals("partitions")) {
				return Stream.of(name + ".part");
			}
			if (component.getName().equals("metadata")) {
				return Stream.of(name + ".url");
			}
			if (component.getType() == Map.class) {
				return names(name + ".reports", LeaderElectionProperties.Election.class);
			}
			return component.getType().isRecord() ? names(name, component.getType()) : Stream.of(name);
		});
	}

	private ApplicationContextRunner run(Map<String, String> properties) {
		return this.contextRunner.withInitializer(
				(context) -> context.getEnvironment().getPropertySources().addFirst(environment(properties)));
	}

	private static PropertySource<?> environment(Map<String, String> properties) {
		Map<String, Object> variables = new LinkedHashMap<>();
		properties.forEach((name, value) -> variables
			.put(name.replace("-", "").replace('.', '_').toUpperCase(Locale.ROOT), value));
		return new SystemEnvironmentPropertySource(
				"test-" + StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, variables);
	}

	private static LeaderElectionProperties bind(PropertySource<?> source) {
		StandardEnvironment environment = new StandardEnvironment();
		environment.getPropertySources().addFirst(source);
		ConfigurationPropertySources.attach(environment);
		return Binder.get(environment).bindOrCreate("leader-election", LeaderElectionProperties.class);
	}

}
