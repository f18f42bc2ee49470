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
import java.util.OptionalDouble;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.comparison.Candidate.Variant;

/**
 * Tables of all that is recorded, in Markdown. A figure of another candidate that is
 * better than that of this project's default store is bold.
 *
 * @param results what is recorded
 */
record Report(List<Result> results) {

	private static final String BEGIN = "<!-- figures: begin -->\n";

	private static final String END = "<!-- figures: end -->\n";

	/**
	 * Replaces the figures of a document.
	 */
	static String replace(String document, String tables) {
		int begin = document.indexOf(BEGIN) + BEGIN.length();
		int end = document.indexOf(END);
		if (begin < BEGIN.length() || end < begin) {
			throw new IllegalArgumentException("The document does not have the lines " + BEGIN + END);
		}
		return document.substring(0, begin) + "\n" + tables.strip() + "\n\n" + document.substring(end);
	}

	String markdown() {
		if (this.results.isEmpty()) {
			return "No run is recorded";
		}
		StringBuilder text = new StringBuilder(overview());
		text.append("\n\nMeasured ").append(dates()).append(" on ").append(distinct(Result::machine));
		text.append(", load ").append(loads()).append(".\n");
		for (Measurement measurement : Measurement.values()) {
			if (measurement.isFault() && this.results.stream().anyMatch((each) -> each.measurement() == measurement)) {
				text.append("\n### ").append(heading(measurement)).append("\n\n");
				text.append(
						"| | settings | runs | median | max | two leaders at once: runs, max | runs of the old leader |\n");
				text.append("|---|---|---|---|---|---|---|\n").append(details(measurement));
			}
		}
		text.append("\n### Settings\n\n| | defaults | tuned |\n|---|---|---|\n");
		for (Candidate candidate : measured()) {
			text.append(
					row(candidate.title(), settings(candidate, Variant.DEFAULT), settings(candidate, Variant.TUNED)));
		}
		return text.toString();
	}

	private String overview() {
		List<Candidate> candidates = measured();
		String header = row(
				Stream.concat(Stream.of(""), candidates.stream().map(Candidate::title)).toArray(String[]::new));
		String rows = Arrays.stream(Measurement.values())
			.filter((measurement) -> this.results.stream().anyMatch((each) -> each.measurement() == measurement))
			.map((measurement) -> rows(measurement, candidates))
			.collect(Collectors.joining());
		return (header + "|---".repeat(candidates.size() + 1) + "|\n" + rows).strip();
	}

	private String rows(Measurement measurement, List<Candidate> candidates) {
		if (measurement.isFault()) {
			return row(measurement.title() + " → next leader", candidates,
					(candidate) -> both(candidate, measurement, Result.NEXT))
					+ row(measurement.title() + ": two leaders at once, longest", candidates,
							(candidate) -> both(candidate, measurement, Result.OVERLAP));
		}
		if (measurement == Measurement.START) {
			return row(measurement.title() + " → leads", candidates,
					(candidate) -> both(candidate, measurement, Result.NEXT));
		}
		return Stream.of("statements", "requests", "connections", "walBytes")
			.map((name) -> row(measurement.title() + ": " + unit(name), candidates,
					(candidate) -> both(candidate, measurement, name)))
			.collect(Collectors.joining());
	}

	private static String row(String title, List<Candidate> candidates, Function<Candidate, String> cell) {
		return row(Stream.concat(Stream.of(title), candidates.stream().map(cell)).toArray(String[]::new));
	}

	private static String row(String... cells) {
		return Stream.of(cells).collect(Collectors.joining(" | ", "| ", " |\n"));
	}

	private static String unit(String name) {
		return switch (name) {
			case "statements" -> "statements/s";
			case "requests" -> "requests/s";
			case "walBytes" -> "bytes of WAL/s";
			default -> name;
		};
	}

	private String both(Candidate candidate, Measurement measurement, String figure) {
		if (!measurement.appliesTo(candidate)) {
			return "has no session";
		}
		String defaults = cell(candidate, Variant.DEFAULT, measurement, figure);
		String tuned = cell(candidate, Variant.TUNED, measurement, figure);
		return (defaults.equals(tuned) || tuned.isEmpty()) ? defaults : defaults + " (tuned " + tuned + ")";
	}

	private String cell(Candidate candidate, Variant variant, Measurement measurement, String figure) {
		OptionalDouble value = value(candidate, variant, measurement, figure);
		if (value.isEmpty()) {
			return "";
		}
		OptionalDouble own = value(Candidate.ADVISORY_LOCK, variant, measurement, figure);
		boolean better = candidate != Candidate.ADVISORY_LOCK && candidate != Candidate.TABLE && own.isPresent()
				&& value.getAsDouble() < own.getAsDouble();
		String text = figure.endsWith("Millis") ? time(value.getAsDouble(), figure) : number(value.getAsDouble());
		boolean open = figure.equals(Result.OVERLAP) && of(candidate, variant, measurement).stream()
			.anyMatch((each) -> each.figure(Result.OVERLAP_OPEN) > 0);
		text = open ? "> " + text : text;
		return better ? "**" + text + "**" : text;
	}

