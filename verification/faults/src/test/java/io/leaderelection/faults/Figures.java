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

package io.leaderelection.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Figures of the runs of faults, as a table.
 */
final class Figures {

	private static final Path FILE = Path.of("target", "fault-figures.md");

	private final Map<String, Runs> faults = new LinkedHashMap<>();

	/**
	 * Add a run.
	 * @param fault the fault
	 * @param at when it was injected
	 * @param lastTrue the old leader's last sample, if it stepped down and could report
	 * it
	 * @param next the next leader's first sample, if there was to be one
	 */
	void add(String fault, long at, Optional<Entry> lastTrue, Optional<Entry> next) {
		Runs runs = this.faults.computeIfAbsent(fault, (key) -> new Runs());
		runs.count++;
		lastTrue.ifPresent((entry) -> runs.stepDowns.add(Math.max(0, entry.time() - at)));
		next.ifPresent((entry) -> runs.grants.add(entry.time() - at));
		if (lastTrue.isPresent() && next.isPresent()) {
			long distance = next.get().time() - lastTrue.get().time();
			runs.distances.add(distance);
			runs.overlaps += (distance <= 0) ? 1 : 0;
		}
	}

	/**
	 * Append the distribution of the times to a file beside the reports of the tests, and
	 * print it.
	 * @param circumstances what the runs had in common
	 */
	void write(String circumstances) {
		StringBuilder table = new StringBuilder(
				circumstances + "\n\n" + "| fault | runs | overlaps | ms | min | p50 | p90 | p99 | p99.9 | max |\n");
		this.faults.forEach((fault, runs) -> {
			row(table, fault, runs, "last true after the fault", runs.stepDowns);
			row(table, fault, runs, "next grant after the fault", runs.grants);
			row(table, fault, runs, "next grant after last true", runs.distances);
		});
		append(table);
	}

	private static void row(StringBuilder table, String fault, Runs runs, String name, List<Long> nanos) {
		if (nanos.isEmpty()) {
			return;
		}
		List<Long> sorted = nanos.stream().sorted().toList();
		table.append("| %s | %d | %d | %s |".formatted(fault, runs.count, runs.overlaps, name));
		for (double share : new double[] { 0, 0.5, 0.9, 0.99, 0.999, 1 }) {
			int rank = Math.max(1, (int) Math.ceil(share * sorted.size()));
			table.append(String.format(Locale.ROOT, " %.0f |", sorted.get(rank - 1) / 1e6));
		}
		table.append('\n');
	}

	private static void append(StringBuilder table) {
		System.out.println(table);
		try {
			Files.writeString(FILE, table, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * The runs of one fault.
	 */
	private static final class Runs {

		private final List<Long> stepDowns = new ArrayList<>();

		private final List<Long> grants = new ArrayList<>();

		private final List<Long> distances = new ArrayList<>();

		private int count;

		private int overlaps;

	}

}
