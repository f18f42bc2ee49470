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
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.spread.ElectionSpread.Settings;
import io.leaderelection.spread.Overview.Move;
import io.leaderelection.spread.Overview.Observation;
import io.leaderelection.spread.SpreadPolicy.Decision;
import io.leaderelection.spread.SpreadPolicy.HandOver;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link SpreadPolicy} and {@link Overview}.
 */
@Tag("ring1")
class SpreadPolicyTests {

	private static final Duration HOLD = Duration.ofMinutes(1);

	/** Of the nodes a, b and so on. */
	private final Map<String, Integer> candidates = new LinkedHashMap<>();

	private final Map<String, Observation> elections = new HashMap<>();

	private long now;

	@Test
	void moveIsFromTheLeaderOfTheMostElectionsTiesByName() {
		assertThat(led(6, 6, 4, 0).move()).isEqualTo(new Move("e00", "a", 0));
		assertThat(led(5, 7, 5).move()).isEqualTo(new Move("e05", "b", 5));
		assertThat(led(4, 4, 5).move()).isNull();
	}

	@Test
	void moveIsAmongNodesOfTheHighestPriority() {
		this.candidates.put("a", 5);
		assertThat(led(6, 0).move()).isNull();
		this.candidates.put("c", 5);
		assertThat(led(6, 0, 3).move()).isEqualTo(new Move("e00", "a", 3));
		this.candidates.put("b", 10);
		assertThat(led(6, 0, 3).move()).isNull();
	}

	@Test
	void leaderResignsWhenOthersHaveSuspendedTheirCandidacy() {
		SpreadPolicy policy = policy("a", true, Settings.UNLIMITED);
		Overview all = led(6, 5, 0);
		assertThat(resigned(policy.decide(this.now, all))).isNull();
		this.now += HOLD.toNanos();
		assertThat(resigned(policy.decide(this.now, all))).isNull();
		Decision decision = policy.decide(this.now, without("e00", "b"));
		assertThat(decision).isEqualTo(new Decision(decision.suspended(), new HandOver("e00", "spread"),
				new SpreadStatus(6, 4, "'e00' is to be handed over")));
		assertThat(decision.suspended()).isEmpty();
		assertThat(resigned(policy.decide(this.now, without("e00", "b")))).isNull();
	}

	@Test
	void nodeThatLeadsMoreThanTheReceiverSuspendsItsCandidacy() {
		SpreadPolicy policy = policy("b", true, Settings.UNLIMITED);
		Overview all = led(6, 5, 0);
		assertThat(policy.decide(this.now, all).suspended()).isEmpty();
		this.now += HOLD.toNanos();
		assertThat(policy.decide(this.now, all).suspended()).containsExactly("e00");
		this.elections.put("e00", new Observation(null, null, this.candidates));
		Overview released = new Overview(this.elections);
		assertThat(policy.decide(this.now, released).suspended()).as("until others could win").containsExactly("e00");
		assertThat(policy.decide(this.now + SpreadPolicy.WINNING.toNanos(), released).suspended()).isEmpty();
		elect("e00", "c", 2);
		assertThat(policy.decide(this.now, new Overview(this.elections)).suspended()).isEmpty();
		assertThat(policy("c", true, Settings.UNLIMITED).decide(this.now + HOLD.toNanos(), all).suspended()).isEmpty();
	}

	@Test
	void nothingMovesWhileLeaderIsUnknown() {
		SpreadPolicy policy = policy("a", true, Settings.UNLIMITED);
		policy.decide(this.now, led(6, 0));
		this.elections.put("e03", new Observation(null, null, this.candidates));
		this.now += HOLD.toNanos();
		Decision decision = policy.decide(this.now, new Overview(this.elections));
		assertThat(resigned(decision)).isNull();
		assertThat(decision.status().waiting()).isEqualTo("no leader of 'e03' is known");
		elect("e03", "a", 1);
		assertThat(resigned(policy.decide(this.now, new Overview(this.elections)))).isEqualTo("e00");
	}

