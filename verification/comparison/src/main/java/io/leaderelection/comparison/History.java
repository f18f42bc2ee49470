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

package io.leaderelection.comparison;

import java.util.Comparator;
import java.util.List;

/**
 * What the events of a run say.
 *
 * @param events the events
 */
record History(List<Event> events) {

	/**
	 * The node that has begun to lead last and still does, -1 if there is none.
	 * @param ended whether its leadership may have ended
	 */
	int leader(boolean ended) {
		return this.events.stream()
			.filter((event) -> event.kind() == Kind.GRANTED)
			.filter((granted) -> ended || endOf(granted, Long.MAX_VALUE) == Long.MAX_VALUE)
			.max(Comparator.comparingLong(Event::time))
			.map(Event::node)
			.orElse(-1);
	}

	/**
	 * The intervals in which nodes led.
	 * @param old the node that was hit, or -1
	 * @param oldEnd the end of its interval that is open: when it was killed
	 * @param end the end of those of other nodes
	 */
	List<Interval> intervals(int old, long oldEnd, long end) {
		return this.events.stream()
			.filter((event) -> event.kind() == Kind.GRANTED)
			.map((granted) -> new Interval(granted.node(), granted.time(),
					endOf(granted, (granted.node() == old) ? oldEnd : end)))
			.toList();
	}

	private long endOf(Event granted, long open) {
		return this.events.stream()
			.filter((event) -> event.node() == granted.node())
			.filter((event) -> event.kind() == Kind.REVOKED || event.kind() == Kind.ENDED)
			.mapToLong(Event::time)
			.filter((time) -> time >= granted.time())
			.reduce(open, Math::min);
	}

	/**
	 * For how long, in nanoseconds, at least two nodes led at once.
	 */
	static long overlap(List<Interval> intervals, long from) {
		long overlap = 0;
		long counted = from;
		long latest = from;
		for (Interval interval : intervals.stream().sorted(Comparator.comparingLong(Interval::start)).toList()) {
			long end = Math.min(interval.end, latest);
			overlap += Math.max(0, end - Math.max(interval.start, counted));
			counted = Math.max(counted, end);
			latest = Math.max(latest, interval.end);
		}
		return overlap;
	}

	long oldRuns(int node, List<Interval> intervals, long from) {
		return this.events.stream()
			.filter((event) -> event.node() == node && event.kind() == Kind.RUN && event.time() > from)
			.filter((run) -> intervals.stream()
				.anyMatch((interval) -> interval.node != node && interval.start < run.time()
						&& run.time() < interval.end))
			.count();
	}

	/**
	 * What a node has reported.
	 *
	 * @param node its number
	 * @param kind what has happened
	 * @param time when
	 */
	record Event(int node, Kind kind, long time) {

		static Event parse(int node, String report) {
			String[] words = report.split(" ");
			return new Event(node, Kind.valueOf(words[0]), Long.parseLong(words[1]));
		}

	}

	/**
	 * What happens on a node: its application has started, it has begun to lead, a run of
	 * the leader-only job begins, it has led for the last time, its process has ended.
	 */
	enum Kind {

		STARTED, GRANTED, RUN, REVOKED, ENDED

	}

	/**
	 * A time in which a node led.
	 *
	 * @param node its number
	 * @param start when it began to lead
	 * @param end when it led for the last time
	 */
	record Interval(int node, long start, long end) {

	}

}
