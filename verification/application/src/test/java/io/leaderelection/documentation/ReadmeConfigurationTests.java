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

package io.leaderelection.documentation;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.documentation.Markdown.CodeBlock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.context.properties.bind.BindHandler;
import org.springframework.boot.context.properties.bind.Bindable;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.PropertySourcesPlaceholdersResolver;
import org.springframework.boot.context.properties.bind.UnboundConfigurationPropertiesException;
import org.springframework.boot.context.properties.bind.handler.NoUnboundElementsBindHandler;
import org.springframework.boot.context.properties.source.ConfigurationPropertySources;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.PropertySource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests that the properties in the documents exist, have the defaults that they say and
 * can be set as the examples do.
 */
@Tag("ring1")
class ReadmeConfigurationTests {

	@ParameterizedTest
	@MethodSource("documents")
	void propertiesAreKnown(Markdown document) {
		assertThat(new DocumentedProperties(document).unknown()).isEmpty();
	}

	static List<Markdown> documents() {
		return Markdown.all();
	}

	@Test
	void unknownPropertiesAreFound() {
		Markdown document = Markdown.of("""
				Set `leader-election.leese=1s`, `spring.application.name`, `leader-election.elections.a.candidate=true`.
				```yaml
				management.endpoint.leadership.acces: none
				management.endpoint.health.group.a.include: b
				leader-election.lease-duration.x: 1
				```
				""");
		assertThat(new DocumentedProperties(document).unknown()).containsExactly("management.endpoint.leadership.acces",
				"leader-election.lease-duration.x", "leader-election.leese");
	}

	@Test
	void referenceHasAllPropertiesAndTheirDefaults() {
		Markdown reference = Markdown.of(Path.of("docs", "reference", "configuration.md"));
		assertThat(new DocumentedProperties(reference).defaults()).isEqualTo(defaults());
	}

	@ParameterizedTest
	@MethodSource("documents")
	void tableHasTheDefaults(Markdown document) {
		assertThat(defaults()).containsAllEntriesOf(new DocumentedProperties(document).defaults());
	}

	private static Map<String, String> defaults() {
		Map<String, String> expected = new TreeMap<>();
		DocumentedProperties.metadata().forEach((name, property) -> {
			if (name.startsWith("leader-election.") || name.contains(".leadership.")) {
				expected.put(name, defaultValue(property));
			}
		});
		// Every endpoint has it
		expected.remove("management.endpoint.leadership.cache.time-to-live");
		return expected;
	}

	/**
	 * Return a default as the documents write it: values of enums with dashes.
	 */
	private static String defaultValue(Map<String, Object> property) {
		String value = String.valueOf(property.getOrDefault("defaultValue", ""));
		return String.valueOf(property.get("type")).equals("java.lang.String") ? value : value.replace('_', '-');
	}

	@Test
	void tablesAreRead() {
		Markdown document = Markdown.of("""
				| property | default | |
				|---|---|---|
				| `lease-duration` | `5s` | |
				| `group`, `name` | `spring.application.name` | |
				| `elections.<name>.*` | those above | |

				| other | default |
				|---|---|
				| `x` | `1` |
				""");
		assertThat(new DocumentedProperties(document).defaults()).isEqualTo(Map.of("leader-election.lease-duration",
				"5s", "leader-election.group", "", "leader-election.name", "", "leader-election.elections", ""));
	}

	@ParameterizedTest
	@MethodSource("blocks")
	void blockBinds(CodeBlock block) {
		bind(block.code());
	}

	@Test
	void blockThatDoesNotBindIsFound() {
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> bind("leader-election.lease-duration: 5x"));
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> bind("leader-election.leese: 5s"))
			.withRootCauseInstanceOf(UnboundConfigurationPropertiesException.class);
	}

	private static void bind(String yaml) {
		PropertySource<?> source = DocumentedProperties.load(yaml);
		new Binder(ConfigurationPropertySources.from(source), new PropertySourcesPlaceholdersResolver(List.of(source)))
			.bindOrCreate("leader-election", Bindable.of(LeaderElectionProperties.class),
					new NoUnboundElementsBindHandler(BindHandler.DEFAULT));
	}

	@ParameterizedTest
	@MethodSource("blocks")
	void applicationStartsWithBlock(CodeBlock block) {
		start(block.code()).close();
	}

	static List<CodeBlock> blocks() {
		return Markdown.allBlocks("yaml");
	}

	@Test
	void blockThatKeepsTheApplicationFromStartingIsFound() {
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> start("management.endpoint.health.group.leading.include: catalogue"))
			.withStackTraceContaining("catalogue");
		assertThatExceptionOfType(Exception.class).isThrownBy(() -> start("leader-election.lease-duration: 1ms"))
			.withStackTraceContaining("lease-duration");
	}

	private static ConfigurableApplicationContext start(String yaml) {
		return new SpringApplicationBuilder(DocumentedApplication.class).web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.initializers(
					(context) -> context.getEnvironment().getPropertySources().addLast(DocumentedProperties.load(yaml)))
			.run("--leader-election.mode=always", "--DB_PASSWORD=secret", "--spring.main.banner-mode=off");
	}

}
