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

package io.leaderelection.faults;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.stream.LongStream;

import io.leaderelection.faults.CommitLog.Commit;
import io.leaderelection.faults.CommitLog.Row;

/**
 * Checks that each second has exactly one fire, and that fires were committed in the
 * order of their seconds.
 */
final class FireOrder {

	/** The first commit of each second. */
	private final NavigableMap<Long, Fire> fires = new TreeMap<>();

	private final List<Violation> violations = new ArrayList<>();

	private long committed;

	/**
	 * Add the commit that comes next.
	 */
	void add(Commit commit) {
		for (Row row : commit.rows()) {
			if (row.table().equals("public.fires")) {
				add(new Fire(Long.parseLong(row.value("second")), row.value("node"), row.value("term"), commit.time()));
			}
		}
	}

	void add(Fire fire) {
		Fire last = this.fires.isEmpty() ? null : this.fires.lastEntry().getValue();
		Fire earlier = this.fires.putIfAbsent(fire.second(), fire);
		if (earlier != null) {
			this.violations.add(new Violation(Kind.DOUBLED, fire.second(), fire + " after " + earlier));
		}
		else if (last != null && last.second() > fire.second()) {
			this.violations.add(new Violation(Kind.OUT_OF_ORDER, fire.second(), fire + " after " + last));
		}
		this.committed++;
	}

	/**
	 * Return what is wrong with the seconds from the first fire to the last.
	 */
	List<Violation> violations() {
		List<Violation> all = new ArrayList<>(this.violations);
		if (!this.fires.isEmpty()) {
			LongStream.range(this.fires.firstKey(), this.fires.lastKey())
				.filter((second) -> !this.fires.containsKey(second))
				.forEach((second) -> all
					.add(new Violation(Kind.MISSED, second, "between " + this.fires.lowerEntry(second).getValue()
							+ " and " + this.fires.higherEntry(second).getValue())));
		}
		return all;
	}

	/**
	 * Return how many fires were committed.
	 */
	long committed() {
		return this.committed;
	}

	/**
	 * Return the fires in the order of their seconds, without those that are doubled.
	 */
	List<Fire> fires() {
		return List.copyOf(this.fires.values());
	}

	/**
	 * Return how many terms have a fire.
	 */
	long terms() {
		return this.fires.values().stream().map(Fire::term).distinct().count();
	}

	/**
	 * What can be wrong.
	 */
	enum Kind {

		DOUBLED, MISSED, OUT_OF_ORDER

	}

	/**
	 * A fire that was committed.
	 *
	 * @param second its nominal time
	 * @param node the node that ran it
	 * @param term the term of that node
	 * @param time when it was committed, by the clock of the server
	 */
	record Fire(long second, String node, String term, Instant time) {

		Duration lateness() {
			return Duration.between(Instant.ofEpochSecond(this.second), this.time);
		}

	}

	/**
	 * A second that does not have exactly one fire in order.
	 *
	 * @param kind what is wrong
	 * @param second the second
	 * @param evidence the fires that show it
	 */
	record Violation(Kind kind, long second, String evidence) {

	}

}