	@Test
	void statusSaysWhyElectionsAreNotSpread() {
		SpreadPolicy policy = policy("b", true, Settings.UNLIMITED);
		policy.decide(this.now, led(6, 5, 0));
		Map<Long, String> waiting = new LinkedHashMap<>();
		for (long second : new long[] { 59, 60, 109, 110, 230 }) {
			Decision decision = policy.decide(TimeUnit.SECONDS.toNanos(second), led(6, 5, 0));
			waiting.put(second, String.valueOf(decision.status().waiting()));
		}
		assertThat(waiting.values()).containsExactly("leaders or nodes have changed within priority-hold",
				"'e00' is to be handed over", "'e00' is to be handed over",
				"'e00' has not moved, and is tried again later", "'e00' is to be handed over");
	}

	@Test
	void laterTermOfTheSameLeaderIsChange() {
		SpreadPolicy policy = policy("a", true, Settings.UNLIMITED);
		policy.decide(this.now, led(6, 0));
		this.now += HOLD.toNanos() / 2;
		elect("e03", "a", 2);
		policy.decide(this.now, new Overview(this.elections));
		this.now += HOLD.toNanos() / 2;
		assertThat(resigned(policy.decide(this.now, new Overview(this.elections)))).isNull();
		this.now += HOLD.toNanos() / 2;
		assertThat(resigned(policy.decide(this.now, new Overview(this.elections)))).isEqualTo("e00");
	}

	@Test
	void nodeAtItsLimitLeavesElectionsUnlessTheyHaveNoLeader() {
		SpreadPolicy policy = policy("a", false, 2);
		assertThat(policy.decide(this.now, led(2, 2)).suspended()).contains("e02", "e03");
		this.elections.put("e03", new Observation(null, null, Map.of()));
		assertThat(policy.decide(this.now, new Overview(this.elections)).suspended()).contains("e02", "e03");
		this.now += SpreadPolicy.WINNING.toNanos();
		assertThat(policy.decide(this.now, new Overview(this.elections)).suspended()).contains("e02")
			.doesNotContain("e03");
		assertThat(policy.decide(this.now, led(1, 3)).suspended()).isEmpty();
	}

	@Test
	void nodeAboveItsLimitHandsOverOneElectionAfterTheOther() {
		SpreadPolicy policy = policy("a", false, 2);
		assertThat(resigned(policy.decide(this.now, led(4, 0)))).isNull();
		this.now += SpreadPolicy.SETTLING.toNanos();
		assertThat(policy.decide(this.now, led(4, 0)).handOver()).isEqualTo(new HandOver("e00", "max-led"));
		this.now += SpreadPolicy.SETTLING.toNanos() * 2;
		assertThat(resigned(policy.decide(this.now, led(4, 0)))).as("while it hands over").isNull();
		led(4, 0);
		elect("e00", "b", 5);
		assertThat(resigned(policy.decide(this.now, new Overview(this.elections)))).isEqualTo("e01");
		elect("e01", "b", 6);
		this.now += SpreadPolicy.SETTLING.toNanos() * 2;
		assertThat(resigned(policy.decide(this.now, new Overview(this.elections)))).isNull();
		this.now += SpreadPolicy.SETTLING.toNanos() / 2;
		elect("e00", "a", 7);
		assertThat(resigned(policy.decide(this.now, new Overview(this.elections)))).as("a moment later").isNull();
	}

