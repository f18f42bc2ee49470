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

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import tlc2.TLC;

/**
 * Runs TLC, in a process of its own since its state is static.
 */
final class ModelChecker {

	static final Path MODULES = Path.of("src/test/tla");

	static final Path TARGET = Path.of("target/tlc").toAbsolutePath();

	private static final Duration LIMIT = Duration.ofMinutes(60);

	private static final Pattern VIOLATED = Pattern.compile("Error: (?:Invariant|Action property) (\\w+) is violated");

	private static final Pattern ACTION_PROPERTY = Pattern
		.compile("Error: Action property line \\d+, col \\d+ to line \\d+, col \\d+ of module \\w+ is violated");

	private static final Pattern STATES = Pattern.compile("(\\d+) states generated, (\\d+) distinct states found, \\d");

	private static final Pattern DEPTH = Pattern.compile("depth of the complete state graph search is (\\d+)");

	private ModelChecker() {
	}

	static Outcome check(String name, Instance instance) {
		return check(name, instance, 1);
	}

	/** Return the options for TLC on which its outcome depends. */
	static List<String> options(int workers) {
		return List.of("-workers", String.valueOf(workers), "-fp", "0", "-lncheck", "final");
	}

	/** Return the archive with TLC and the standard modules. */
	static Path archive() {
		try {
			return Path.of(TLC.class.getProtectionDomain().getCodeSource().getLocation().toURI());
		}
		catch (URISyntaxException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Check an instance.
	 * @param name the name of this run
	 * @param instance the instance
	 * @param workers the number of threads; with one thread, equal runs have equal
	 * outcomes
	 * @return the outcome
	 */
	static Outcome check(String name, Instance instance, int workers) {
		try {
			Path directory = Files.createDirectories(TARGET.resolve(name));
			Path configuration = Files.writeString(directory.resolve("model.cfg"), instance.configuration());
			File output = directory.resolve("output.txt").toFile();
			long start = System.nanoTime();
			List<String> command = new ArrayList<>(
					List.of(Path.of(System.getProperty("java.home"), "bin/java").toString(),
							(workers > 1) ? "-XX:+UseParallelGC" : "-XX:+UseSerialGC", "-Djava.io.tmpdir=" + directory,
							"-cp", archive().toString(), TLC.class.getName()));
			command.addAll(options(workers));
			command.addAll(
					List.of("-config", configuration.toString(), "-metadir", directory.toString(), instance.module()));
			Process process = new ProcessBuilder(command).directory(MODULES.toFile())
				.redirectErrorStream(true)
				.redirectOutput(output)
				.start();
			try {
				if (!process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)) {
					throw new IllegalStateException("TLC has not ended: " + output);
				}
			}
			finally {
				process.destroyForcibly();
			}
			Outcome outcome = outcome(Files.readString(output.toPath()), instance);
			record(name, outcome, TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start));
			return outcome;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static Outcome outcome(String output, Instance instance) {
		Matcher violated = VIOLATED.matcher(output);
		String property = null;
		if (violated.find()) {
			property = violated.group(1);
		}
		else if (ACTION_PROPERTY.matcher(output).find()
				|| output.contains("Error: Temporal properties were violated.")) {
			property = instance.property();
		}
		else if (!output.contains("Model checking completed. No error has been found.")) {
			throw new IllegalStateException("TLC has failed:\n" + output);
		}
		return new Outcome(property, number(STATES, 1, output), number(STATES, 2, output), number(DEPTH, 1, output),
				output);
	}

	private static long number(Pattern pattern, int group, String output) {
		long number = -1;
		for (Matcher matcher = pattern.matcher(output); matcher.find();) {
			number = Long.parseLong(matcher.group(group));
		}
		return number;
	}

	private static void record(String name, Outcome outcome, long seconds) throws IOException {
		Files.writeString(TARGET.resolve("figures.md"),
				"| %s | %s | %d | %d | %d | %d |%n".formatted(name,
						(outcome.violated() != null) ? outcome.violated() : "", outcome.generated(), outcome.distinct(),
						outcome.depth(), seconds),
				StandardOpenOption.CREATE, StandardOpenOption.APPEND);
	}

	/**
	 * What TLC has found.
	 *
	 * @param violated the property that is violated, or {@code null} if all hold
	 * @param generated the number of states that were generated
	 * @param distinct the number of distinct states
	 * @param depth the length of the longest of the shortest paths to a state
	 * @param output what TLC has written
	 */
	record Outcome(String violated, long generated, long distinct, long depth, String output) {

		boolean holds() {
			return this.violated == null;
		}

		@Override
		public String toString() {
			return this.output;
		}

	}

}
