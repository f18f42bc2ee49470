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

package io.leaderelection.spread;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;
import java.util.stream.LongStream;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Spreads elections in virtual time, and finds each {@link SpreadMistake}. Each run has
 * new seeds, {@code -Dsimulation.seed} the given ones.
 */
@Tag("ring2")
class SpreadSimulationTests {

	private static final int UNLIMITED = Integer.MAX_VALUE;

	private static final int HISTORIES = Integer.getInteger("simulation.histories", 10);

	private static final List<int[]> STATES = List.of(new int[] { 7, 5, 5 }, new int[] { 8, 6, 6, 6 },
			new int[] { 6, 6, 4, 0 }, new int[] { 16, 0, 0, 0 }, new int[] { 4, 4, 0 }, new int[] { 3, 3, 1 });

	private final long seed = Long.getLong("simulation.seed", System.nanoTime());

	@Test
	void spreadsElectionsWithTheFewestHandOvers() {
		STATES.forEach((led) -> assertFine(evenness(this.seed, SpreadMistake.NONE, led)));
	}

	@Test
	@Tag("ring3")
	void spreadsManyElections() {
		assertFine(evenness(this.seed, SpreadMistake.NONE, 20, 0, 0, 0, 0, 0, 0, 0));
	}

	@Test
	void spreadsElectionsAfterFaults() {
		assertFine(faults(this.seed, SpreadMistake.NONE));
	}

	@Test
	void handsOverLessOftenToNodeThatCannotLead() {
		assertFine(unusable(this.seed, SpreadMistake.NONE));
	}

	@Test
	void suspendsLessOftenForNodeThatDoesNotTakePart() {
		assertFine(stranger(this.seed, SpreadMistake.NONE));
	}

	@Test
	void keepsLimit() {
		assertFine(limit(this.seed, SpreadMistake.NONE));
	}

