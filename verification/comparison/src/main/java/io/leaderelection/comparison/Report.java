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

package io.leaderelection.comparison;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.comparison.Candidate.Variant;
import io.leaderelection.comparison.Result.Measurement;

/**
 * Tables of all that is recorded, in Markdown. A figure of another candidate is bold if
 * it is better than that of this project's default store with the same kind of settings.
 *
 * @param results what is recorded
 */
record Report(List<Result> results) {

	static final String BEGIN = "<!-- figures: begin -->\n";

	static final String END = "<!-- figures: end -->\n";

	/**
	 * Replaces the figures of a document.
	 */
	static String replace(String document, String tables) {
		int begin = document.indexOf(BEGIN) + BEGIN.length();
		return document.substring(0, begin) + "\n" + tables.strip() + "\n\n"
				+ document.substring(document.indexOf(END, begin));
	}

	String markdown() {
		double load = this.results.stream().mapToDouble((each) -> Double.parseDouble(each.load())).max().orElse(0);
		StringBuilder text = new StringBuilder("Measured on " + distinct((each) -> each.at().substring(0, 10)) + ": "
				+ distinct(Result::machine) + "; load average at most " + load + ".\n");
		for (Measurement measurement : Measurement.values()) {
			List<Candidate> candidates = candidates((each) -> each.measurement() == measurement);
			if (!candidates.isEmpty()) {
				text.append("\n### ").append(measurement.title()).append("\n\n").append(table(measurement, candidates));
			}
		}
		text.append("\n### Settings\n\n").append(header("", "defaults", "tuned"));
		for (Candidate candidate : candidates((each) -> true)) {
			text.append(row(candidate, (variant) -> "`" + String.join(" ", candidate.options(variant)) + "`"));
		}
		return text.toString();
	}

	private String table(Measurement measurement, List<Candidate> candidates) {
		if (measurement.isIdle()) {
			return header("", "defaults", "tuned") + rows(candidates,
					(candidate) -> row(candidate, (variant) -> counters(of(candidate, variant, measurement))));
		}
		return header("", "defaults: leads after (at most, runs)", "tuned", "two leaders at once for at most", "tuned",
				"runs of the old leader", "tuned")
				+ rows(candidates,
						(candidate) -> row(candidate, (variant) -> next(candidate, variant, measurement),
								(variant) -> overlap(candidate, variant, measurement),
								(variant) -> oldRuns(of(candidate, variant, measurement))));
	}

	private String next(Candidate candidate, Variant variant, Measurement measurement) {
		List<Result> all = of(candidate, variant, measurement);
		if (all.isEmpty()) {
			return "";
		}
		double slowest = all.stream().mapToDouble((each) -> each.figure(Result.NEXT)).max().orElse(0);
		return bold(median(all) < median(of(Candidate.ADVISORY_LOCK, variant, measurement)), candidate,
				time(median(all), all)) + " (" + time(slowest, all) + ", " + all.size() + ")";
	}

	private static double median(List<Result> all) {
		double[] sorted = all.stream().mapToDouble((each) -> each.figure(Result.NEXT)).sorted().toArray();
		return (sorted.length == 0) ? 0 : (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
	}

	private String overlap(Candidate candidate, Variant variant, Measurement measurement) {
		List<Result> all = of(candidate, variant, measurement);
		double own = longest(of(Candidate.ADVISORY_LOCK, variant, measurement));
		boolean open = all.stream().anyMatch((each) -> each.figure(Result.OVERLAP_OPEN) > 0);
		String text = (longest(all) > 0) ? (open ? "to the end, " : "") + time(longest(all), all) : "none";
		return all.isEmpty() ? "" : bold(longest(all) < own, candidate, text);
	}

	private static double longest(List<Result> results) {
		return results.stream().mapToDouble((each) -> each.figure(Result.OVERLAP)).max().orElse(0);
	}

	private static String oldRuns(List<Result> all) {
		return all.isEmpty() ? "" : String.format(Locale.ROOT, "%.0f",
				all.stream().mapToDouble((each) -> each.figure(Result.OLD_RUNS)).sum());
	}

	private static String counters(List<Result> all) {
		return all.stream()
			.flatMap((each) -> each.figures().entrySet().stream())
			.map((figure) -> String.format(Locale.ROOT, "%.1f %s", figure.getValue(), figure.getKey()))
			.collect(Collectors.joining(", "));
	}

	private static String bold(boolean better, Candidate candidate, String text) {
		return (better && candidate.compareTo(Candidate.TABLE) > 0) ? "**" + text + "**" : text;
	}

	private static String time(double millis, List<Result> results) {
		if (Double.isInfinite(millis)) {
			double limit = results.stream().mapToDouble((each) -> each.figure(Result.LIMIT)).max().orElse(0);
			return "none within " + time(limit, results);
		}
		return (millis < 1000) ? String.format(Locale.ROOT, (millis < 10) ? "%.1f ms" : "%.0f ms", millis)
				: String.format(Locale.ROOT, (millis < 20_000) ? "%.1f s" : "%.0f s", millis / 1000);
	}

	private List<Result> of(Candidate candidate, Variant variant, Measurement measurement) {
		return this.results.stream().filter((each) -> each.isOf(candidate, variant, measurement)).toList();
	}

	private List<Candidate> candidates(Predicate<Result> condition) {
		return this.results.stream().filter(condition).map(Result::candidate).distinct().sorted().toList();
	}

	private String distinct(Function<Result, String> property) {
		return this.results.stream().map(property).distinct().sorted().collect(Collectors.joining(", "));
	}

	private static String rows(List<Candidate> candidates, Function<Candidate, String> row) {
		return candidates.stream().map(row).collect(Collectors.joining());
	}

	@SafeVarargs
	private static String row(Candidate candidate, Function<Variant, String>... pairs) {
		return row(Stream.concat(Stream.of(candidate.title()),
				Arrays.stream(pairs).flatMap((pair) -> Arrays.stream(Variant.values()).map(pair))));
	}

	private static String header(String... cells) {
		return row(Arrays.stream(cells)) + "|---".repeat(cells.length) + "|\n";
	}

	private static String row(Stream<String> cells) {
		return cells.collect(Collectors.joining(" | ", "| ", " |\n"));
	}

}
