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

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.ElectionStore.StandBack;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.spread.ElectionSpread.Settings;

/**
 * Mistakes in the policy that the simulation must find.
 */
enum SpreadMistake {

	NONE,

	/** Nodes do not wait for a time without changes. */
	NO_HOLD,

	/** A candidate counts until its row is deleted. */
	DEAD_NODE_COUNTS,

	/** Nobody stands back for a receiver. */
	NOT_STANDING_BACK,

	/** The receiver stands back as well. */
	RECEIVER_STANDS_BACK,

	/** The leader hands over before it observes that the others stand back. */
	NOT_AWAITED,

	/** Both: the first candidate wins. */
	WHOEVER_IS_FIRST,

	/** Each node has an order of its own. */
	NO_COMMON_ORDER,

	/** A node that does not take part is awaited for ever. */
	STRANGER_AWAITED,

	/** A node that does not take part may win any number of elections. */
	STRANGER_IGNORED,

	/** Other nodes do not know the limit of a node. */
	LIMIT_NOT_PUBLISHED,

	/** A node that cannot lead receives again and again. */
	REFUSAL_IGNORED;

	SpreadPolicy policy(Settings settings, long now) {
		return new MistakenPolicy(settings, now, this);
	}

	private static final class MistakenPolicy extends SpreadPolicy {

		private final Settings settings;

		private final SpreadMistake mistake;

		MistakenPolicy(Settings settings, long now, SpreadMistake mistake) {
			super(settings, now);
			this.settings = settings;
			this.mistake = mistake;
		}

		@Override
		boolean isDue(long now) {
			return super.isDue((this.mistake == NO_HOLD) ? now + this.settings.hold().toNanos() : now);
		}

		@Override
		Decision decide(long now, Overview seen, boolean refuses) {
			Map<String, Sight> changed = new HashMap<>();
			seen.elections().forEach((election, sight) -> changed.put(election, change(sight)));
			Decision decision = super.decide(now, new MistakenOverview(changed, this.settings.node(), this.mistake),
					refuses && this.mistake != REFUSAL_IGNORED);
			if (this.mistake == NOT_STANDING_BACK || this.mistake == WHOEVER_IS_FIRST) {
				decision.standBacks().replaceAll((election, how) -> StandBack.NOT);
			}
			return decision;
		}

		private Sight change(Sight sight) {
			List<Candidate> candidates = sight.view()
				.candidates()
				.stream()
				.filter((candidate) -> this.mistake != STRANGER_IGNORED || candidate.profile().capacity() > 0)
				.map((candidate) -> (this.mistake == STRANGER_AWAITED || this.mistake == LIMIT_NOT_PUBLISHED)
						? new Candidate(candidate.nodeId(), candidate.session(),
								new NodeProfile(NodeProfile.PROTOCOL, 0, 1_000, Map.of()))
						: candidate)
				.toList();
			Set<String> alive = (this.mistake == DEAD_NODE_COUNTS)
					? candidates.stream().map(Candidate::session).collect(Collectors.toSet()) : sight.alive();
			return new Sight(new View(sight.view().leader(), candidates, null), alive, sight.age());
		}

	}

	private static final class MistakenOverview extends Overview {

		private final String node;

		private final SpreadMistake mistake;

		MistakenOverview(Map<String, Sight> elections, String node, SpreadMistake mistake) {
			super(elections);
			this.node = node;
			this.mistake = mistake;
		}

		@Override
		Map<String, Move> plan(Set<String> counted) {
			Map<String, Move> moves = super.plan(counted);
			List<Move> order = List.copyOf(moves.values());
			moves.replaceAll((election, move) -> new Move(election, move.term(), move.from(), receiver(move, order)));
			return moves;
		}

		private String receiver(Move move, List<Move> order) {
			if (this.mistake == RECEIVER_STANDS_BACK && move.to().equals(this.node)) {
				return "another one";
			}
			return (this.mistake != NO_COMMON_ORDER) ? move.to()
					: order.get((order.indexOf(move) + this.node.charAt(5)) % order.size()).to();
		}

		@Override
		boolean isReady(Move move, int begun) {
			return this.mistake == NOT_AWAITED || this.mistake == WHOEVER_IS_FIRST || super.isReady(move, begun);
		}

	}

}
