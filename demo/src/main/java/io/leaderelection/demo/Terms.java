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
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Who led when, by what the nodes themselves report.
 */
class Terms {

	private static final int KEPT = 200;

	private final List<ObservedTerm> terms = new ArrayList<>();

	/** By process, the last observation with metrics of a known time. */
	private final Map<Long, NodeObservation> measured = new HashMap<>();

	private final Set<Long> ended = new HashSet<>();

	/**
	 * Record that a process was started, which may have the id of one that has ended.
	 */
	synchronized void started(long pid) {
		this.ended.remove(pid);
	}

	/**
	 * Record a report of a node.
	 */
	synchronized void seen(String node, long pid, NodeObservation observation) {
		// A late report of a process that has ended adds nothing
		if (this.ended.contains(pid)) {
			return;
		}
		String leads = observation.leadership().path("term").asString("");
		for (JsonNode transition : observation.leadership().path("transitions")) {
			String term = transition.path("term").asString("");
			Instant time = Instant.parse(transition.path("time").asString());
			ObservedTerm led = find(term);
			if (transition.path("change").asString().equals("granted") && led == null) {
				add(new ObservedTerm(term, node, pid, time));
			}
			else if (transition.path("change").asString().equals("revoked") && led != null) {
				led.revoked(time, transition.path("reason").asString());
			}
		}
		for (ObservedTerm led : of(pid)) {
			// A node whose trust has expired reports that before the revocation
			if (led.term.equals(leads)) {
				led.reported(observation);
			}
			else if (led.isOver() && !led.isClosed()) {
				settle(led, this.measured.get(pid), observation);
			}
		}
		if (observation.isPrompt()) {
			this.measured.put(pid, observation);
		}
	}

	private void add(ObservedTerm led) {
		this.terms.add(led);
		this.terms.sort(Comparator.comparing((other) -> other.from));
		if (this.terms.size() > KEPT) {
			this.terms.remove(0);
		}
	}

	/**
	 * A node that was frozen reports the end of its term when it is thawed. It has
	 * stopped leading before that, when its trust expired: its metrics contain for how
	 * long it has led since they were last read.
	 */
	private void settle(ObservedTerm led, @Nullable NodeObservation last, NodeObservation now) {
		Instant since = (last != null && last.measured().isAfter(led.from)) ? last.measured() : led.from;
		double seconds = now.metrics().led() - ((last != null) ? last.metrics().led() : 0);
		Duration more = Duration.ofNanos(Math.round(seconds * 1_000_000_000));
		for (ObservedTerm other : of(led.pid)) {
			if (other != led) {
				more = more.minus(other.within((last != null) ? last.measured() : Instant.MIN, now.answered()));
			}
		}
		led.settle(since.plus(more.isNegative() ? Duration.ZERO : more));
	}

	/**
	 * Record that a process has ended.
	 */
	synchronized void ended(long pid, Instant lastRan, boolean frozen) {
		for (ObservedTerm led : of(pid)) {
			if (!led.isClosed()) {
				led.ended(lastRan, frozen, after(led));
			}
		}
		this.ended.add(pid);
		this.measured.remove(pid);
	}

	private @Nullable ObservedTerm find(String term) {
		return this.terms.stream().filter((led) -> led.term.equals(term)).findFirst().orElse(null);
	}

	private List<ObservedTerm> of(long pid) {
		return this.terms.stream().filter((led) -> led.pid == pid).toList();
	}

	synchronized List<ObservedTerm> all() {
		return List.copyOf(this.terms);
	}

	/**
	 * The term that has not ended and is the latest.
	 */
	synchronized @Nullable ObservedTerm current() {
		ObservedTerm last = this.terms.isEmpty() ? null : this.terms.get(this.terms.size() - 1);
		return (last != null && !last.isOver()) ? last : null;
	}

	/**
	 * The term that is in progress by the last reports.
	 */
	synchronized @Nullable ObservedTerm leading(Instant now) {
		ObservedTerm current = current();
		return (current != null && !current.isSilent(now)) ? current : null;
	}

	/**
	 * The term that came after another, if it is known.
	 */
	synchronized @Nullable ObservedTerm after(ObservedTerm led) {
		int index = this.terms.indexOf(led);
		return (index >= 0 && index + 1 < this.terms.size()) ? this.terms.get(index + 1) : null;
	}

	/**
	 * When the node of a term noticed that it has ended, if it has.
	 */
	synchronized @Nullable Instant noticed(ObservedTerm led) {
		return led.noticed();
	}

	/**
	 * Whether the node of a term has reported since some time that it leads.
	 */
	synchronized boolean hasReportedSince(ObservedTerm led, Instant time) {
		return led.hasReportedSince(time);
	}

	/**
	 * Whether all is known of the end of a term.
	 */
	synchronized boolean isClosed(ObservedTerm led) {
		return led.isClosed();
	}

	/**
	 * For how long two nodes led at once, {@code null} as long as that is not known.
	 */
	synchronized @Nullable Duration overlap(ObservedTerm led, ObservedTerm next) {
		return led.overlap(next);
	}

	/**
	 * For how long any two nodes led at once since some time, {@code null} if that is not
	 * known.
	 */
	synchronized @Nullable Duration overlapSince(Instant at) {
		Duration longest = Duration.ZERO;
		for (int i = 0; i + 1 < this.terms.size(); i++) {
			ObservedTerm led = this.terms.get(i);
			if (!led.isOver() || !led.within(at, Instant.MAX).isZero()) {
				Duration overlap = led.overlap(this.terms.get(i + 1));
				if (overlap == null) {
					return null;
				}
				longest = (overlap.compareTo(longest) > 0) ? overlap : longest;
			}
		}
		return longest;
	}

	synchronized List<DemoState.Span> spans(Instant now) {
		return this.terms.stream().map((led) -> led.span(after(led), now)).toList();
	}

}
