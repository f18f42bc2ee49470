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

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.URL;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import com.jayway.jsonpath.JsonPath;

import org.springframework.boot.env.YamlPropertySourceLoader;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.io.ByteArrayResource;

/**
 * What a document says about properties, against the metadata of all that is on the class
 * path.
 */
final class DocumentedProperties {

	private static final Pattern PROPERTY = Pattern
		.compile("((?:leader-election|management|spring)\\.[\\w.-]+)(?:=\\S*)?");

	private static final Pattern CODE = Pattern.compile("`([^`]+)`");

	private static final Map<String, Map<String, Object>> METADATA = metadata(
			"META-INF/spring-configuration-metadata.json");

	// Read before there are any others, or of a library that the tests do not have
	private static final Set<String> WITHOUT_METADATA = Set.of("spring.aot.enabled",
			"spring.cloud.kubernetes.leader.config-map-name", "spring.cloud.kubernetes.leader.election.enabled",
			"spring.cloud.kubernetes.leader.enabled", "spring.cloud.kubernetes.leader.role", "spring.flyway.locations");

	private final Markdown document;

	DocumentedProperties(Markdown document) {
		this.document = document;
	}

	/**
	 * The properties that Spring Boot has metadata of, by name.
	 */
	static Map<String, Map<String, Object>> metadata() {
		return METADATA;
	}

	private static Map<String, Map<String, Object>> metadata(String name) {
		Map<String, Map<String, Object>> properties = new TreeMap<>();
		try {
			for (URL url : Collections.list(DocumentedProperties.class.getClassLoader().getResources(name))) {
				try (InputStream metadata = url.openStream()) {
					List<Map<String, Object>> list = JsonPath.parse(metadata).read("$.properties");
					list.forEach((property) -> properties.put((String) property.get("name"), property));
				}
			}
			return properties;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * The properties of YAML.
	 */
	static EnumerablePropertySource<?> load(String yaml) {
		try {
			List<PropertySource<?>> sources = new YamlPropertySourceLoader().load("document",
					new ByteArrayResource(yaml.getBytes()));
			return (EnumerablePropertySource<?>) sources.get(0);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * The names, in blocks and in the text, that no metadata knows.
	 */
	List<String> unknown() {
		Stream<String> blocks = this.document.blocks("yaml")
			.stream()
			.flatMap((block) -> Stream.of(load(block.code()).getPropertyNames()));
		Stream<String> text = this.document.code()
			.stream()
			.map(PROPERTY::matcher)
			.filter(Matcher::matches)
			.map((matcher) -> matcher.group(1));
		return Stream.concat(blocks, text).filter((name) -> !isKnown(name)).distinct().toList();
	}

	private static boolean isKnown(String name) {
		if (METADATA.containsKey(name) || WITHOUT_METADATA.contains(name)) {
			return true;
		}
		for (int dot = name.lastIndexOf('.'); dot > 0; dot = name.lastIndexOf('.', dot - 1)) {
			Map<String, Object> property = METADATA.get(name.substring(0, dot));
			if (property != null) {
				return String.valueOf(property.get("type")).startsWith("java.util.Map");
			}
		}
		return false;
	}

	/**
	 * The rows of the tables of properties: name and default. Empty is a default that is
	 * described or that there is not.
	 */
	Map<String, String> defaults() {
		Map<String, String> defaults = new TreeMap<>();
		for (List<String> row : this.document.rows("property")) {
			Matcher value = CODE.matcher(row.get(1));
			String literal = (value.matches() && !METADATA.containsKey(value.group(1))) ? value.group(1) : "";
			CODE.matcher(row.get(0)).results().forEach((name) -> defaults.put(fullName(name.group(1)), literal));
		}
		return defaults;
	}

	private static String fullName(String name) {
		return name.startsWith("management.") ? name
				: "leader-election." + name.replaceFirst("\\.<name>(\\.\\*)?$", "");
	}

}
