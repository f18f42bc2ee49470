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
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

import com.jayway.jsonpath.DocumentContext;
import com.jayway.jsonpath.JsonPath;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Fencing;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.autoconfigure.LeaderElectionProperties.SchemaInitialization;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Store;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.util.ReflectionUtils;
import org.springframework.util.StringUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the metadata that editors complete and explain properties with. The names and
 * the defaults are compared with the {@linkplain io.leaderelection.PublicNamesTests list
 * of public names}.
 */
@Tag("ring1")
class ConfigurationMetadataTests {

	private static final Map<String, Map<String, Object>> properties = new LinkedHashMap<>();

	private static final Map<String, List<Map<String, Object>>> hints = new LinkedHashMap<>();

	private static final Map<String, Object> providers = new LinkedHashMap<>();

	@BeforeAll
	static void read() throws IOException {
		try (InputStream metadata = LeaderElectionProperties.class
			.getResourceAsStream("/META-INF/spring-configuration-metadata.json")) {
			DocumentContext json = JsonPath.parse(metadata);
			List<Map<String, Object>> list = json.read("$.properties");
			list.forEach((property) -> properties.put((String) property.get("name"), property));
			List<Map<String, Object>> hinted = json.read("$.hints");
			hinted.forEach((hint) -> {
				hints.put((String) hint.get("name"), values(hint));
				providers.put((String) hint.get("name"), hint.get("providers"));
			});
		}
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
	void tellsTheDefaultsThatAreBound() {
		Map<String, Object> bound = new LinkedHashMap<>();
		collect("leader-election",
				Binder.get(new StandardEnvironment()).bindOrCreate("leader-election", LeaderElectionProperties.class),
				bound);
		assertThat(properties.keySet()).containsAll(bound.keySet());
		assertThat(properties.keySet()).filteredOn((name) -> name.startsWith("leader-election."))
			.isSubsetOf(bound.keySet());
		bound.forEach((name, value) -> assertThat(converted(properties.get(name).get("defaultValue"), value)).as(name)
			.isEqualTo(value));
	}

	@Test
	void tellsTheDefaultAccess() {
		Access access = LeadershipEndpoint.class.getAnnotation(Endpoint.class).defaultAccess();
		assertThat(converted(properties.get("management.endpoint.leadership.access").get("defaultValue"), access))
			.isEqualTo(access);
	}

	@Test
	void explainsEveryValueOfAnEnum() {
		assertThat(hints).containsOnlyKeys("leader-election.fast-takeover", "leader-election.fencing",
				"leader-election.initialize-schema", "leader-election.mode", "leader-election.store",
				"leader-election.resign-when-unhealthy.group", "leader-election.elections.keys",
				"leader-election.integration.roles.keys", "leader-election.metadata.keys",
				"leader-election.partitions.keys");
		assertThat(values("leader-election.fast-takeover")).isEqualTo(names(FastTakeover.values()));
		assertThat(values("leader-election.fencing")).isEqualTo(names(Fencing.values()));
		assertThat(values("leader-election.store")).isEqualTo(names(Store.values()));
		assertThat(values("leader-election.initialize-schema")).isEqualTo(names(SchemaInitialization.values()));
		assertThat(values("leader-election.mode")).isEqualTo(names(Mode.values()));
		assertThat(hints).allSatisfy((name, values) -> assertThat(values)
			.allSatisfy((value) -> assertThat((String) value.get("description")).endsWith(".")));
	}

	@Test
	void proposesKeysOfEveryMapAndAcceptsAnyOther() {
		assertThat(properties.values())
			.filteredOn((property) -> property.get("type").toString().startsWith("java.util.Map"))
			.hasSize(4)
			.allSatisfy(
					(property) -> assertThat(providers.get(property.get("name") + ".keys")).asString().contains("any"));
		assertThat(values("leader-election.metadata.keys")).containsExactly("url", "zone");
		assertThat(values("leader-election.integration.roles.keys"))
			.containsExactly(properties.get("leader-election.name").get("defaultValue"));
	}

	@Test
	void completesNoFewerEnumsThanThereAre() {
		assertThat(Arrays.stream(LeaderElectionProperties.class.getRecordComponents())
			.filter((component) -> component.getType().isEnum())
			.map((component) -> "leader-election." + dashed(component.getName()))).isSubsetOf(hints.keySet());
	}

	@Test
	void furtherElectionsHaveTheOptionsThatTheDescriptionNames() {
		String description = (String) properties.get("leader-election.elections").get("description");
		for (var option : LeaderElectionProperties.Election.class.getRecordComponents()) {
			assertThat(description).contains(dashed(option.getName()));
		}
	}

	private static void collect(String prefix, Object record, Map<String, Object> values) {
		for (RecordComponent component : record.getClass().getRecordComponents()) {
			Object value = ReflectionUtils.invokeMethod(component.getAccessor(), record);
			String name = prefix + "." + dashed(component.getName());
			if (value instanceof Record nested) {
				collect(name, nested, values);
			}
			else {
				// No further elections are none that a default could be given for
				values.put(name, (value instanceof Map<?, ?> map && map.isEmpty()) ? null : value);
			}
		}
	}

	@SuppressWarnings("unchecked")
	private static List<Map<String, Object>> values(Map<String, Object> hint) {
		return (List<Map<String, Object>>) hint.getOrDefault("values", List.of());
	}

	private static List<Object> values(String name) {
		return hints.get(name).stream().map((value) -> value.get("value")).toList();
	}

	private static List<Object> names(Enum<?>... constants) {
		return Arrays.stream(constants)
			.<Object>map((constant) -> constant.name().toLowerCase(Locale.ROOT).replace('_', '-'))
			.toList();
	}

	private static Object converted(Object defaultValue, Object value) {
		return (defaultValue != null && value != null)
				? ApplicationConversionService.getSharedInstance().convert(defaultValue, value.getClass())
				: defaultValue;
	}

	private static String dashed(String name) {
		return StringUtils.uncapitalize(name).replaceAll("([A-Z])", "-$1").toLowerCase();
	}

}
