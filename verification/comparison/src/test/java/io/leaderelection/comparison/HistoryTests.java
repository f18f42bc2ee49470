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

import java.util.List;

import io.leaderelection.comparison.History.Interval;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link History}.
 */
@Tag("ring2")
class HistoryTests {

	private final History history = new History(List.of(new Event(0, Event.Kind.GRANTED, 10),
			new Event(1, Event.Kind.GRANTED, 50), new Event(0, Event.Kind.RUN, 40), new Event(0, Event.Kind.RUN, 55),
			new Event(1, Event.Kind.RUN, 56), new Event(0, Event.Kind.REVOKED, 60), new Event(0, Event.Kind.RUN, 65)));

	@Test
	void twoLeadersAtOnce() {
		List<Interval> intervals = this.history.intervals(-1, 0, 100);
		assertThat(intervals).containsExactly(new Interval(0, 10, 60), new Interval(1, 50, 100));
		assertThat(History.overlap(intervals, 20)).isEqualTo(10);
		assertThat(History.overlap(intervals, 55)).isEqualTo(5);
		assertThat(this.history.leader()).isEqualTo(1);
	}

	@Test
	void oneLeaderAtATime() {
		assertThat(History.overlap(List.of(new Interval(0, 1, 5), new Interval(1, 5, 9)), 0)).isZero();
		assertThat(new History(List.of()).leader()).isEqualTo(-1);
	}

	@Test
	void killedNodeLeadsUntilItIsKilled() {
		List<Event> events = List.of(new Event(2, Event.Kind.GRANTED, 10), new Event(0, Event.Kind.GRANTED, 50));
		assertThat(new History(events).intervals(2, 40, 100)).containsExactly(new Interval(2, 10, 40),
				new Interval(0, 50, 100));
	}

	@Test
	void runsOfTheOldLeaderThatBeginWhileAnotherNodeLeads() {
		List<Interval> intervals = this.history.intervals(-1, 0, 100);
		assertThat(this.history.oldRuns(0, intervals, 20)).isEqualTo(2);
		assertThat(this.history.oldRuns(0, intervals, 60)).isEqualTo(1);
	}

}
