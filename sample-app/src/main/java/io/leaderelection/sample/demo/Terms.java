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
import java.util.Comparator;
import java.util.List;
import java.util.Objects;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Who led when, by what the nodes themselves report.
 */
class Terms {

	private final List<Led> terms = new ArrayList<>();

	/**
	 * Take note of what a node reports.
	 */
	synchronized void seen(String node, long pid, JsonNode leadership, Instant seen, NodeMetrics metrics) {
		for (JsonNode transition : leadership.path("transitions")) {
			String term = transition.path("term").asString("");
			Instant time = Instant.parse(transition.path("time").asString());
			Led led = find(term);
			if (transition.path("change").asString().equals("granted") && led == null) {
				this.terms.add(new Led(term, node, pid, time));
				this.terms.sort(Comparator.comparing((other) -> other.from));
			}
			else if (transition.path("change").asString().equals("revoked") && led != null && led.noticed == null) {
				led.noticed = time;
				led.to = time;
				led.reason = transition.path("reason").asString();
			}
		}
		Led last = last(pid);
		if (last != null && last.to == null) {
			last.trustedUntil = seen.plus(Duration.parse(leadership.path("leaseRemaining").asString()));
		}
		else if (last != null && !last.settled) {
			settle(last, metrics);
		}
	}

	/**
	 * A node that was frozen reports the end of its term when it wakes up. It has stopped
	 * to believe in itself before, when its trust ran out: for how long it has led is
	 * what its metrics say.
	 */
	private void settle(Led last, NodeMetrics metrics) {
		Duration led = Duration.ofNanos((long) (metrics.led() * 1_000_000_000));
		for (Led other : this.terms) {
			if (other.pid == last.pid && other != last && other.to != null) {
				led = led.minus(Duration.between(other.from, other.to));
			}
		}
		Instant end = last.from.plus(led);
		if (!"resigned".equals(last.reason) && end.isBefore(Objects.requireNonNull(last.to))
				&& end.isAfter(last.from)) {
			last.to = end;
		}
		last.settled = true;
	}

	/**
	 * Take note that a process has ended.
	 */
	synchronized void ended(long pid, Instant lastRan, boolean frozen) {
		Led last = last(pid);
		if (last != null && last.to == null) {
			last.to = lastRan;
			last.reason = frozen ? "killed while frozen" : "process ended";
		}
		if (last != null) {
			last.settled = true;
		}
	}

	private @Nullable Led find(String term) {
		return this.terms.stream().filter((led) -> led.term.equals(term)).findFirst().orElse(null);
	}

	private @Nullable Led last(long pid) {
		Led last = null;
		for (Led led : this.terms) {
			last = (led.pid == pid) ? led : last;
		}
		return last;
	}

	synchronized List<Led> all() {
		return List.copyOf(this.terms);
	}

	/**
	 * The term that has not ended and is the latest.
	 */
	synchronized @Nullable Led current() {
		Led last = this.terms.isEmpty() ? null : this.terms.get(this.terms.size() - 1);
		return (last != null && last.to == null) ? last : null;
	}

	/**
	 * The term that came after another, if it is known.
	 */
	synchronized @Nullable Led after(Led led) {
		int next = this.terms.indexOf(led) + 1;
		return (next < this.terms.size()) ? this.terms.get(next) : null;
	}

	/**
	 * When the node of a term found out that it has ended, if it has.
	 */
	synchronized @Nullable Instant noticed(Led led) {
		return led.noticed;
	}

	/**
	 * For how long two nodes led at once, {@code null} as long as that is not known.
	 */
	synchronized @Nullable Duration overlap(Led led, Led next) {
		if (!led.settled || led.to == null) {
			return null;
		}
		Duration overlap = Duration.between(next.from, led.to);
		return overlap.isNegative() ? Duration.ZERO : overlap;
	}

	synchronized List<DemoState.Span> spans() {
		List<DemoState.Span> spans = new ArrayList<>();
		for (Led led : this.terms) {
			boolean provisional = led.to == null && led != this.terms.get(this.terms.size() - 1);
			Instant to = provisional ? led.trustedUntil : led.to;
			spans.add(new DemoState.Span(led.term, led.node, led.from.toEpochMilli(),
					(to != null) ? to.toEpochMilli() : null, led.reason, provisional));
		}
		return spans;
	}

	/**
	 * A term. Read and written under the lock of all terms.
	 */
	static final class Led {

		final String term;

		final String node;

		final long pid;

		final Instant from;

		private @Nullable Instant to;

		/** When the node found out. */
		private @Nullable Instant noticed;

		private @Nullable Instant trustedUntil;

		private @Nullable String reason;

		private boolean settled;

		private Led(String term, String node, long pid, Instant from) {
			this.term = term;
			this.node = node;
			this.pid = pid;
			this.from = from;
		}

	}

}
