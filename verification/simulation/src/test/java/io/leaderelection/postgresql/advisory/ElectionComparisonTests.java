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

package io.leaderelection.postgresql.advisory;

import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.ElectionOperation.Kind;
import io.leaderelection.simulation.ComparedSessions;
import io.leaderelection.simulation.RealServer;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.SimulatedServer;
import io.leaderelection.simulation.server.Seeds;
import io.leaderelection.simulation.server.Seeds.SeededTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * The programs for the simulated server answer as the statements of the library do on
 * PostgreSQL. Nodes watch, take seats, wait, win, confirm and hand over at random,
 * transactions pass the fence or not, and after each operation all answers and locks are
 * compared. Sessions are closed by their clients, terminated, or silent for too long, and
 * a winner that has known its predecessor must find out which.
 */
@Tag("ring2")
class ElectionComparisonTests {

	private static final Duration BUDGET = Duration.ofSeconds(3);

	private static final Duration LONG_BUDGET = Duration.ofSeconds(30);

	/** Well below the longest wait and the idle timeout of a session after a release. */
	private static final long TENSE_NANOS = 600_000_000;

	private static final int OPERATIONS = 150;

	private static final int FEWEST_OPERATIONS = 100;

	private static final int MOST_TRIES = 10;

	private static final int FEWEST_ABANDONED = 10;

	/** The clock of both, which each operation advances. */
	private volatile long now;

	private final Platform platform = new Platform() {

		@Override
		public long nanoTime() {
			return ElectionComparisonTests.this.now;
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			return Platform.SYSTEM.newThread(name, task);
		}

	};

	private int operations;

	private int discarded;

	/** Winners that must take their predecessor for abandoned, if it is gone in time. */
	private int abandoned;

	/** Those that did. */
	private int recognized;

	@Test
	void answersAsTheLibraryDoesOnPostgreSql() throws Exception {
		run(BUDGET, Sentinel.NONE);
	}

	@Test
	@Tag("ring3")
	void answersAsTheLibraryDoesOnPostgreSqlForLong() throws Exception {
		run(LONG_BUDGET, Sentinel.NONE);
	}

	@Test
	@Tag("ring3")
	void findsDeviation() {
		assertThatExceptionOfType(AssertionError.class)
			.isThrownBy(() -> run(LONG_BUDGET, Sentinel.YIELDS_WITHOUT_UNLOCK))
			.withMessageStartingWith("Run this again")
			.withMessageContaining("expected: ");
	}

	/**
	 * A run in which the server was too slow, or in which process ids began again, says
	 * nothing, so there may have to be more.
	 */
	private void run(Duration budget, Sentinel sentinel) throws Exception {
		SeededTest test = (random) -> compare(random, sentinel);
		int seeds = Seeds.run(budget, test);
		for (int more = 0; this.operations < FEWEST_OPERATIONS && more < MOST_TRIES; more++) {
			seeds += Seeds.run(budget, test);
		}
		System.out.println(this.operations + " operations gave the same answers and locks; " + this.discarded + " of "
				+ seeds + " runs were discarded; " + this.recognized + " of " + this.abandoned
				+ " sessions that their clients had ended were recognized");
		assertThat(this.operations).isGreaterThanOrEqualTo(FEWEST_OPERATIONS);
		if (this.abandoned >= FEWEST_ABANDONED) {
			assertThat(this.recognized).isPositive();
		}
	}

	private void compare(Random random, Sentinel sentinel) throws Exception {
		ElectionKeys keys = ElectionKeys.ofLockId(random.nextLong());
		int standbys = 1 + random.nextInt(3);
		boolean equal = random.nextBoolean();
		int[] priorities = random.ints(ElectionCourse.NODES, 0, equal ? 1 : 3).toArray();
		List<String> history = new ArrayList<>(
				List.of(standbys + " standbys, priorities " + Arrays.toString(priorities)));
		ElectionCourse course = new ElectionCourse(random);
		this.now = random.nextInt();
		try (ComparedElection simulated = simulated(keys, standbys, priorities, random, sentinel);
				ComparedElection real = real(keys, standbys, priorities)) {
			long tenseSince = System.nanoTime();
			Set<Integer> uncertain = new HashSet<>();
			for (int count = 0; count < OPERATIONS; count++) {
				ElectionOperation operation = course.next();
				this.now += TimeUnit.MILLISECONDS.toNanos(random.nextInt(2000));
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
				if (operation.endsSession()) {
					// The winner may look while the other session frees its locks (H3)
					expected.replaceAll((session, answer) -> answer.replace(ComparedElection.CLEAR, ""));
					answers.replaceAll((session, answer) -> answer.replace(ComparedElection.CLEAR, ""));
				}
				if (ComparedElection.LOST.equals(answers.get(operation.session()))) {
					// It frees the head of the queue before its end is counted, so that a
					// session behind it may read its baseline before or after that
					uncertain.addAll(answers.keySet());
				}
				if (operation.kind() == Kind.CLOSE) {
					uncertain.forEach((session) -> {
						expected.computeIfPresent(session, ElectionComparisonTests::withoutConclusion);
						answers.computeIfPresent(session, ElectionComparisonTests::withoutConclusion);
					});
					tolerateDelay(expected, answers);
				}
				uncertain.removeIf((session) -> !ComparedSessions.WAITS.equals(answers.get(session)));
				assertThat(expected).as(String.join("\n", history)).isEqualTo(answers);
				assertThat(simulated.locks()).as(String.join("\n", history)).isEqualTo(real.locks());
				course.follow(operation, answers);
				this.operations++;
			}
		}
	}

	private ComparedElection simulated(ElectionKeys keys, int standbys, int[] priorities, Random random,
			Sentinel sentinel) throws SQLException {
		SimulatedServer server = new SimulatedServer(new Random(random.nextLong()),
				RealServer.SETTINGS.withPartitionSeed(random.nextInt()));
		AdvisoryLockPrograms programs = new AdvisoryLockPrograms(keys, sentinel, server.texts(), null);
		return new ComparedElection(keys, standbys, priorities, server,
				(settings) -> new SimulatedStore(keys, programs, settings, server::connect, null, this.platform));
	}

	private ComparedElection real(ElectionKeys keys, int standbys, int[] priorities) throws SQLException {
		RealServer server = new RealServer();
		return new ComparedElection(keys, standbys, priorities, server,
				(settings) -> new AdvisoryLockStore(settings, keys, 0, false, server::connect, null, this.platform));
	}

	private static String withoutConclusion(Integer session, String answer) {
		return answer.replace(ComparedElection.ABANDONED, "");
	}

	/**
	 * A real process may need longer to end than a winner waits, who then draws no
	 * conclusion. That it draws none if the server has ended the session is certain.
	 */
	private void tolerateDelay(SortedMap<Integer, String> expected, SortedMap<Integer, String> answers) {
		expected.replaceAll((session, answer) -> {
			if (!answer.endsWith(ComparedElection.ABANDONED)) {
				return answer;
			}
			this.abandoned++;
			boolean late = !String.valueOf(answers.get(session)).endsWith(ComparedElection.ABANDONED);
			this.recognized += late ? 0 : 1;
			return late ? withoutConclusion(session, answer) : answer;
		});
	}

}
