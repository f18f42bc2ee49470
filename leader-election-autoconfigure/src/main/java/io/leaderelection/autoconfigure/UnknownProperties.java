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
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Election;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

import org.springframework.boot.context.properties.bind.DataObjectPropertyName;
import org.springframework.boot.origin.PropertySourceOrigin;
import org.springframework.core.env.EnumerablePropertySource;
import org.springframework.core.env.PropertySource;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * Finds properties below {@code leader-election} that {@link LeaderElectionProperties}
 * does not have. Most are ignored with a warning, since they may be those of a later
 * version in a configuration that several services share. If a property that decides who
 * leads is misspelt, a node that should not lead would lead, so it is rejected.
 */
final class UnknownProperties {

	private static final Log logger = LogFactory.getLog(UnknownProperties.class);

	/** By their uniform form. Those of maps end with a wildcard. */
	private static final Map<String, String> KNOWN = names("leader-election.", LeaderElectionProperties.class)
		.collect(Collectors.toUnmodifiableMap((name) -> uniform(name, false), (name) -> name));

	/** Those that decide who leads, by the end of their uniform form. */
	private static final Set<String> SAFETY = Set.of("mode", "candidate", "group", "name", "store", "fencing", "lockid",
			"tablename", "termepoch", "enabled", "enable");

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
	 * Report unknown properties, and reject those that are nearly ones that decide who
	 * leads. Environment variables are only reported, since Kubernetes adds some for each
	 * service.
	 * @param source the source of properties
	 * @throws InvalidUsageException if the source has such a property
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
			logger.warn("Environment variables that are not properties of leader election are ignored: " + unknown);
			return;
		}
		for (String name : unknown) {
			// Without its value, which may be a password
			String description = "Leader election has no property '%s' (%s).".formatted(name,
					PropertySourceOrigin.get(source, name));
			String uniform = uniform(name, false).replaceFirst("[.*]+$", "");
			if (decidesWhoLeads(uniform.split("\\."))) {
				throw new InvalidUsageException(description, action(uniform));
			}
			logger.warn(description + " It is ignored. " + action(uniform));
		}
	}

	/**
	 * Return whether a name is nearly that of a property of the default election or of
	 * another one.
	 */
	private static boolean decidesWhoLeads(String[] name) {
		String last = name[name.length - 1];
		boolean election = name.length == 2 || (name.length > 2 && distance(name[1], "elections") <= 2);
		return election && SAFETY.stream().anyMatch((safety) -> distance(last, safety) <= safety.length() / 4);
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

	private static String action(String uniform) {
		if (uniform.matches("leaderelection\\.(elections\\.\\*\\.)?enabled?")) {
			return "Set leader-election.mode=always to run without elections, or leader-election.candidate=false if this node must not lead.";
		}
		String[] segments = uniform.split("\\.");
		String nearest = Collections
			.min(KNOWN.keySet(), Comparator.comparing((String known) -> -common(known.split("\\."), segments))
				.thenComparing((known) -> !known.startsWith(uniform) && !known.endsWith(segments[segments.length - 1]))
				.thenComparing((known) -> distance(uniform, known))
				.thenComparing(Comparator.naturalOrder()));
		return "Did you mean '%s'?".formatted(KNOWN.get(nearest));
	}

	/**
	 * Return how many segments two names have in common, at their beginning and at their
	 * end.
	 */
	private static int common(String[] first, String[] second) {
		int shorter = Math.min(first.length, second.length);
		int begin = 0;
		while (begin < shorter && first[begin].equals(second[begin])) {
			begin++;
		}
		int end = 0;
		while (end < shorter - begin && first[first.length - 1 - end].equals(second[second.length - 1 - end])) {
			end++;
		}
		return begin + end;
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