	/**
	 * The median, or the longest overlap. A next leader that was not awaited long enough
	 * counts as one that is infinitely late.
	 */
	private OptionalDouble value(Candidate candidate, Variant variant, Measurement measurement, String figure) {
		List<Result> all = of(candidate, variant, measurement);
		if (all.isEmpty() || !figure.equals(Result.NEXT)
				&& all.stream().noneMatch((each) -> each.figures().containsKey(figure))) {
			return OptionalDouble.empty();
		}
		double[] sorted = all.stream()
			.mapToDouble((each) -> (figure.equals(Result.NEXT) && !each.figures().containsKey(figure))
					? Double.POSITIVE_INFINITY : each.figure(figure))
			.sorted()
			.toArray();
		return OptionalDouble.of(figure.equals(Result.OVERLAP) ? sorted[sorted.length - 1]
				: (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2);
	}

	private String details(Measurement measurement) {
		StringBuilder text = new StringBuilder();
		for (Candidate candidate : measured()) {
			for (Variant variant : Variant.values()) {
				List<Result> all = of(candidate, variant, measurement);
				if (!all.isEmpty()) {
					boolean late = all.stream().anyMatch((each) -> !each.figures().containsKey(Result.NEXT));
					double max = all.stream().mapToDouble((each) -> each.figure(Result.NEXT)).max().orElse(0);
					long overlaps = all.stream().filter((each) -> each.figure(Result.OVERLAP) > 0).count();
					long old = all.stream().mapToLong((each) -> (long) each.figure(Result.OLD_RUNS)).sum();
					text.append(row(candidate.title(), variant.toString(), String.valueOf(all.size()),
							cell(candidate, variant, measurement, Result.NEXT),
							time(late ? Double.POSITIVE_INFINITY : max, Result.NEXT), (overlaps > 0)
									? overlaps + ", " + cell(candidate, variant, measurement, Result.OVERLAP) : "none",
							String.valueOf(old)));
				}
			}
		}
		return text.toString();
	}

	private String time(double millis, String figure) {
		if (Double.isInfinite(millis)) {
			return "none within " + time(
					this.results.stream().mapToDouble((each) -> each.figure(Result.LIMIT)).max().orElse(0), figure);
		}
		if (millis == 0 && figure.equals(Result.OVERLAP)) {
			return "none";
		}
		return (millis < 1000) ? String.format(Locale.ROOT, (millis < 10) ? "%.1f ms" : "%.0f ms", millis)
				: String.format(Locale.ROOT, (millis < 100_000) ? "%.1f s" : "%.0f s", millis / 1000);
	}

	private static String number(double value) {
		return String.format(Locale.ROOT, (value < 10 && value != Math.rint(value)) ? "%.1f" : "%.0f", value);
	}

	private String settings(Candidate candidate, Variant variant) {
		return this.results.stream()
			.filter((each) -> each.candidate() == candidate && each.variant() == variant)
			.map((each) -> each.options()
				.stream()
				.map((option) -> "`" + option + "`")
				.collect(Collectors.joining(", ")))
			.distinct()
			.collect(Collectors.joining("; "));
	}

	private List<Candidate> measured() {
		return Arrays.stream(Candidate.values())
			.filter((candidate) -> this.results.stream().anyMatch((each) -> each.candidate() == candidate))
			.toList();
	}

	private List<Result> of(Candidate candidate, Variant variant, Measurement measurement) {
		return this.results.stream().filter((each) -> each.isOf(candidate, variant, measurement)).toList();
	}

	private String dates() {
		List<String> days = this.results.stream()
			.map((each) -> each.at().substring(0, 10))
			.distinct()
			.sorted()
			.toList();
		return (days.size() == 1) ? days.get(0) : days.get(0) + " to " + days.get(days.size() - 1);
	}

	private String loads() {
		List<Double> loads = this.results.stream()
			.map(Result::load)
			.filter((load) -> load.matches("[0-9.]+"))
			.map(Double::valueOf)
			.sorted()
			.toList();
		return loads.isEmpty() ? "unknown" : loads.get(0) + " to " + loads.get(loads.size() - 1);
	}

	private String distinct(Function<Result, String> property) {
		return this.results.stream().map(property).distinct().collect(Collectors.joining("; "));
	}

	private static String heading(Measurement measurement) {
		return measurement.title().substring(0, 1).toUpperCase(Locale.ROOT) + measurement.title().substring(1);
	}

}
