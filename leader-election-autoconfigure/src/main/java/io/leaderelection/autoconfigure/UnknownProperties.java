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
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.IntStream;

import io.leaderelection.autoconfigure.LeaderElectionProperties.Election;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.origin.PropertySourceOrigin;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;
import org.springframework.core.io.Resource;
import org.springframework.core.io.support.ResourcePatternResolver;

/**
 * Finds properties below {@code leader-election} that no configuration metadata on the
 * class path describes. If they were ignored, a node that should not lead would lead.
 */
final class UnknownProperties {

	private static final String ROOT = "leader-election.";

	private static final String ELECTION = ROOT + "elections.*.";

	/** In JSON, for which an application may have no parser. */
	private static final Pattern PROPERTY = Pattern
		.compile("\\{[^{}]*\"name\"\\s*:\\s*\"(leader-election\\.[^\"]+)\"[^{}]*");

	private static final Pattern CONTAINER = Pattern.compile("\"type\"\\s*:\\s*\"(java\\.util\\.|[^\"]*\\[]\")");

	/** Those of maps and lists end with a wildcard. */
	private final Set<String> known = new HashSet<>();

	UnknownProperties(ResourcePatternResolver resources) throws IOException {
		for (String prefix : List.of("", "additional-")) {
			for (Resource resource : resources
				.getResources("classpath*:META-INF/" + prefix + "spring-configuration-metadata.json")) {
				PROPERTY.matcher(resource.getContentAsString(StandardCharsets.UTF_8))
					.results()
					.forEach((property) -> add(property.group(1), property.group()));
			}
		}
	}

	private void add(String name, String description) {
		if (description.contains(Election.class.getName())) {
			for (RecordComponent component : Election.class.getRecordComponents()) {
				this.known.add(ELECTION + DataObjectPropertyName.toDashedForm(component.getName()));
			}
		}
		else {
			this.known.add(CONTAINER.matcher(description).find() ? name + ".*" : name);
		}
	}

	/**
	 * Reject unknown properties. Unknown environment variables are only reported, since
	 * Kubernetes adds some for each service.
	 * @param source the source of properties
	 * @throws InvalidConfigurationException if the source has an unknown property
	 */
	void check(PropertySource<?> source) {
		// A native image has no metadata
		if (!this.known.contains(ROOT + "mode") || !(source instanceof EnumerablePropertySource<?> enumerable)) {
			return;
		}
		boolean variables = source instanceof SystemEnvironmentPropertySource;
		List<String> unknown = Arrays.stream(enumerable.getPropertyNames())
			.filter((name) -> uniform(name, variables).startsWith(uniform(ROOT, variables)))
			.filter((name) -> this.known.stream().noneMatch((other) -> matches(name, other, variables)))
			.toList();
		if (variables && !unknown.isEmpty()) {
			LogFactory.getLog(UnknownProperties.class)
				.warn("Environment variables that are not properties of leader election are ignored: " + unknown);
		}
		else if (!unknown.isEmpty()) {
			String name = unknown.get(0);
			// Without its value, which may be a password
			throw new InvalidConfigurationException("Leader election has no property '%s' (%s).".formatted(name,
					PropertySourceOrigin.get(source, name)), action(name), null);
		}
	}

	private static boolean matches(String name, String known, boolean variable) {
		String actual = uniform(name, variable);
		String expected = uniform(known, variable);
		int wildcard = variable ? expected.indexOf('*') : expected.length() - 1;
		return expected.equals(actual) || expected.startsWith(actual + ".")
				|| (expected.startsWith("*", wildcard) && actual.startsWith(expected.substring(0, wildcard)));
	}

	/**
	 * Return the form of a name that does not depend on how it is written. That of a
	 * variable has no separators.
	 */
	private static String uniform(String name, boolean variable) {
		String uniform = name.toLowerCase(Locale.ROOT)
			.replaceAll("\\[[^]]*]", ".*")
			.replaceAll("[^a-z0-9.*]", "")
			.replaceFirst("^(leaderelection\\.elections)\\.[^.]+", "$1.*");
		return variable ? uniform.replace(".", "") : uniform;
	}

	private String action(String name) {
		String uniform = uniform(name, false);
		if (uniform.matches("leaderelection\\.(elections\\.\\*\\.)?enabled?")) {
			return "Set leader-election.mode=always to run without elections, or leader-election.candidate=false if this node must not lead.";
		}
		String last = uniform.substring(uniform.lastIndexOf('.'));
		return this.known.stream()
			.min(Comparator.comparing((String candidate) -> !isRelated(uniform(candidate, false), uniform, last))
				.thenComparing((candidate) -> distance(uniform, uniform(candidate, false))))
			.map("Did you mean '%s'?"::formatted)
			.orElseThrow();
	}

	private static boolean isRelated(String known, String name, String last) {
		return known.startsWith(name) || (known.endsWith(last) && !last.equals(".*"));
	}

	// By Levenshtein
	private static int distance(String first, String second) {
		int[] costs = IntStream.rangeClosed(0, second.length()).toArray();
		for (int i = 1; i <= first.length(); i++) {
			int diagonal = costs[0]++;
			for (int j = 1; j < costs.length; j++) {
				int replaced = diagonal + ((first.charAt(i - 1) == second.charAt(j - 1)) ? 0 : 1);
				diagonal = costs[j];
				costs[j] = Math.min(replaced, 1 + Math.min(costs[j], costs[j - 1]));
			}
		}
		return costs[second.length()];
	}

}
