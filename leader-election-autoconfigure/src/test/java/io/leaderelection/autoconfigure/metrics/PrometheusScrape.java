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

package io.leaderelection.autoconfigure.metrics;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

import io.leaderelection.autoconfigure.metrics.PromQl.LabelMatcher;
import io.leaderelection.autoconfigure.metrics.PromQl.Selector;

/**
 * What an application exports in the format of Prometheus.
 */
final class PrometheusScrape {

	private static final Set<String> TARGET_LABELS = Set.of("job", "instance", "passive");

	private static final Pattern SAMPLE = Pattern.compile("([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\\{(.*)})? \\S+");

	private static final Pattern LABEL = Pattern.compile("([a-zA-Z_]\\w*)=\"((?:[^\"\\\\]|\\\\.)*)\"");

	private final Map<String, List<Map<String, String>>> series = new TreeMap<>();

	PrometheusScrape(String text) {
		text.lines().filter((line) -> !line.startsWith("#")).forEach((line) -> {
			Matcher sample = SAMPLE.matcher(line);
			if (!sample.matches()) {
				throw new IllegalArgumentException("Not a sample: " + line);
			}
			Map<String, String> labels = new HashMap<>();
			Matcher label = LABEL.matcher((sample.group(2) != null) ? sample.group(2) : "");
			while (label.find()) {
				labels.put(label.group(1), label.group(2));
			}
			this.series.computeIfAbsent(sample.group(1), (key) -> new ArrayList<>()).add(labels);
		});
	}

	/**
	 * Return the metrics of leader election.
	 */
	Set<String> metrics() {
		return this.series.keySet()
			.stream()
			.filter((name) -> name.startsWith("leader_election_"))
			.collect(Collectors.toSet());
	}

	/**
	 * Return what an expression asks for and is not there.
	 */
	List<String> missing(PromQl expression) {
		List<String> missing = new ArrayList<>();
		for (Selector selector : expression.selectors()) {
			List<Map<String, String>> samples = this.series.get(selector.metric());
			if (samples == null) {
				missing.add(selector.metric());
				continue;
			}
			for (LabelMatcher matcher : selector.matchers()) {
				for (String value : matcher.value().split("\\|")) {
					if (!hasLabel(samples, matcher.label(), value)) {
						missing.add(selector.metric() + "{" + matcher.label() + "=" + value + "}");
					}
				}
			}
			for (String label : expression.groupingLabels()) {
				if (!hasLabel(samples, label)) {
					missing.add(selector.metric() + " by " + label);
				}
			}
		}
		return missing;
	}

	/**
	 * Return whether what comes out of an expression has a label.
	 */
	boolean hasLabel(PromQl expression, String label) {
		if (!expression.groupingLabels().isEmpty()) {
			return expression.groupingLabels().contains(label);
		}
		return hasLabel(this.series.get(expression.selectors().get(0).metric()), label);
	}

	private static boolean hasLabel(List<Map<String, String>> samples, String label) {
		return TARGET_LABELS.contains(label) || samples.stream().allMatch((labels) -> labels.containsKey(label));
	}

	private static boolean hasLabel(List<Map<String, String>> samples, String label, String value) {
		return hasLabel(samples, label) && (value.startsWith("$") || TARGET_LABELS.contains(label)
				|| samples.stream().anyMatch((labels) -> value.equals(labels.get(label))));
	}

}
