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

import io.leaderelection.spread.ElectionSpread.Settings;
import io.leaderelection.spread.Overview.Move;
import org.jspecify.annotations.Nullable;

/**
 * Mistakes in the policy that the simulation must find.
 */
enum SpreadMistake {

	NONE,

	/** Nodes do not wait for a time without changes. */
	NO_PAUSE,

	/** The pause after a period without a change is not doubled. */
	PAUSE_NOT_DOUBLED,

	/** Of several leaders with the most elections, each takes itself for the one. */
	NO_TIE_RULE,

	/** All leaders that lead enough elections resign at once. */
	TWO_AT_ONCE,

	/** Nodes that lead more than the receiver do not suspend their candidacy. */
	NOT_SUSPENDED,

	/** They resume it as soon as the election has no leader. */
	RESUMED_AT_RELEASE,

	/** The leader resigns before it observes that they have suspended it. */
	NOT_AWAITED,

	/** Both: the first candidate wins. */
	WHOEVER_IS_FIRST,

	/** A hand-over that did not help is repeated in the next period. */
	NO_HELP_REQUIRED,

	/** An election moves also if this makes no difference. */
	WITHOUT_DIFFERENCE,

	/** The receiver also suspends its candidacy. */
	RECEIVER_SUSPENDED,

	/** A node at its limit does not resume its candidacy if there is no leader. */
	ABSOLUTE_LIMIT;

	SpreadPolicy policy(String node, Settings settings, long now) {
		Settings actual = (this == NO_PAUSE) ? new Settings(true, settings.maxLed(), Duration.ofSeconds(1)) : settings;
		return new MistakenPolicy(node, actual, now, this);
	}

	private static final class MistakenPolicy extends SpreadPolicy {

		private final String node;

		private final Settings settings;

		private final SpreadMistake mistake;

		MistakenPolicy(String node, Settings settings, long now, SpreadMistake mistake) {
			super(node, settings, SpreadWorld.DRAIN_TIMEOUT, now);
			this.node = node;
			this.settings = settings;
			this.mistake = mistake;
		}

		@Override
		@Nullable Move move(Overview seen) {
			Move move = super.move(seen);
			int led = seen.led(this.node);
			boolean from = move != null && switch (this.mistake) {
				case NO_TIE_RULE -> led == seen.led(move.from());
				case TWO_AT_ONCE -> led - move.receiverLed() >= 2;
				default -> false;
			};
			if (move != null && from) {
				return new Move(String.valueOf(seen.removable(this.node)), this.node, move.receiverLed());
			}
			return (this.mistake == WITHOUT_DIFFERENCE && move == null && seen.removable(this.node) != null
					&& led == seen.share()) ? new Move(String.valueOf(seen.removable(this.node)), this.node, led - 1)
							: move;
		}

		@Override
		boolean isToSuspend(Overview seen, Move move) {
			return switch (this.mistake) {
				case NOT_SUSPENDED, WHOEVER_IS_FIRST -> false;
				case RECEIVER_SUSPENDED -> !move.from().equals(this.node);
				default -> super.isToSuspend(seen, move);
			};
		}

		@Override
		boolean isToBeWon(long leaderless) {
			return switch (this.mistake) {
				case RESUMED_AT_RELEASE -> false;
				case ABSOLUTE_LIMIT -> true;
				default -> super.isToBeWon(leaderless);
			};
		}

		@Override
		boolean isToResign(Overview seen, Move move, int period) {
			return switch (this.mistake) {
				case TWO_AT_ONCE, NOT_AWAITED, WHOEVER_IS_FIRST -> move.from().equals(this.node);
				case NO_HELP_REQUIRED -> move.from().equals(this.node) && seen.isReady(move);
				default -> super.isToResign(seen, move, period);
			};
		}

		@Override
		int period(long calm) {
			if (this.mistake != PAUSE_NOT_DOUBLED) {
				return super.period(calm);
			}
			long length = SpreadWorld.DRAIN_TIMEOUT.plus(SETTLING.multipliedBy(2)).toNanos();
			long both = length + this.settings.hold().toNanos();
			return (calm >= 0 && calm % both >= this.settings.hold().toNanos()) ? (int) (calm / both) : -1;
		}

	}

}
