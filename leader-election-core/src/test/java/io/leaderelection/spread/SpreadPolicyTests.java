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
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.ElectionStore.StandBack;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.spread.ElectionSpread.Settings;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import io.leaderelection.spread.Overview.Move;
import io.leaderelection.spread.SpreadPolicy.Decision;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link SpreadPolicy} and {@link Overview}.
 */
@Tag("ring1")
class SpreadPolicyTests {

	private static final Duration HOLD = Duration.ofSeconds(10);

	private static final Duration DRAIN = Duration.ofSeconds(20);

	private static final int UNLIMITED = NodeProfile.UNLIMITED;

	/** Of the nodes a, b and so on. */
	private final Map<String, Candidate> candidates = new LinkedHashMap<>();

	private final Set<String> silent = new HashSet<>();

	private final Map<String, Sight> elections = new HashMap<>();

	private long now;

	@Test
	void planMakesElectionsEvenWithTheFewestMoves() {
		assertThat(numbers(plan(6, 6, 4, 0))).isEqualTo(Map.of("a to d", 2L, "b to d", 2L));
		assertThat(numbers(plan(16, 0, 0, 0))).isEqualTo(Map.of("a to b", 4L, "a to c", 4L, "a to d", 4L));
		assertThat(numbers(plan(5, 7, 5))).isEqualTo(Map.of("b to a", 1L));
		assertThat(plan(4, 4, 5)).isEmpty();
	}

	@Test
	void planIsAmongNodesOfTheHighestPriority() {
		this.candidates.put("a", candidate("a", 5, UNLIMITED));
		assertThat(plan(6, 0)).isEmpty();
		this.candidates.put("c", candidate("c", 5, UNLIMITED));
		assertThat(numbers(plan(6, 0, 3))).isEqualTo(Map.of("a to c", 1L));
		this.candidates.put("b", candidate("b", 10, UNLIMITED));
		assertThat(plan(6, 0, 3)).isEmpty();
	}

	@Test
	void planHasNoMoveToNodeThatIsNotAliveOrTakesNoPartOrIsAtItsLimit() {
		this.silent.add("session of b");
		this.candidates.put("c", candidate("c", 0, 0));
		this.candidates.put("d", candidate("d", 0, 2));
		assertThat(numbers(plan(8, 0, 0, 1))).isEqualTo(Map.of("a to d", 1L));
		this.candidates.put("a", candidate("a", 0, 0));
		assertThat(plan(8, 0, 0, 1)).isEmpty();
	}

	@Test
	void leaderHandsOverWhenNobodyElseCanWin() {
		SpreadPolicy policy = policy("a", UNLIMITED);
		Overview all = led(3, 2, 1);
		assertThat(decide(policy, all).handOvers()).isEmpty();
		SpreadPolicy late = policy("a", UNLIMITED);
		decide(late, all);
		after(HOLD);
		decide(late, all);
		String moved = all.plan(Set.of("a", "b", "c")).keySet().iterator().next();
		assertThat(decide(policy, without(moved, "b")).handOvers()).as("others may have no plan yet").isEmpty();
		after(SpreadPolicy.SKEW);
		assertThat(decide(policy, all).handOvers()).as("'b' is a candidate").isEmpty();
		assertThat(policy.isHandingOver()).isFalse();
		after(SpreadPolicy.MOVING.minus(SpreadPolicy.SKEW));
		Decision decision = decide(policy, without(moved, "b"));
		assertThat(decision.handOvers()).containsExactly(moved);
		assertThat(decision.status()).isEqualTo(new SpreadStatus(3, 2, "'" + moved + "' is to be handed over"));
		assertThat(decide(policy, without(moved, "b")).handOvers()).as("again").isEmpty();
		assertThat(policy.isHandingOver()).isTrue();
		after(Duration.ofNanos(1));
		assertThat(decide(late, without(moved, "b")).handOvers()).as("it might end after the plan").isEmpty();
		elect(moved, "c", 2);
		decision = decide(policy);
		assertThat(decision.status()).isEqualTo(new SpreadStatus(2, 2, null));
	}

	@Test
	void planThatHasMovedAnElectionHasNotFailed() {
		SpreadPolicy policy = policy("a", UNLIMITED);
		decide(policy, led(40, 0));
		after(HOLD);
		decide(policy);
		after(SpreadPolicy.SKEW);
		Set<String> begun = decide(policy).handOvers();
		assertThat(begun).hasSize(SpreadPolicy.BATCH);
		elect(begun.iterator().next(), "b", 2);
		after(SpreadPolicy.MOVING.plus(DRAIN.multipliedBy(2)));
		assertThat(decide(policy).status())
			.isEqualTo(new SpreadStatus(39, 20, "leaders or nodes have changed within spread-hold"));
	}

