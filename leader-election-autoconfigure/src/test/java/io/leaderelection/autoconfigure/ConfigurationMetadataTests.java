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
import java.io.InputStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import com.jayway.jsonpath.JsonPath;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the metadata that editors complete and explain properties with.
 */
class ConfigurationMetadataTests {

	private static final Map<String, Map<String, Object>> properties = new LinkedHashMap<>();

	@BeforeAll
	static void read() throws IOException {
		try (InputStream metadata = LeaderElectionProperties.class
			.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
			List<Map<String, Object>> list = JsonPath.parse(metadata).read("$.properties");
			list.forEach((property) -> properties.put((String) property.get("name"), property));
		}
	}

	@Test
	void listsExactlyWhatIsBuilt() {
		assertThat(properties).containsOnlyKeys("leader-election.allow-session-pooler", "leader-election.candidate",
				"leader-election.datasource.password", "leader-election.datasource.url",
				"leader-election.datasource.username", "leader-election.drain-timeout", "leader-election.elections",
				"leader-election.fail-fast", "leader-election.fencing", "leader-election.group",
				"leader-election.health.unreachable-after", "leader-election.lease-duration", "leader-election.lock-id",
				"leader-election.manual.leader", "leader-election.services.start-attempts",
				"leader-election.services.start-timeout", "leader-election.mode", "leader-election.name",
				"leader-election.node-id", "leader-election.resign-when-unhealthy.after",
				"leader-election.resign-when-unhealthy.group", "leader-election.takeover-delay",
				"leader-election.term-epoch", "management.endpoint.leadership.access",
				"management.endpoint.leadership.cache.time-to-live", "management.health.leadership.enabled");
	}

	@Test
	void describesEveryProperty() {
		assertThat(properties).allSatisfy((name, property) -> {
			String description = (String) property.get("description");
			assertThat(description).isNotBlank().endsWith(".").doesNotContain("\n", "  ", "{@", "<");
			assertThat(description).doesNotStartWith("The ").doesNotStartWith("A ");
			if (property.get("type").equals("java.lang.Boolean")) {
				assertThat(description).startsWith("Whether");
			}
		});
	}

	@Test
	void tellsTheDefaults() {
		assertThat(properties).allSatisfy((name, property) -> assertThat(property.get("defaultValue"))
			.isEqualTo(Map.<String, Object>ofEntries(Map.entry("leader-election.allow-session-pooler", false),
					Map.entry("leader-election.candidate", true), Map.entry("leader-election.drain-timeout", "20s"),
					Map.entry("leader-election.fail-fast", false), Map.entry("leader-election.fencing", "auto"),
					Map.entry("leader-election.health.unreachable-after", "30s"),
					Map.entry("leader-election.lease-duration", "5s"),
					Map.entry("leader-election.manual.leader", false),
					Map.entry("leader-election.services.start-attempts", 3),
					Map.entry("leader-election.services.start-timeout", "1m"),
					Map.entry("leader-election.mode", "postgresql"), Map.entry("leader-election.name", "default"),
					Map.entry("leader-election.resign-when-unhealthy.after", "30s"),
					Map.entry("leader-election.takeover-delay", "100ms"), Map.entry("leader-election.term-epoch", 0),
					Map.entry("management.endpoint.leadership.access", "read_only"),
					Map.entry("management.endpoint.leadership.cache.time-to-live", "0ms"),
					Map.entry("management.health.leadership.enabled", true))
				.get(name)));
	}

	@Test
	void furtherElectionsHaveTheOptionsThatTheDescriptionNames() {
		String description = (String) properties.get("leader-election.elections").get("description");
		for (var option : LeaderElectionProperties.Election.class.getRecordComponents()) {
			assertThat(description).contains(dashed(option.getName()));
		}
	}

	private static String dashed(String name) {
		return StringUtils.uncapitalize(name).replaceAll("([A-Z])", "-$1").toLowerCase();
	}

}
