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

import io.leaderelection.simulation.Simulation.Result;
import io.leaderelection.testsupport.Mutant;

/**
 * Looks for a mistake that is seeded in the class path of this process. The exit status
 * is 0 if the simulation has found it.
 */
public final class BlindMistakeSearch {

	private BlindMistakeSearch() {
	}

	/**
	 * Search for a mistake, and print what was found.
	 * @param arguments the name of the mistake
	 */
	public static void main(String... arguments) {
		BlindMistake mistake = BlindMistake.valueOf(arguments[0]);
		Histories histories = Histories.search(Mutant.NONE);
		System.out.println(histories.finding(mistake));
		Result result = histories.violation();
		boolean found = result != null && mistake.guarantees().contains(result.violation().guarantee());
		System.exit(found ? 0 : 1);
	}

}
