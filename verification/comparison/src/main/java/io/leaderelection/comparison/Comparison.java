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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;

import io.leaderelection.benchmarks.Machine;
import io.leaderelection.comparison.Candidate.Variant;
import io.leaderelection.comparison.Result.Measurement;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * The driver. It makes the runs that are not recorded yet, and prints the tables of all
 * that are. The README of the module describes its options.
 */
public final class Comparison {

	private static final String MACHINE = "%d cores, %s, JDK %s".formatted(Runtime.getRuntime().availableProcessors(),
			System.getProperty("os.name"), System.getProperty("java.vm.version"));

	private final SimpleCommandLinePropertySource options;

	private final Path file;

	private final List<Result> results;

	Comparison(String... args) throws IOException {
		this.options = new SimpleCommandLinePropertySource(args);
		this.file = Path.of(option("out", "verification/comparison/target/comparison.jsonl"));
		this.results = new ArrayList<>(Result.read(this.file));
		for (Result result : this.results) {
			if (!result.options().equals(result.candidate().options(result.variant()))) {
				throw new IllegalArgumentException(this.file + " has runs of " + result.candidate()
						+ " with other settings: name another file with --out");
			}
		}
	}

	public static void main(String[] args) throws Exception {
		Comparison comparison = new Comparison(args);
		comparison.run();
		String tables = new Report(comparison.results()).markdown();
		System.out.println(tables);
		String update = comparison.option("update", "");
		if (!update.isEmpty()) {
			Files.writeString(Path.of(update), Report.replace(Files.readString(Path.of(update)), tables));
		}
		// Servers in this JVM leave threads
		System.exit(0);
	}

	/**
	 * Makes the runs that are missing.
	 */
	void run() throws Exception {
		for (Candidate candidate : selected(Candidate.class, "candidates")) {
			for (Variant variant : selected(Variant.class, "variants")) {
				List<Measurement> missing = selected(Measurement.class, "faults").stream()
					.filter((measurement) -> measurement.appliesTo(candidate))
					.filter((measurement) -> runs(measurement) > recorded(candidate, variant, measurement))
					.toList();
				if (!missing.isEmpty()) {
					try (Backend backend = candidate.startBackend(variant)) {
						run(new Run(candidate, variant, backend, DurationStyle.detectAndParse(option("limit", "120s")),
								DurationStyle.detectAndParse(option("idle", "30s"))), missing);
					}
				}
			}
		}
	}

	private void run(Run run, List<Measurement> missing) throws Exception {
		for (Measurement measurement : missing) {
			for (int number = recorded(run.candidate(), run.variant(), measurement) + 1; number <= runs(
					measurement); number++) {
				String load = Machine.load().replace("?", "NaN");
				Map<String, Double> figures = run.measure(measurement, number);
				Result result = new Result(run.candidate(), run.variant(), run.candidate().options(run.variant()),
						measurement, number, Instant.now().toString(), MACHINE, run.backend().version(), load, figures);
				result.append(this.file);
				this.results.add(result);
				System.out.printf("%s %s %s %d: %s%n", run.candidate(), run.variant(), measurement, number, figures);
			}
		}
	}

	List<Result> results() {
		return this.results;
	}

	private int recorded(Candidate candidate, Variant variant, Measurement measurement) {
		return (int) this.results.stream().filter((result) -> result.isOf(candidate, variant, measurement)).count();
	}

	private int runs(Measurement measurement) {
		return Integer.parseInt(option("runs", String.valueOf(measurement.runs())));
	}

	private String option(String name, String otherwise) {
		return Objects.requireNonNullElse(this.options.getProperty(name), otherwise);
	}

	/**
	 * The constants that an option names as {@code advisory-lock,table}, or all.
	 */
	private <E extends Enum<E>> List<E> selected(Class<E> type, String option) {
		String names = this.options.getProperty(option);
		return (names != null) ? Arrays.stream(names.split(","))
			.map((name) -> Enum.valueOf(type, name.toUpperCase(Locale.ROOT).replace('-', '_')))
			.toList() : List.of(type.getEnumConstants());
	}

}
