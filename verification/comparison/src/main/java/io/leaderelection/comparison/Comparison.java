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
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

import io.leaderelection.benchmarks.Machine;
import io.leaderelection.comparison.Candidate.Variant;

import org.springframework.boot.convert.DurationStyle;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/**
 * The driver. It makes the runs that are not recorded yet, and prints the tables of all
 * that are. See the README of the module for its options.
 */
public final class Comparison {

	private final SimpleCommandLinePropertySource options;

	private final ResultFile file;

	Comparison(String... args) throws IOException {
		this.options = new SimpleCommandLinePropertySource(args);
		this.file = new ResultFile(Path.of(option("out", "verification/comparison/target/comparison.jsonl")));
	}

	public static void main(String[] args) throws Exception {
		Comparison comparison = new Comparison(args);
		comparison.run();
		String tables = new Report(comparison.file.results()).markdown();
		System.out.println(tables);
		String document = comparison.options.getProperty("update");
		if (document != null) {
			Path path = Path.of(document);
			Files.writeString(path, Report.replace(Files.readString(path), tables));
		}
		// Servers in this JVM leave threads
		System.exit(0);
	}

	/**
	 * Makes the runs that are missing.
	 */
	void run() throws Exception {
		String measurements = option("faults", names(Measurement.values()));
		for (Candidate candidate : Candidate.parse(option("candidates", names(Candidate.values())))) {
			for (String variant : option("variants", "default,tuned").split(",")) {
				run(candidate, Variant.valueOf(constant(variant)), Measurement.parse(measurements));
			}
		}
	}

	private void run(Candidate candidate, Variant variant, List<Measurement> measurements) throws Exception {
		Duration limit = DurationStyle.detectAndParse(option("limit", "120s"));
		Duration idle = DurationStyle.detectAndParse(option("idle", "30s"));
		List<Measurement> missing = measurements.stream()
			.filter((measurement) -> measurement.appliesTo(candidate))
			.filter((measurement) -> recorded(candidate, variant, measurement) < runs(measurement))
			.toList();
		if (missing.isEmpty()) {
			return;
		}
		List<String> settings = candidate.options(variant);
		try (Backend backend = Backend.start(candidate.backend(), Candidate.withPrefix(settings, "server:"))) {
			for (Measurement measurement : missing) {
				for (int run = recorded(candidate, variant, measurement) + 1; run <= runs(measurement); run++) {
					String load = Machine.load();
					Map<String, Double> figures = new Run(candidate, variant, backend, limit, idle).measure(measurement,
							run);
					Result result = new Result(candidate, variant, settings, measurement, run, Instant.now().toString(),
							machine(), load, figures);
					this.file.add(result);
					System.out.println(candidate + " " + variant + " " + measurement + " " + run + ": " + figures);
				}
			}
		}
	}

	List<Result> results() {
		return this.file.results();
	}

	private int recorded(Candidate candidate, Variant variant, Measurement measurement) {
		return (int) results().stream().filter((result) -> result.isOf(candidate, variant, measurement)).count();
	}

	private int runs(Measurement measurement) {
		String runs = this.options.getProperty("runs");
		return (runs != null) ? Integer.parseInt(runs) : measurement.runs();
	}

	private String option(String name, String otherwise) {
		return Objects.requireNonNullElse(this.options.getProperty(name), otherwise);
	}

	private static String machine() {
		return "%d cores, %s, JDK %s".formatted(Runtime.getRuntime().availableProcessors(),
				System.getProperty("os.name"), System.getProperty("java.vm.version"));
	}

	private static String names(Enum<?>[] constants) {
		return Arrays.stream(constants).map(Enum::name).collect(Collectors.joining(","));
	}

	/**
	 * The name of a constant that an option names as {@code advisory-lock}.
	 */
	static String constant(String name) {
		return name.trim().toUpperCase(Locale.ROOT).replace('-', '_');
	}

}
