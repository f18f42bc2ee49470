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
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.Objects;

import io.leaderelection.comparison.Candidate.Variant;
import tools.jackson.databind.json.JsonMapper;

/**
 * One run. It is recorded as a line of JSON as soon as it has ended.
 *
 * @param candidate what was measured
 * @param variant with which settings
 * @param options these settings
 * @param measurement what was done
 * @param run the number of the run
 * @param at when the run has ended
 * @param machine where it was measured
 * @param server the server and its version
 * @param load the load average when it began
 * @param figures what was measured. No {@link #NEXT} means that no node led within
 * {@link #LIMIT}
 */
record Result(Candidate candidate, Variant variant, List<String> options, Measurement measurement, int run, String at,
		String machine, String server, String load, Map<String, Double> figures) {

	/**
	 * From the fault, or from the start of the process, until the next leader, 0 if the
	 * leader has not lost leadership.
	 */
	static final String NEXT = "nextMillis";

	/** For how long a next leader was awaited. */
	static final String LIMIT = "limitMillis";

	/** For how long two nodes led at once. */
	static final String OVERLAP = "overlapMillis";

	/** 1 if they did so until the end of the observation. */
	static final String OVERLAP_OPEN = "overlapOpen";

	/** Runs of the old leader that began while another node led. */
	static final String OLD_RUNS = "oldRuns";

	private static final JsonMapper JSON = new JsonMapper();

	static List<Result> read(Path file) throws IOException {
		return !Files.exists(file) ? List.of()
				: Files.readAllLines(file).stream().map((line) -> JSON.readValue(line, Result.class)).toList();
	}

	void append(Path file) throws IOException {
		Files.createDirectories(file.toAbsolutePath().getParent());
		Files.writeString(file, JSON.writeValueAsString(this) + "\n", StandardOpenOption.CREATE,
				StandardOpenOption.APPEND);
	}

	boolean isOf(Candidate candidate, Variant variant, Measurement measurement) {
		return this.candidate == candidate && this.variant == variant && this.measurement == measurement;
	}

	double figure(String name) {
		return Objects.requireNonNullElse(this.figures.get(name),
				name.equals(NEXT) ? Double.POSITIVE_INFINITY : Double.NaN);
	}

	/**
	 * What is measured.
	 */
	enum Measurement {

		KILL("Process killed (its host lives)", 3, 10), STOP("Orderly stop (SIGTERM)", 3, 10),
		FREEZE("Frozen (SIGSTOP, SIGCONT)", 3, 5),

		KILL_PROXIED("Process killed, behind a TCP proxy", 3, 5),

		CUT("Cut off, as after the loss of its host", 3, 5), SESSION("Session ended by the server", 3, 5),

		START("Start of one node", 1, 5), IDLE_3("Idle, 3 nodes", 3, 1), IDLE_20("Idle, 20 nodes", 20, 1);

		private final String title;

		private final int nodes;

		private final int runs;

		Measurement(String title, int nodes, int runs) {
			this.title = title;
			this.nodes = nodes;
			this.runs = runs;
		}

		String title() {
			return this.title;
		}

		int nodes() {
			return this.nodes;
		}

		int runs() {
			return this.runs;
		}

		boolean isIdle() {
			return compareTo(START) > 0;
		}

		boolean appliesTo(Candidate candidate) {
			return this != SESSION || candidate != Candidate.KUBERNETES;
		}

	}

}
