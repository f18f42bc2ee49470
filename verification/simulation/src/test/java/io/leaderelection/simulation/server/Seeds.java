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

package io.leaderelection.simulation.server;

import java.time.Duration;
import java.util.Random;

import org.assertj.core.api.Assertions;

/**
 * Runs a test with one seed after the other, each time as many as the time allows. A seed
 * that fails is in the message; it alone is run again with {@code -Dsimulation.seed=}.
 */
public final class Seeds {

	private static final String PROPERTY = "simulation.seed";

	private Seeds() {
	}

	/**
	 * Run a test for a while.
	 * @return how many seeds were run
	 */
	public static int run(Duration duration, SeededTest test) throws Exception {
		Long chosen = Long.getLong(PROPERTY);
		long first = (chosen != null) ? chosen : System.currentTimeMillis() << 20;
		System.out.println("Seeds from -D" + PROPERTY + "=" + first);
		long end = System.nanoTime() + duration.toNanos();
		int count = 0;
		do {
			run(first + count, test);
			count++;
		}
		while (chosen == null && System.nanoTime() < end);
		return count;
	}

	private static void run(long seed, SeededTest test) throws Exception {
		try {
			test.run(new Random(seed));
		}
		catch (AssertionError ex) {
			Assertions.fail("Run this again with -D" + PROPERTY + "=" + seed + "\n" + ex.getMessage(), ex);
		}
	}

	/**
	 * What is run with a seed.
	 */
	@FunctionalInterface
	public interface SeededTest {

		void run(Random random) throws Exception;

	}

}
