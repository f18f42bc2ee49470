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
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Election;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.origin.PropertySourceOrigin;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * Finds properties below {@code leader-election} that {@link LeaderElectionProperties}
 * does not have. If they were ignored, a node that should not lead would lead.
 */
final class UnknownProperties {

	/** By their uniform form. Those of maps end with a wildcard. */
	private static final Map<String, String> KNOWN = names("leader-election.", LeaderElectionProperties.class)
		.collect(Collectors.toUnmodifiableMap((name) -> uniform(name, false), (name) -> name));

	private UnknownProperties() {
	}

	private static Stream<String> names(String prefix, Class<?> properties) {
		return Arrays.stream(properties.getRecordComponents())
			.flatMap(
					(component) -> names(prefix + DataObjectPropertyName.toDashedForm(component.getName()), component));
	}

	private static Stream<String> names(String name, RecordComponent component) {
		if (component.getType() == Map.class) {
			return component.getName().equals("elections") ? names(name + ".*.", Election.class)
					: Stream.of(name + ".*");
		}
		return component.getType().isRecord() ? names(name + ".", component.getType()) : Stream.of(name);
	}

	/**
	 * Reject unknown properties. Unknown environment variables are only reported, since
	 * Kubernetes adds some for each service.
	 * @param source the source of properties
	 * @throws InvalidUsageException if the source has an unknown property
	 */
	static void check(PropertySource<?> source) {
		if (!(source instanceof EnumerablePropertySource<?> enumerable)) {
			return;
		}
		boolean variables = source instanceof SystemEnvironmentPropertySource;
		List<String> unknown = Arrays.stream(enumerable.getPropertyNames())
			.filter((name) -> isUnknown(uniform(name, variables), variables))
			.toList();
		if (variables && !unknown.isEmpty()) {
			LogFactory.getLog(UnknownProperties.class)
				.warn("Environment variables that are not properties of leader election are ignored: " + unknown);
		}
		else if (!unknown.isEmpty()) {
			String name = unknown.get(0);
			// Without its value, which may be a password
			throw new InvalidUsageException("Leader election has no property '%s' (%s).".formatted(name,
					PropertySourceOrigin.get(source, name)), action(name));
		}
	}

	private static boolean isUnknown(String name, boolean variable) {
		return name.startsWith(variable ? "leaderelection" : "leaderelection.") && KNOWN.keySet()
			.stream()
			.map((known) -> variable ? known.replace(".", "") : known)
			.noneMatch((known) -> matches(name, known, variable ? known.indexOf('*') : known.length() - 1));
	}

	private static boolean matches(String name, String known, int wildcard) {
		return known.equals(name) || known.startsWith(name + ".")
				|| (known.startsWith("*", wildcard) && name.startsWith(known.substring(0, wildcard)));
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

	private static String action(String name) {
		String uniform = uniform(name, false);
		if (uniform.matches("leaderelection\\.(elections\\.\\*\\.)?enabled?")) {
			return "Set leader-election.mode=always to run without elections, or leader-election.candidate=false if this node must not lead.";
		}
		String last = uniform.substring(uniform.lastIndexOf('.') + 1);
		String nearest = Collections.min(KNOWN.keySet(),
				Comparator.comparing((String known) -> !isRelated(known, uniform, last))
					.thenComparing((known) -> !last.equals("*") && !known.endsWith(last))
					.thenComparing((known) -> distance(uniform, known))
					.thenComparing(Comparator.naturalOrder()));
		return "Did you mean '%s'?".formatted(KNOWN.get(nearest));
	}

	private static boolean isRelated(String known, String name, String last) {
		return known.startsWith(name) || (known.endsWith("." + last) && !last.equals("*"));
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