	@Test
	void leaderHandsOverBesidesNodeThatTakesNoPartIfThatLeadsFewer() {
		this.candidates.put("b", candidate("b", 0, 0));
		SpreadPolicy policy = policy("a", UNLIMITED);
		decide(policy, led(9, 1, 0));
		after(HOLD);
		decide(policy, led(9, 1, 0));
		after(SpreadPolicy.SKEW);
		assertThat(decide(policy, led(9, 1, 0)).handOvers()).hasSize(3);
		policy = policy("a", UNLIMITED);
		decide(policy, led(6, 4, 0));
		after(HOLD);
		Decision decision = decide(policy, led(6, 4, 0));
		assertThat(decision.handOvers()).isEmpty();
		after(HOLD.plus(DRAIN).multipliedBy(2));
		assertThat(decide(policy, led(6, 4, 0)).status().waiting())
			.isEqualTo("the last moves were not possible, and are tried again later");
	}

	@Test
	void otherCandidatesStandBackUntilTheTermHasEnded() {
		SpreadPolicy policy = policy("b", UNLIMITED);
		Overview all = led(3, 2, 1);
		assertThat(decide(policy, all).standBacks()).doesNotContainValue(StandBack.UNLISTED);
		after(HOLD);
		Decision decision = decide(policy, all);
		assertThat(decision.standBacks()).containsValue(StandBack.UNLISTED);
		String moved = unlisted(decision).get(0);
		this.elections.put(moved, sight(null));
		assertThat(unlisted(decide(policy))).as("until others could win").containsExactly(moved);
		elect(moved, "c", 2);
		assertThat(unlisted(decide(policy))).isEmpty();
	}

	@Test
	void receiverStandsBackFromNothingThatItReceives() {
		SpreadPolicy policy = policy("c", UNLIMITED);
		decide(policy, led(4, 2, 0));
		after(HOLD);
		assertThat(unlisted(decide(policy, led(4, 2, 0)))).isEmpty();
		assertThat(unlisted(policy.decide(this.now, led(4, 2, 0), true))).as("refuses").hasSize(6);
	}

	@Test
	void nodeStandsBackFromFreeElectionIfAnotherOneLeadsFewer() {
		SpreadPolicy policy = policy("a", UNLIMITED);
		assertThat(decide(policy, led(2, 1, 1)).standBacks()).containsOnlyKeys("e00", "e01", "e02", "e03")
			.doesNotContainValue(StandBack.WHEN_FREE);
		assertThat(decide(policy, led(2, 1, 0)).standBacks()).containsEntry("e00", StandBack.NOT)
			.containsEntry("e02", StandBack.WHEN_FREE);
	}

	@Test
	void nothingMovesUntilNodesAndLeadersHaveNotChangedForTheHold() {
		SpreadPolicy policy = policy("a", UNLIMITED);
		decide(policy, led(3, 0));
		after(HOLD.minusSeconds(1));
		elect("e02", "a", 2);
		assertThat(decide(policy).handOvers()).isEmpty();
		after(HOLD.minusSeconds(1));
		Decision decision = decide(policy);
		assertThat(decision.handOvers()).isEmpty();
		assertThat(decision.status().waiting()).isEqualTo("leaders or nodes have changed within spread-hold");
		after(Duration.ofSeconds(1));
		decide(policy);
		after(SpreadPolicy.SKEW);
		assertThat(decide(policy).handOvers()).hasSize(1);
		assertThat(decide(policy, led(4, 2, 0)).status().waiting()).as("a node has joined, which ends the plan")
			.isEqualTo("leaders or nodes have changed within spread-hold");
	}

	@Test
	void planIsMadeInSpiteOfAnElectionWithoutLeaderAfterLonger() {
		SpreadPolicy policy = policy("a", UNLIMITED);
		decide(policy, led(4, 0));
		this.elections.put("e99", sight(null));
		for (int holds = 1; holds < 6; holds++) {
			after(HOLD);
			Decision decision = decide(policy);
			assertThat(decision.handOvers()).isEmpty();
			assertThat(decision.status().waiting()).isEqualTo("no leader of 'e99' is known");
		}
		after(HOLD);
		led(4, 0, 0);
		this.elections.put("e99", sight(null));
		decide(policy);
		after(SpreadPolicy.SKEW);
		assertThat(decide(policy, led(4, 0)).handOvers()).as("none to a node that has just joined").hasSize(2);
	}

	@Test
	void statusSaysWhyNothingMoves() {
		this.candidates.put("c", candidate("c", 0, 0));
		assertThat(waiting(policy("a", UNLIMITED), 3, 3, 0)).isEqualTo("node 'c' does not take part in spread");
		this.candidates.put("c", candidate("c", 0, 1));
		assertThat(waiting(policy("a", UNLIMITED), 3, 3, 1)).isEqualTo("node 'c' leads as many as its max-led");
		this.candidates.put("c", candidate("c", 1, UNLIMITED));
		assertThat(waiting(policy("a", UNLIMITED), 3, 3, 1))
			.isEqualTo("no election of node 'b' has another candidate of the same priority");
	}

