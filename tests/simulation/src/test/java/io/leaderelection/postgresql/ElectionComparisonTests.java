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

package io.leaderelection.postgresql;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;

import io.leaderelection.postgresql.ElectionOperation.Kind;
import io.leaderelection.simulation.server.ComparedServer;
import io.leaderelection.simulation.server.Seeds;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The programs for the simulated server answer as the statements of the library do on
 * PostgreSQL. Nodes watch, take seats, wait, win, confirm and hand over at random,
 * transactions pass the fence or not, and after each operation all answers and locks are
 * compared.
 */
class ElectionComparisonTests {

	private static final Duration BUDGET = Duration.ofSeconds(3);

	private static final Duration LONG_BUDGET = Duration.ofSeconds(30);

	/** Well below the longest wait and the idle timeout of a session after a release. */
	private static final long TENSE_NANOS = 600_000_000;

	private static final int OPERATIONS = 150;

	private static final int FEWEST_OPERATIONS = 100;

	private static final int MOST_TRIES = 10;

	private int operations;

	private int discarded;

	@Test
	void answersAsTheLibraryDoesOnPostgreSql() throws Exception {
		run(BUDGET);
	}

	@Test
	@Tag("faults")
	void answersAsTheLibraryDoesOnPostgreSqlForLong() throws Exception {
		run(LONG_BUDGET);
	}

	/**
	 * A run in which the server was too slow, or in which process ids began again, says
	 * nothing, so there may have to be more.
	 */
	private void run(Duration budget) throws Exception {
		int seeds = Seeds.run(budget, this::compare);
		for (int more = 0; this.operations < FEWEST_OPERATIONS && more < MOST_TRIES; more++) {
			seeds += Seeds.run(budget, this::compare);
		}
		System.out.println(this.operations + " operations gave the same answers and locks; " + this.discarded + " of "
				+ seeds + " runs were discarded");
		assertThat(this.operations).isGreaterThanOrEqualTo(FEWEST_OPERATIONS);
	}

	private void compare(Random random) throws Exception {
		ElectionKeys keys = ElectionKeys.ofLockId(random.nextLong());
		int standbys = 1 + random.nextInt(3);
		List<String> history = new ArrayList<>(List.of(standbys + " standbys"));
		ElectionCourse course = new ElectionCourse(random);
		try (ComparedElection simulated = new SimulatedElection(keys, standbys, new Random(random.nextLong()),
				ComparedServer.SETTINGS.withPartitionSeed(random.nextInt()));
				RealElection real = new RealElection(keys, standbys, ComparedServer.SERVER)) {
			long tenseSince = System.nanoTime();
			for (int count = 0; count < OPERATIONS; count++) {
				ElectionOperation operation = course.next();
				history.add(operation.toString());
				if (!course.isTense()) {
					tenseSince = System.nanoTime();
				}
				SortedMap<Integer, String> answers = real.run(operation);
				history.add("  " + answers);
				SortedMap<Integer, String> expected = simulated.run(operation);
				if (System.nanoTime() - tenseSince > TENSE_NANOS || !real.hasPidsInOrder()) {
					this.discarded++;
					return;
				}
				if (operation.kind() == Kind.CLOSE || operation.kind() == Kind.TERMINATE) {
					// The winner may look while the other session frees its locks (H3)
					expected.replaceAll((session, answer) -> answer.replace(" clear", ""));
					answers.replaceAll((session, answer) -> answer.replace(" clear", ""));
				}
				assertThat(expected).as(String.join("\n", history)).isEqualTo(answers);
				assertThat(simulated.locks()).as(String.join("\n", history)).isEqualTo(real.locks());
				course.follow(operation, answers);
				this.operations++;
			}
		}
	}

}
