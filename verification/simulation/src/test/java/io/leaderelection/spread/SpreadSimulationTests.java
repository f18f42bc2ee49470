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
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiConsumer;
import java.util.stream.LongStream;

import io.leaderelection.spread.SpreadWorld.Node;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Spreads elections in virtual time, and finds each {@link SpreadMistake}. Each run has
 * new seeds, {@code -Dsimulation.seed} the given ones.
 */
@Tag("ring2")
class SpreadSimulationTests {

	private static final int HISTORIES = Integer.getInteger("simulation.histories", 1);

	private final long seed = Long.getLong("simulation.seed", System.nanoTime());

	@ParameterizedTest
	@EnumSource
	void electionsBecomeEven(Kind kind) {
		for (long next = this.seed; next < this.seed + HISTORIES; next++) {
			assertThat(kind.violations(next, SpreadMistake.NONE)).as("seed %d", next).isEmpty();
		}
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource(mode = EnumSource.Mode.EXCLUDE, names = "NONE")
	void findsMistake(SpreadMistake mistake) {
		List<String> violations = LongStream.range(this.seed, this.seed + 5L * HISTORIES)
			.boxed()
			.flatMap((next) -> Arrays.stream(Kind.values())
				.filter((kind) -> kind != Kind.MANY_ELECTIONS_START)
				.map((kind) -> kind.violations(next, mistake)))
			.filter((found) -> !found.isEmpty())
			.findFirst()
			.orElse(List.of());
		assertThat(violations).as("from seed %d", this.seed).isNotEmpty();
	}

	private static void crashLoop(SpreadWorld world, Random random) {
		Node looping = world.add();
		for (int i = 0; i < 30; i++) {
			looping.start();
			world.run(Duration.ofMillis(1000 + random.nextInt(7000)));
			looping.kill();
			world.run(Duration.ofMillis(random.nextInt(5000)));
		}
	}

	private static void rollingRestart(SpreadWorld world, Random random) {
		world.nodes.forEach((node) -> {
			node.stop();
			world.run(Duration.ofMillis(3000 + random.nextInt(10_000)));
			node.start();
			world.run(Duration.ofMillis(3000 + random.nextInt(10_000)));
		});
	}

	private static void addStranger(SpreadWorld world, Random random) {
		Node stranger = world.add();
		stranger.capacity = 0;
		stranger.start();
		if (random.nextBoolean()) {
			world.run(Duration.ofSeconds(1));
			world.nodes.get(0).stop();
			world.runUntilLed();
			world.nodes.get(0).start();
		}
	}

	private static Node any(SpreadWorld world, Random random) {
		return world.nodes.get(random.nextInt(world.nodes.size()));
	}

	/**
	 * What happens to nodes, and what they must reach then.
	 */
	private enum Kind {

		ALL_START(16, 4, false, 0, (world, random) -> {
		}),

		MANY_ELECTIONS_START(200, 20, false, 0, (world, random) -> {
		}),

		LONG_DRAIN(50, 4, false, 0, (world, random) -> {
		}),

		NODE_MORE(50, 20, true, 0, (world, random) -> world.add().start()),

		TWO_MORE(16, 4, true, 0, (world, random) -> {
			world.add().start();
			world.run(Duration.ofMillis(random.nextInt(3000)));
			world.add().start();
		}),

		KILLED(16, 4, true, 0, (world, random) -> any(world, random).kill()),

		STOPPED(16, 4, true, 0, (world, random) -> any(world, random).stop()),

		/** One was killed and one was frozen. */
		TWO_COME_BACK(16, 4, true, 0, (world, random) -> {
			world.nodes.get(1).kill();
			world.nodes.get(2).freeze(Duration.ofSeconds(20));
			world.run(Duration.ofSeconds(20));
			world.nodes.get(1).start();
		}),

		/** In the first minute of the node. */
		KILLED_EARLY(16, 4, true, 0, (world, random) -> {
			Node added = world.add();
			added.start();
			world.run(Duration.ofMillis(random.nextInt(60_000)));
			added.kill();
		}),

		ROLLING_RESTART(16, 4, true, 0, SpreadSimulationTests::rollingRestart),

		/** The node may be seen for long enough to count. */
		CRASH_LOOP(16, 4, false, 4, SpreadSimulationTests::crashLoop),

		/** A node starts again with a limit below its share. */
		LIMIT(16, 4, true, -2, (world, random) -> {
			Node limited = any(world, random);
			limited.stop();
			world.runUntilLed();
			limited.capacity = 2;
			limited.start();
		}),

		/** Nodes do not take part, but have limits. */
		ONLY_LIMITS(16, 4, false, -1, (world, random) -> {
			world.nodes.forEach((node) -> {
				node.stop();
				node.capacity = -6;
			});
			world.nodes.forEach((node) -> {
				node.start();
				world.run(Duration.ofMillis(random.nextInt(2000)));
			});
		}),

		/** A node wins, but cannot start its services. */
		UNUSABLE(12, 4, false, -30, (world, random) -> world.nodes.get(3).usable = false),

		/** A node does not take part, and leads more than others, or less. */
		STRANGER(20, 4, false, -1, SpreadSimulationTests::addStranger);

		private final int elections;

		private final int nodes;

		private final boolean evenBefore;

		/**
		 * How many hand-overs may not help, negative if elections cannot become even.
		 */
		private final int futile;

		private final BiConsumer<SpreadWorld, Random> change;

		Kind(int elections, int nodes, boolean evenBefore, int futile, BiConsumer<SpreadWorld, Random> change) {
			this.elections = elections;
			this.nodes = nodes;
			this.evenBefore = evenBefore;
			this.futile = futile;
			this.change = change;
		}

		List<String> violations(long seed, SpreadMistake mistake) {
			Random random = new Random(seed);
			SpreadWorld world = new SpreadWorld(seed, mistake, Duration.ofSeconds((this == LONG_DRAIN) ? 20 : 1),
					this.elections, this.nodes);
			if (this.evenBefore) {
				world.runUntilEven(Duration.ofMinutes(5));
				world.run(Duration.ofSeconds(40));
			}
			int before = world.handOvers;
			this.change.accept(world, random);
			world.run(SpreadWorld.LEASE);
			world.runUntilLed();
			int necessary = world.necessary() + world.handOvers - before;
			int batches = (world.led().stream().max(Integer::compare).orElseThrow() + SpreadPolicy.BATCH - 1)
					/ SpreadPolicy.BATCH;
			Duration allowed = SpreadWorld.HOLD.plusSeconds(10).plus(world.drain.multipliedBy(batches));
			boolean isPossible = this.futile >= 0;
			Duration time = isPossible ? world.runUntilEven(Duration.ofMinutes(10)) : Duration.ZERO;
			world.run(Duration.ofSeconds(30));
			boolean limited = world.nodes.stream()
				.allMatch((node) -> node.capacity == 0 || node.led() <= Math.abs(node.capacity));
			world.run(Duration.ofMinutes((this == UNUSABLE) ? 60 : (this.elections > 100) ? 1 : 5));
			List<String> violations = new ArrayList<>();
			int handedOver = world.handOvers - before;
			check(violations, this.futile > 0 || time.compareTo(allowed) <= 0, "is even after " + time);
			check(violations, !isPossible || world.necessary() == 0, "did not remain even");
			check(violations, handedOver <= necessary + Math.abs(this.futile),
					handedOver + " hand-overs, " + necessary + " necessary");
			check(violations, limited, "a node leads more than it may");
			check(violations, !isPossible || world.futileHandOvers == 0, "a receiver was dead");
			check(violations, world.longestVacancy <= 1_000_000_000L, "had no leader for " + world.longestVacancy);
			if (!violations.isEmpty()) {
				violations.add(this + " " + world.led() + world.nodes.stream().map((node) -> node.waiting).toList());
			}
			return violations;
		}

		private static void check(List<String> violations, boolean fine, String violation) {
			if (!fine) {
				violations.add(violation);
			}
		}

	}

}