	@Test
	void doesNotMoveElectionsForEverIfLimitsAreTooLow() {
		assertFine(lowLimit(this.seed, SpreadMistake.NONE));
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource
	void findsMistakeAndNothingWithoutOne(SpreadMistake mistake) {
		// Less than half of the histories show it
		int most = (mistake == SpreadMistake.RESUMED_AT_RELEASE) ? 5 * HISTORIES : HISTORIES;
		List<String> violations = LongStream.range(this.seed, this.seed + most)
			.boxed()
			.flatMap((next) -> Stream.<Supplier<List<String>>>of(() -> limit(next, mistake),
					() -> evenness(next, mistake, 4, 4, 0), () -> evenness(next, mistake, 3, 3, 1),
					() -> evenness(next, mistake, 6, 6, 4, 0), () -> unusable(next, mistake),
					() -> stranger(next, mistake), () -> faults(next, mistake), () -> lowLimit(next, mistake)))
			.map(Supplier::get)
			.filter((found) -> !found.isEmpty())
			.findFirst()
			.orElse(List.of());
		assertThat(violations.isEmpty()).as("from seed %d: %s", this.seed, violations)
			.isEqualTo(mistake == SpreadMistake.NONE);
	}

	private void assertFine(List<String> violations) {
		assertThat(violations).as("seed %d", this.seed).isEmpty();
	}

	/**
	 * Nothing fails: each hand-over is necessary, and none follows.
	 */
	private static List<String> evenness(long seed, SpreadMistake mistake, int... led) {
		SpreadWorld world = new SpreadWorld(seed, mistake, UNLIMITED, led);
		int necessary = world.necessary();
		Duration each = SpreadWorld.HOLD.plus(SpreadWorld.DRAIN_TIMEOUT)
			.plus(SpreadWorld.LONGEST_POLL)
			.plus(SpreadPolicy.SETTLING);
		List<String> violations = new ArrayList<>();
		check(violations, world.runUntilEven(each.multipliedBy(necessary)), "is not even in time");
		world.run(Duration.ofHours(1));
		check(violations, world.necessary() == 0, "did not remain even");
		check(violations, world.handOvers.size() == necessary,
				world.handOvers.size() + " hand-overs, " + necessary + " necessary");
		check(violations, world.longestVacancy <= 1_000_000_000L, "had no leader for " + world.longestVacancy);
		checkPauses(violations, world);
		return violations;
	}

	/**
	 * Nodes fail at random for some time.
	 */
	private static List<String> faults(long seed, SpreadMistake mistake) {
		Random random = new Random(seed);
		int[] led = random.ints(3 + random.nextInt(4), 0, 9).toArray();
		led[0]++;
		SpreadWorld world = new SpreadWorld(seed, mistake, UNLIMITED, led);
		for (int fault = 0; fault < 30; fault++) {
			world.run(Duration.ofMillis(random.nextInt(120_000)));
			world.fail();
		}
		world.heal();
		world.run(Duration.ofSeconds(50));
		List<String> violations = new ArrayList<>();
		int allowed = world.handOvers.size() + world.necessary() + led.length;
		check(violations, world.runUntilEven(Duration.ofMinutes(5).multipliedBy(world.necessary() + 1)),
				"is not even in time");
		world.run(Duration.ofHours(2));
		check(violations, world.necessary() == 0, "did not remain even");
		check(violations, world.handOvers.size() <= allowed, "more hand-overs than necessary");
		// As after the loss of the leader and all standbys
		Duration longest = SpreadWorld.LEASE.plus(SpreadWorld.LONGEST_POLL).plusSeconds(5);
		check(violations, world.longestVacancy <= longest.toNanos(), "had no leader for " + world.longestVacancy);
		checkPauses(violations, world);
		return violations;
	}

	/**
	 * A node wins but cannot lead.
	 */
	private static List<String> unusable(long seed, SpreadMistake mistake) {
		SpreadWorld world = new SpreadWorld(seed, mistake, UNLIMITED, 4, 4, 4, 0);
		world.nodes.get(3).usable = false;
		world.run(Duration.ofHours(4));
		List<String> violations = new ArrayList<>();
		check(violations, world.handOvers.size() <= 20, world.handOvers.size() + " hand-overs do not help");
		return violations;
	}

	/**
	 * A node leads more than the receiver but does not suspend its candidacy.
	 */
	private static List<String> stranger(long seed, SpreadMistake mistake) {
		SpreadWorld world = new SpreadWorld(seed, mistake, UNLIMITED, 4, 2, 3, 0);
		world.nodes.get(2).spreads = false;
		world.run(Duration.ofHours(4));
		List<String> violations = new ArrayList<>();
		check(violations, world.handOvers.isEmpty(), world.handOvers.size() + " hand-overs to a node that leads more");
		check(violations, world.suspensions <= 30, world.suspensions + " suspensions");
		return violations;
	}

	/**
	 * Nodes have a limit, which is too low when one of them has stopped.
	 */
	private static List<String> limit(long seed, SpreadMistake mistake) {
		SpreadWorld world = new SpreadWorld(seed, mistake, 4, 12, 0, 0);
		List<String> violations = new ArrayList<>();
		world.run(Duration.ofMinutes(20));
		check(violations, world.mostLed() == 4, "a node leads " + world.mostLed());
		check(violations, world.handOvers.size() == 8, world.handOvers.size() + " hand-overs, 8 necessary");
		world.nodes.get(0).stop(true);
		world.run(Duration.ofMinutes(20));
		check(violations, world.mostLed() <= 8 && world.led() == 12, "a node leads " + world.mostLed());
		// A limit adds the time in which others could win
		Duration longest = SpreadWorld.LONGEST_POLL.plus(SpreadPolicy.WINNING).plusSeconds(5);
		check(violations, world.longestVacancy <= longest.toNanos(), "had no leader for " + world.longestVacancy);
		return violations;
	}

	/**
	 * The limits of all nodes together are too low.
	 */
	private static List<String> lowLimit(long seed, SpreadMistake mistake) {
		SpreadWorld world = new SpreadWorld(seed, mistake, 1, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0);
		world.run(Duration.ofMinutes(30));
		int before = world.handOvers.size();
		world.run(Duration.ofMinutes(30));
		List<String> violations = new ArrayList<>();
		check(violations, world.led() == 12, world.led() + " elections have a leader");
		check(violations, world.handOvers.size() - before <= 2, world.handOvers.size() - before + " hand-overs");
		return violations;
	}

	private static void checkPauses(List<String> violations, SpreadWorld world) {
		// A node may not have observed the last change yet
		long shortest = SpreadWorld.HOLD.minus(SpreadWorld.LONGEST_POLL).minusSeconds(1).toNanos();
		for (int i = 1; i < world.handOvers.size(); i++) {
			check(violations, world.handOvers.get(i) - world.handOvers.get(i - 1) >= shortest, "hand-overs in a row");
		}
	}

	private static void check(List<String> violations, boolean fine, String violation) {
		if (!fine) {
			violations.add(violation);
		}
	}

}