	@Test
	void nodeAtItsLimitStandsBackUnlessAnElectionHasNoLeader() {
		SpreadPolicy policy = policy("a", 2);
		assertThat(unlisted(decide(policy, led(2, 2)))).containsExactly("e02", "e03");
		this.elections.put("e03", sight(null));
		assertThat(decide(policy).standBacks()).containsEntry("e02", StandBack.UNLISTED)
			.containsEntry("e03", StandBack.WHEN_FREE);
	}

	@Test
	void nodeAboveItsLimitHandsOverWhatIsTooMuch() {
		this.candidates.put("a", candidate("a", 0, -2));
		this.candidates.put("b", candidate("b", 0, 0));
		SpreadPolicy policy = policy("a", -2);
		assertThat(decide(policy, led(4, 3)).handOvers()).isEmpty();
		after(HOLD);
		assertThat(decide(policy, led(4, 3)).handOvers()).isEmpty();
		after(SpreadPolicy.SKEW);
		assertThat(decide(policy, led(4, 3)).handOvers()).hasSize(2);
		List<String> own = List.of("e00", "e01", "e02", "e03");
		own.forEach((election) -> this.elections.put(election, sight(null)));
		decide(policy);
		own.forEach((election) -> elect(election, "a", 2));
		decide(policy);
		after(HOLD.multipliedBy(2).minusSeconds(1));
		assertThat(decide(policy).status().waiting()).as("it has won them again")
			.isEqualTo("the last moves were not possible, and are tried again later");
		after(Duration.ofSeconds(1));
		assertThat(decide(policy).status().waiting()).endsWith("is to be handed over");
		after(SpreadPolicy.MOVING.plus(DRAIN).plus(SpreadPolicy.SKEW));
		assertThat(decide(policy).status().waiting()).as("the period doubles").endsWith("is to be handed over");
		policy = policy("a", -2);
		this.candidates.put("b", candidate("b", 0, -3));
		assertThat(waiting(policy, 4, 3)).isEqualTo("this node leads more than max-led");
		assertThat(waiting(policy, 2, 3)).isNull();
	}

	private @Nullable String waiting(SpreadPolicy policy, int... numbers) {
		decide(policy, led(numbers));
		after(HOLD);
		return decide(policy, led(numbers)).status().waiting();
	}

	private Map<String, Move> plan(int... numbers) {
		Overview overview = led(numbers);
		return overview.plan(this.candidates.keySet());
	}

	private static Map<String, Long> numbers(Map<String, Move> moves) {
		return moves.values()
			.stream()
			.collect(Collectors.groupingBy((move) -> move.from() + " to " + move.to(), Collectors.counting()));
	}

	private static List<String> unlisted(Decision decision) {
		return decision.standBacks()
			.keySet()
			.stream()
			.filter((election) -> decision.standBacks().get(election) == StandBack.UNLISTED)
			.sorted()
			.toList();
	}

	private Decision decide(SpreadPolicy policy) {
		return decide(policy, new Overview(this.elections));
	}

	private Decision decide(SpreadPolicy policy, Overview seen) {
		return policy.decide(this.now, seen, false);
	}

	private void after(Duration time) {
		this.now += time.toNanos();
	}

	private SpreadPolicy policy(String node, int capacity) {
		return new SpreadPolicy(new Settings(node, capacity, HOLD, HOLD, DRAIN), this.now);
	}

	private static Candidate candidate(String node, int priority, int capacity) {
		return new Candidate(node, "session of " + node,
				new NodeProfile(NodeProfile.PROTOCOL, priority, capacity, Map.of()));
	}

	private Sight sight(@Nullable Holder leader) {
		Set<String> alive = this.candidates.values().stream().map(Candidate::session).collect(Collectors.toSet());
		alive.removeAll(this.silent);
		return new Sight(new View(leader, List.copyOf(this.candidates.values()), null), alive, Duration.ZERO);
	}

	private Overview led(int... numbers) {
		this.elections.clear();
		this.candidates.keySet().removeIf((node) -> node.charAt(0) - 'a' >= numbers.length);
		List<String> nodes = IntStream.range(0, numbers.length).mapToObj((i) -> Character.toString('a' + i)).toList();
		nodes.forEach((node) -> this.candidates.putIfAbsent(node, candidate(node, 0, UNLIMITED)));
		nodes.forEach((node) -> IntStream.range(0, numbers[nodes.indexOf(node)])
			.forEach((next) -> elect("e%02d".formatted(this.elections.size()), node, 1)));
		return new Overview(this.elections);
	}

	private void elect(String election, String leader, long term) {
		Term won = new Term(0, 1, term * 100 + Integer.parseInt(election.substring(1)));
		this.elections.put(election,
				sight(new Holder(leader, "session of " + leader, won, null, NodeProfile.UNKNOWN, null)));
	}

	private Overview without(String election, String candidate) {
		Map<String, Sight> all = new HashMap<>(this.elections);
		all.computeIfPresent(election, (name, known) -> new Sight(new View(known.view().leader(),
				known.view().candidates().stream().filter((other) -> !other.nodeId().equals(candidate)).toList(), null),
				known.alive(), known.age()));
		return new Overview(all);
	}

}
