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

/**
 * What is measured.
 */
enum Measurement {

	KILL("Kill -9", 3, 10), STOP("Orderly stop (SIGTERM)", 3, 10), FREEZE("Frozen (SIGSTOP, SIGCONT)", 3, 5),

	CUT("Cut off, nothing closed", 3, 5), SESSION("Session ended by the server", 3, 5),

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

	/**
	 * How often it is measured, unless {@code --runs} says otherwise.
	 */
	int runs() {
		return this.runs;
	}

	boolean isFault() {
		return compareTo(START) < 0;
	}

	boolean isIdle() {
		return compareTo(START) > 0;
	}

	boolean appliesTo(Candidate candidate) {
		return this != SESSION || candidate.hasSession();
	}

}
