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

package io.leaderelection.demo;

import java.time.Duration;
import java.util.Locale;

import org.jspecify.annotations.Nullable;

/**
 * The expected outcome of an action, by the configured times.
 *
 * @param text the expected outcome
 * @param bound within what time another node should lead, if one should
 */
record Expectation(String text, @Nullable Duration bound) {

	private static final Duration MOMENT = Duration.ofSeconds(1);

	/**
	 * Return what to expect.
	 * @param settings what is configured
	 * @param leads whether it is done to the leader, or to a node that led at the fault
	 * before
	 * @param others what the other nodes can do
	 * @param cut whether the node is cut off already
	 */
	static Expectation of(Action action, Settings settings, boolean leads, Others others, boolean cut) {
		return switch (action) {
			case THAW -> new Expectation(
					leads ? "notices that it no longer leads before it starts new work, if another node leads by then"
							: "continues to follow",
					null);
			case RECONNECT -> new Expectation((settings.isTable() && leads)
					? "continues to lead if its lease has not expired; otherwise it is a candidate again within about 5 s"
					: "is a candidate again within about 5 s: the longer it was cut off, the longer its pauses between attempts",
					null);
			case START -> new Expectation("starts and follows, or leads if no other node does", null);
			default -> leads ? ofLeader(action, settings, others, cut)
					: new Expectation("nothing changes: it does not lead", null);
		};
	}

	private static Expectation ofLeader(Action action, Settings settings, Others others, boolean cut) {
		if (others == Others.NONE) {
			return new Expectation("no node leads: no other node could", null);
		}
		boolean notified = !cut && (action == Action.RESIGN || (action.isEnd() && !settings.isTable()));
		Duration bound = notified ? MOMENT : settings.silence().plus(MOMENT);
		String expected = ofLeader(action, settings, cut);
		return (others == Others.READY || settings.isTable()) ? new Expectation(expected, bound)
				: new Expectation(
						expected + "; up to " + seconds(settings.lease())
								+ " more if a node that is frozen or cut off is first in the queue",
						bound.plus(settings.lease()));
	}

	private static String ofLeader(Action action, Settings settings, boolean cut) {
		String inSilence = "another node leads within " + seconds(settings.silence()) + " (lease and "
				+ (settings.isTable() ? "interval of the followers" : "takeover delay") + "), or shortly after";
		return switch (action) {
			case RESIGN -> cut ? "finishes its work; the database is not notified, as the node is cut off: " + inSilence
					: "finishes its work and hands over: another node leads at once"
							+ (settings.isTable() ? "" : ", without the takeover delay");
			case FREEZE -> inSilence + "; if it is thawed before that, it continues to lead";
			case CUT -> inSilence + "; this node stops leading before, at most " + seconds(settings.trust())
					+ " after its last confirmation. "
					+ (settings.isTable() ? "If it is reconnected before that, it continues to lead"
							: "Reconnecting resets its connections, which also ends its leadership");
			default -> settings.isTable() ? ofEnd(action, inSilence)
					: cut ? "the database is not notified, as the node is cut off: " + inSilence
							: "another node leads at once, or shortly after the takeover delay of "
									+ seconds(Settings.TAKEOVER_DELAY);
		};
	}

	// The table does not show the end of a connection
	private static String ofEnd(Action action, String inSilence) {
		return (action == Action.END) ? "if it could not hand over, " + inSilence
				: "its lease is not freed: " + inSilence;
	}

	private static String seconds(Duration duration) {
		return String.format(Locale.ROOT, "%.2f", duration.toMillis() / 1000.0).replaceAll("\\.?0+$", "") + " s";
	}

	/**
	 * What is configured.
	 *
	 * @param store what the election is held with
	 * @param lease the lease of the election
	 */
	record Settings(Store store, Duration lease) {

		/** The default of {@code leader-election.takeover-delay}. */
		private static final Duration TAKEOVER_DELAY = Duration.ofMillis(250);

		private static final Duration LONGEST_OBSERVATION = Duration.ofMillis(1200);

		boolean isTable() {
			return this.store == Store.TABLE;
		}

		/**
		 * How long a leader trusts its leadership after a confirmation.
		 */
		Duration trust() {
			return this.lease.multipliedBy(3).dividedBy(4);
		}

		/**
		 * The time without contact to the leader after which another node leads. With the
		 * table, it includes the time until a follower observes that a renewal is
		 * missing.
		 */
		Duration silence() {
			return this.lease.plus(isTable() ? LONGEST_OBSERVATION : TAKEOVER_DELAY);
		}

	}

	/**
	 * What the other nodes can do.
	 */
	enum Others {

		/** None could lead. */
		NONE,

		/** One could lead, but another one is frozen or cut off. */
		HINDERED,

		/** Those that run could lead. */
		READY

	}

}