	@Test
	void nodeAboveItsLimitRepeatsWhatWasRefused() {
		SpreadPolicy policy = policy("a", false, 2);
		policy.decide(this.now, led(4, 0));
		this.now += SpreadPolicy.SETTLING.toNanos();
		assertThat(resigned(policy.decide(this.now, led(4, 0)))).isEqualTo("e00");
		this.now += SpreadPolicy.SETTLING.plusSeconds(20).toNanos();
		assertThat(resigned(policy.decide(this.now, led(4, 0)))).isEqualTo("e00");
		this.now += SpreadPolicy.SETTLING.plusSeconds(20).toNanos();
		assertThat(resigned(policy.decide(this.now, led(4, 0)))).isEqualTo("e00");
		this.now += SpreadPolicy.SETTLING.toNanos() * 4 - 1;
		assertThat(policy.decide(this.now, led(4, 0)))
			.isEqualTo(new Decision(Set.of("e00", "e01", "e02", "e03"), null,
					new SpreadStatus(4, 2, "this node leads more than max-led")))
			.as("the time doubles");
		this.now += 1;
		assertThat(resigned(policy.decide(this.now, led(4, 0)))).isEqualTo("e00");
		this.now += SpreadPolicy.SETTLING.toNanos() * 8;
		assertThat(resigned(policy.decide(this.now, led(3, 1)))).isEqualTo("e00");
		this.now += SpreadPolicy.SETTLING.plusSeconds(20).toNanos();
		assertThat(resigned(policy.decide(this.now, led(3, 1)))).as("it has helped").isEqualTo("e00");
	}

	@Test
	void periodsAndThePausesBetweenThemDouble() {
		SpreadPolicy policy = policy("a", true, Settings.UNLIMITED);
		Map<Long, Integer> periods = new LinkedHashMap<>();
		for (long second : new long[] { 0, 60, 110, 230, 330, 570, 770 }) {
			periods.put(second - 1, policy.period(TimeUnit.SECONDS.toNanos(second) - 1));
			periods.put(second, policy.period(TimeUnit.SECONDS.toNanos(second)));
		}
		assertThat(periods.values()).containsExactly(-1, -1, -1, 0, 0, -1, -1, 1, 1, -1, -1, 2, 2, -1);
	}

	@Test
	void leaderResignsLaterUnlessTheLastResignationHasHelped() {
		assertThat(resignedAfter("c")).as("a node won that should").isEqualTo("e01");
		assertThat(resignedAfter("b")).as("another node won").isNull();
	}

	/**
	 * Return what a leader hands over in the first period after it has handed over to a
	 * node.
	 */
	private @Nullable String resignedAfter(String winner) {
		SpreadPolicy policy = policy("a", true, Settings.UNLIMITED);
		policy.decide(this.now, led(7, 4, 0));
		this.now += HOLD.toNanos();
		assertThat(resigned(policy.decide(this.now, without("e00", "b")))).isEqualTo("e00");
		elect("e00", winner, 2);
		policy.decide(this.now, new Overview(this.elections));
		this.now += HOLD.toNanos();
		return resigned(policy.decide(this.now, without("e01", "b")));
	}

	private static @Nullable String resigned(Decision decision) {
		HandOver handOver = decision.handOver();
		return (handOver != null) ? handOver.election() : null;
	}

	private SpreadPolicy policy(String node, boolean enabled, int maxLed) {
		return new SpreadPolicy(node, new Settings(enabled, maxLed, HOLD), Duration.ofSeconds(20), this.now);
	}

	private Overview led(int... numbers) {
		this.elections.clear();
		this.candidates.keySet().removeIf((node) -> node.charAt(0) - 'a' >= numbers.length);
		for (int i = 0; i < numbers.length; i++) {
			String node = Character.toString('a' + i);
			this.candidates.putIfAbsent(node, 0);
			for (int j = 0; j < numbers[i]; j++) {
				elect("e%02d".formatted(this.elections.size()), node, 1);
			}
		}
		return new Overview(this.elections);
	}

	private void elect(String election, String leader, long term) {
		this.elections.put(election, new Observation(leader,
				new Term(0, 1, term * 100 + Integer.parseInt(election.substring(1))), this.candidates));
	}

	private Overview without(String election, String candidate) {
		Map<String, Integer> others = new HashMap<>(this.candidates);
		others.remove(candidate);
		Map<String, Observation> all = new HashMap<>(this.elections);
		all.computeIfPresent(election, (name, known) -> new Observation(known.leader(), known.term(), others));
		return new Overview(all);
	}

}
