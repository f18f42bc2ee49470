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

package io.leaderelection.simulation;

import java.time.Duration;

import io.leaderelection.simulation.Invariants.Violation;
import io.leaderelection.simulation.Simulation.Result;
import io.leaderelection.testsupport.Mutant;

/**
 * Looks for a mistake that is seeded in the class path of this process. The exit status
 * is 0 if the simulation has found it.
 */
public final class BlindMistakeSearch {

	private static final long FIRST_SEED = 1;

	private static final int MOST_FAILOVERS = 50_000;

	private static final Duration LIMIT = Duration.ofMinutes(5);

	private BlindMistakeSearch() {
	}

	/**
	 * Run histories on all processors until a guarantee is violated.
	 * @param arguments the name of the mistake
	 */
	public static void main(String... arguments) {
		BlindMistake mistake = BlindMistake.valueOf(arguments[0]);
		Histories histories = new Histories(Mutant.NONE, FIRST_SEED).run(LIMIT, MOST_FAILOVERS,
				Runtime.getRuntime().availableProcessors());
		Result result = histories.violation();
		Violation violation = (result != null) ? result.violation() : null;
		if (violation == null) {
			System.out.println(mistake + " was not found: " + histories);
			System.exit(1);
		}
		else {
			System.out.println(mistake + " was found after " + histories.grants()
					+ " failovers, in the history of seed " + result.seed() + ": " + violation);
			System.exit(mistake.guarantees().contains(violation.guarantee()) ? 0 : 1);
		}
	}

}
