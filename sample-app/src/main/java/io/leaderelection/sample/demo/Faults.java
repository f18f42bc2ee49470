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

package io.leaderelection.sample.demo;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * What visitors did, and what came of it, by what the nodes and the database report.
 */
class Faults {

	private static final int KEPT = 50;

	private static final Duration MOMENT = Duration.ofSeconds(1);

	private final List<Fault> faults = new ArrayList<>();

	private final Terms terms;

	private final DemoDatabase database;

	private final Duration silence;

	private int count;

	Faults(Terms terms, DemoDatabase database, Duration silence) {
		this.terms = terms;
		this.database = database;
		this.silence = silence;
	}

	synchronized void add(String action, NodeProcess node, Instant at, Terms.@Nullable Led led, String expect) {
		this.count++;
		this.faults.add(new Fault(this.count, action, node, at, led, expect));
		if (this.faults.size() > KEPT) {
			this.faults.remove(0);
		}
	}

	synchronized List<DemoState.FaultView> views() {
		List<DemoState.FaultView> views = new ArrayList<>(this.faults.stream().map(Fault::view).toList());
		Collections.reverse(views);
		return views;
	}

	/**
	 * Return the leader that was frozen or cut off last on this node, which is what its
	 * thaw or return is about.
	 */
	synchronized Terms.@Nullable Led ledWhenHit(NodeProcess node) {
		Terms.Led led = null;
		for (Fault fault : this.faults) {
			led = (fault.node() == node && (fault.led() != null)) ? fault.led() : led;
		}
		return (led != null && led.pid == node.pid()) ? led : null;
	}

	/**
	 * Look what came of the faults of which that is not known in full.
	 */
	void update(Map<NodeProcess, NodeView> views) {
		List<Fault> open;
		synchronized (this) {
			open = this.faults.stream().filter((fault) -> !fault.isSettled()).toList();
		}
		for (Fault fault : open) {
			NodeView view = views.getOrDefault(fault.node(), NodeView.NONE);
			switch (fault.action()) {
				case "thaw", "reconnect", "start" -> updateRecovery(fault, view);
				default -> updateHarm(fault, view);
			}
		}
	}

	private void updateHarm(Fault fault, NodeView view) {
		Terms.Led led = fault.led();
		Terms.Led next = (led != null) ? this.terms.after(led) : null;
		if (led != null && next != null) {
			Duration gap = this.database.gap(led.term, next.term);
			Long overlap = millis(this.terms.overlap(led, next));
			Long missed = (gap != null) ? missed(gap) : null;
			fault.become(
					new DemoState.Outcome(next.node, next.from.toEpochMilli(),
							Duration.between(fault.at(), next.from).toMillis(), overlap, missed),
					overlap != null && missed != null);
		}
		else if (isOver(fault, view)) {
			Terms.Led current = this.terms.current();
			fault.become(new DemoState.Outcome((current != null) ? current.node : null, null, null, 0L,
					this.database.missingSince(fault.at().minus(MOMENT))), true);
		}
	}

	/**
	 * Whether nothing can come of a fault any more: not to the leader, or it survived.
	 */
	private boolean isOver(Fault fault, NodeView view) {
		Duration wait = fault.action().equals("kill") ? MOMENT : this.silence.plus(MOMENT);
		boolean waited = fault.at().plus(wait).isBefore(Instant.now());
		Terms.Led led = fault.led();
		return waited && (led == null || (led == this.terms.current() && isFresh(fault.node(), view, fault.at())));
	}

	private static boolean isFresh(NodeProcess node, NodeView view, Instant since) {
		Instant seen = view.seenAt();
		return !view.stale() && view.pid() == node.pid() && seen != null && seen.isAfter(since);
	}

	private void updateRecovery(Fault fault, NodeView view) {
		Instant confirmed = view.lastConfirmation();
		if (!isFresh(fault.node(), view, fault.at())) {
			return;
		}
		Terms.Led led = fault.led();
		Terms.Led next = (led != null) ? this.terms.after(led) : null;
		Instant noticed = (led != null) ? this.terms.noticed(led) : null;
		Terms.Led current = this.terms.current();
		boolean thaw = fault.action().equals("thaw");
		Instant done = (thaw && noticed != null && noticed.isAfter(fault.at())) ? noticed : confirmed;
		if (done == null || !done.isAfter(fault.at()) || (thaw && next != null && noticed == null)) {
			return;
		}
		Long overlap = (led != null && next != null) ? millis(this.terms.overlap(led, next)) : Long.valueOf(0);
		fault.become(new DemoState.Outcome((current != null) ? current.node : null,
				(next != null) ? next.from.toEpochMilli() : null, Duration.between(fault.at(), done).toMillis(),
				overlap, null), overlap != null);
	}

	// Rounded up: what is not zero must not read so
	private static @Nullable Long millis(@Nullable Duration duration) {
		return (duration != null) ? (duration.toNanos() + 999_999) / 1_000_000 : null;
	}

	private static long missed(Duration gap) {
		return Math.max(0, Math.round((double) gap.toMillis() / DemoWork.LEADER_PERIOD) - 1);
	}

}
