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

package io.leaderelection.model;

import java.io.IOException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * A counterexample of TLC as a text with one line for each step: its number, its action
 * and what has changed.
 *
 * @param steps the lines
 */
record Counterexample(List<String> steps) {

	private static final Pattern STATE = Pattern.compile(
			"State \\d+: <(Initial predicate|\\w+)(?: line (\\d+), col \\d+ to line \\d+, col \\d+ of module (\\w+))?>\n(.*?)\n\n");

	private static final Pattern BACK = Pattern.compile("Back to state (\\d+)");

	/** The action in a disjunct of the modules for liveness. */
	private static final Pattern QUIET = Pattern
		.compile("(\\w+)(?:\\(n(?:, e)?\\))? /\\\\ (?:Quiet|Round\\(n\\)|AllAreDue|UNCHANGED (?:frozen|<<frozen))");

	/** Variables with an entry for each node, which need no name. */
	private static final Set<String> NODES = Set.of("node", "elector");

	private static final Set<String> DATABASES = Set.of("primary", "standby");

	static Counterexample of(String output) throws IOException {
		List<String> steps = new ArrayList<>();
		Matcher matcher = Pattern.compile(STATE.pattern(), Pattern.DOTALL).matcher(output + "\n\n");
		Map<String, String> before = Map.of();
		while (matcher.find()) {
			Map<String, String> after = TlaValue.leaves(matcher.group(4));
			if (matcher.group(2) != null) {
				String action = action(matcher.group(1), Integer.parseInt(matcher.group(2)), matcher.group(3));
				steps.add("%3d  %-24s %s".formatted(steps.size() + 1, action, changes(before, after)).stripTrailing());
			}
			before = after;
		}
		Matcher back = BACK.matcher(output);
		if (back.find()) {
			steps.add("     and again from after step " + (Integer.parseInt(back.group(1)) - 1) + ", for ever");
		}
		else if (output.contains(": Stuttering")) {
			steps.add("     and nothing more, for ever");
		}
		return new Counterexample(steps);
	}

	private static String action(String name, int line, String module) throws IOException {
		if (module.endsWith("Liveness")) {
			String source = Files.readAllLines(ModelChecker.MODULES.resolve(module + ".tla")).get(line - 1);
			Matcher action = QUIET.matcher(source);
			while (action.find()) {
				name = action.group(1);
			}
		}
		return name;
	}

	private static String changes(Map<String, String> before, Map<String, String> after) {
		Map<String, List<String>> changes = new TreeMap<>();
		after.forEach((path, value) -> {
			if (!value.equals(before.get(path))) {
				String[] parts = path.split("\\.");
				boolean ofNode = parts.length >= 3 && !DATABASES.contains(parts[0]);
				String subject = ofNode ? parts[1] : "";
				String rest = ofNode ? path.substring(parts[0].length() + parts[1].length() + 2) : path;
				String what = (ofNode && !NODES.contains(parts[0])) ? parts[0] + '.' + rest : rest;
				changes.computeIfAbsent(subject, (key) -> new ArrayList<>())
					.add(what + " " + before.get(path) + " -> " + value);
			}
		});
		return changes.entrySet()
			.stream()
			.map((entry) -> (entry.getKey().isEmpty() ? "" : entry.getKey() + ": ")
					+ String.join(", ", entry.getValue()))
			.collect(Collectors.joining("; "));
	}

}
