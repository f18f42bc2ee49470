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

/**
 * What is measured.
 */
enum Measurement {

	KILL("kill -9", 10), STOP("orderly stop (SIGTERM)", 10), FREEZE("frozen (SIGSTOP, SIGCONT)", 5),

	CUT("cut off, nothing closed", 5), SESSION("session ended by the server", 5), START("start of one node", 5),

	IDLE_3("idle, 3 nodes", 1), IDLE_20("idle, 20 nodes", 1);

	private final String title;

	private final int runs;

	Measurement(String title, int runs) {
		this.title = title;
		this.runs = runs;
	}

	String title() {
		return this.title;
	}

	/**
	 * How often it is measured, unless {@code --runs} says otherwise.
	 */
	int runs() {
		return this.runs;
	}

	boolean isFault() {
		return compareTo(START) < 0;
	}

	boolean appliesTo(Candidate candidate) {
		return this != SESSION || candidate.hasSession();
	}

	static List<Measurement> parse(String names) {
		return Arrays.stream(names.split(",")).map(Comparison::constant).map(Measurement::valueOf).toList();
	}

}
