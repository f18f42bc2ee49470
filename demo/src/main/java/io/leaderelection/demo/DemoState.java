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
import java.time.Instant;
import java.util.List;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What the page shows. Times are milliseconds of the epoch, by the one clock of the
 * machine.
 *
 * @param run names this run of the demo
 * @param store what the election is held with
 * @param lease the lease of the election
 * @param trust how long a leader trusts its leadership after a confirmation
 * @param silence the time without contact to the leader after which another node leads
 * @param now the time of this state
 * @param leader the node that leads by its last report, if it still answers
 * @param nodes the nodes
 * @param ticks the ticks of the last two minutes
 * @param terms the last terms, the latest last
 * @param faults what visitors did, the latest first
 * @param rows the counts of the database
 */
record DemoState(String run, String store, String lease, String trust, String silence, long now,
		@Nullable String leader, List<Node> nodes, List<Tick> ticks, List<Span> terms, List<FaultView> faults,
		Rows rows) {

	/** For how long ticks are sent. */
	static final Duration SHOWN = Duration.ofMinutes(2);

	/**
	 * A node.
	 *
	 * @param name its name
	 * @param url its address
	 * @param pid its process id
	 * @param process {@code starting}, {@code running}, {@code frozen} or {@code dead}
	 * @param cut whether it is cut off from the database
	 * @param health the status of its health endpoint, if it answers
	 * @param leadership the last answer of its leadership endpoint, unless the process
	 * has ended
	 * @param seenAt when it was asked for that
	 * @param leaderTicks how often it ran the job of the leader, if it has reported
	 * @param allTicks how often it ran the job of all nodes
	 */
	record Node(String name, @Nullable String url, long pid, String process, boolean cut, @Nullable String health,
			@Nullable JsonNode leadership, @Nullable Long seenAt, @Nullable Long leaderTicks, @Nullable Long allTicks) {

		boolean leads() {
			return this.leadership != null && !this.leadership.has("stale")
					&& this.leadership.path("role").asString("").equals("leader");
		}

		Instant since() {
			return (this.leadership != null) ? Instant.parse(this.leadership.path("since").asString()) : Instant.MIN;
		}

	}

	/**
	 * A run of a job.
	 *
	 * @param node where it ran
	 * @param kind {@code leader} or {@code all}
	 * @param term in which term, for that of the leader
	 * @param at when
	 * @param number makes it unique: that of the row that the leader wrote, or how often
	 * the process had run the job of all nodes by then
	 */
	record Tick(String node, String kind, @Nullable String term, long at, long number) {
	}

	/**
	 * A term.
	 *
	 * @param term the term
	 * @param node who led
	 * @param from since when
	 * @param to until when, if it has ended
	 * @param reason why it has ended
	 * @param provisional whether its end is only that of the trust in the last report, as
	 * the node has not reported since or has ended
	 */
	record Span(String term, String node, long from, @Nullable Long to, @Nullable String reason, boolean provisional) {
	}

	/**
	 * What a visitor did.
	 *
	 * @param id its number
	 * @param action what was done
	 * @param node to which node
	 * @param at when
	 * @param expect what should come of it
	 * @param boundMillis within what time another node should lead, if one should
	 * @param overtakenBy the number of what was done next to the same node or leader,
	 * before it was known what comes of this
	 * @param counts whether it says how long a failover takes
	 * @param outcome what came of it, if that is known
	 */
	record FaultView(int id, String action, String node, long at, String expect, @Nullable Long boundMillis,
			@Nullable Integer overtakenBy, boolean counts, @Nullable Outcome outcome) {
	}

	/**
	 * What came of it.
	 *
	 * @param leader who leads
	 * @param sameTerm whether that is the term that it was before
	 * @param grantedAt since when, if another node leads because of it
	 * @param millis how long that took, or how long the node took to notice or to come up
	 * @param noticed whether the node noticed that it no longer leads
	 * @param overlapMillis for how long two nodes considered themselves the leader, if
	 * that is known
	 * @param missedTicks how many ticks of the leader are missing, if that is known
	 * @param complete whether no figure is missing
	 */
	record Outcome(@Nullable String leader, boolean sameTerm, @Nullable Long grantedAt, @Nullable Long millis,
			boolean noticed, @Nullable Long overlapMillis, @Nullable Long missedTicks, boolean complete) {
	}

	/**
	 * What is in the tables that the leader writes to.
	 *
	 * @param at when that was counted, 0 if it was not yet
	 * @param next when it is counted next
	 * @param count how many rows
	 * @param duplicates how many of them have a number that another one had before
	 * @param outdated how many were written or committed after one of a later term
	 * @param durable the fires of the job with a durable schedule
	 * @param plain the fires of the same job without one
	 */
	record Rows(long at, long next, long count, long duplicates, long outdated, Fires durable, Fires plain) {

		static final Rows NONE = new Rows(0, 0, 0, 0, 0, Fires.NONE, Fires.NONE);

	}

	/**
	 * The fires of a job that runs every second.
	 *
	 * @param count how many fires have run
	 * @param doubles how many of them were for a second that had run before
	 * @param holes how many seconds between the first and the last one have not run
	 * @param first the first second, 0 if there is none
	 * @param last the last second, 0 if there is none
	 */
	record Fires(long count, long doubles, long holes, long first, long last) {

		static final Fires NONE = new Fires(0, 0, 0, 0, 0);

	}

}
