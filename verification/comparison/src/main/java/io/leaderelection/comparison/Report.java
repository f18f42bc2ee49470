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

import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
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

	private static final List<Column> FAULT = List.of(
			new Column("leads after", Result.NEXT, Report::median, Report::time),
			new Column("at most (runs)", Result.NEXT, Report::max,
					(millis, all) -> time(millis, all) + " (" + all.size() + ")"),
			new Column("two leaders at once for at most", Result.OVERLAP, Report::max, Report::overlap),
			new Column("old runs", Result.OLD_RUNS, DoubleStream::sum, (runs, all) -> number("%.0f", runs)));

	private static final List<Column> IDLE = List.of(Column.counter("statements/s", "statements", 1),
			Column.counter("with nested ones", "nested", 1), Column.counter("requests/s", "requests", 1),
			Column.counter("connections", "connections", 1), Column.counter("WAL, KB/s", "wal", 1000),
			Column.counter("CPU of a node, ms/s", "cpuMillis", 1));

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
		StringBuilder text = new StringBuilder("Measured on %s: %s, %s; load average at most %s.%n".formatted(
				distinct((each) -> each.at().substring(0, 10)), distinct(Result::machine), distinct(Result::server),
				load));
		for (Measurement measurement : Measurement.values()) {
			List<Row> rows = rows((each) -> each.measurement() == measurement);
			if (!rows.isEmpty()) {
				text.append("\n### ").append(measurement.title()).append("\n\n").append(table(measurement, rows));
			}
		}
		text.append("\n### Settings\n\n").append(header(Stream.of("", "settings")));
		for (Row row : rows((each) -> true)) {
			text.append(line(Stream.of(row.title(), "`" + String.join(" ", row.candidate.options(row.variant)) + "`")));
		}
		return text.toString();
	}

	private String table(Measurement measurement, List<Row> rows) {
		List<Column> columns = measurement.isIdle() ? IDLE
				: (measurement == Measurement.START) ? FAULT.subList(0, 2) : FAULT;
		String text = header(Stream.concat(Stream.of(""), columns.stream().map(Column::title)));
		for (Row row : rows) {
			// ShedLock sends nothing between runs
			String note = (measurement.isIdle() && row.candidate == Candidate.SHEDLOCK) ? ", one run a second" : "";
			text += line(Stream.concat(Stream.of(row.title() + note),
					columns.stream().map((column) -> cell(row, measurement, column))));
		}
		return text;
	}

	private String cell(Row row, Measurement measurement, Column column) {
		List<Result> all = of(row.candidate, row.variant, measurement);
		double value = column.value(all);
		boolean better = row.candidate.compareTo(Candidate.TABLE) > 0
				&& value < column.value(of(Candidate.ADVISORY_LOCK, row.variant, measurement));
		String text = Double.isNaN(value) ? "not counted" : column.text.apply(value, all);
		return better ? "**" + text + "**" : text;
	}

	private static double median(DoubleStream values) {
		double[] sorted = values.sorted().toArray();
		return (sorted.length == 0) ? Double.NaN : (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
	}

	private static double max(DoubleStream values) {
		return values.max().orElse(Double.NaN);
	}

	private static String overlap(double millis, List<Result> results) {
		boolean open = results.stream().anyMatch((each) -> each.figure(Result.OVERLAP_OPEN) > 0);
		return (millis > 0) ? (open ? "to the end, " : "") + time(millis, results) : "none";
	}

	private static String time(double millis, List<Result> results) {
		if (Double.isInfinite(millis)) {
			return "none within "
					+ time(max(results.stream().mapToDouble((each) -> each.figure(Result.LIMIT))), results);
		}
		return (millis == 0) ? "none lost" : (millis < 1000) ? number((millis < 10) ? "%.1f ms" : "%.0f ms", millis)
				: number((millis < 20_000) ? "%.1f s" : "%.0f s", millis / 1000);
	}

	private static String number(String format, double value) {
		return String.format(Locale.ROOT, format, value);
	}

	private List<Result> of(Candidate candidate, Variant variant, Measurement measurement) {
		return this.results.stream().filter((each) -> each.isOf(candidate, variant, measurement)).toList();
	}

	private List<Row> rows(Predicate<Result> condition) {
		return this.results.stream()
			.filter(condition)
			.map((each) -> new Row(each.candidate(), each.variant()))
			.distinct()
			.sorted(Comparator.comparing(Row::candidate).thenComparing(Row::variant))
			.toList();
	}

	private String distinct(Function<Result, String> property) {
		return this.results.stream()
			.map(property)
			.filter((each) -> !each.isEmpty())
			.distinct()
			.sorted()
			.collect(Collectors.joining(", "));
	}

	private static String header(Stream<String> cells) {
		String line = line(cells);
		return line + "|---".repeat((int) line.chars().filter((each) -> each == '|').count() - 1) + "|\n";
	}

	private static String line(Stream<String> cells) {
		return cells.collect(Collectors.joining(" | ", "| ", " |\n"));
	}

	private record Row(Candidate candidate, Variant variant) {

		String title() {
			return this.candidate.title() + ((this.variant == Variant.TUNED) ? ", tuned" : "");
		}

	}

	/**
	 * A column of a table. Smaller values are better.
	 */
	private record Column(String title, String figure, ToDoubleFunction<DoubleStream> summary,
			BiFunction<Double, List<Result>, String> text) {

		static Column counter(String title, String figure, double divisor) {
			return new Column(title, figure, Report::median, (value, all) -> number("%.1f", value / divisor));
		}

		double value(List<Result> results) {
			return this.summary.applyAsDouble(results.stream().mapToDouble((each) -> each.figure(this.figure)));
		}

	}

}
