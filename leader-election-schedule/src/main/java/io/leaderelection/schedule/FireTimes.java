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

package io.leaderelection.schedule;

import java.time.Duration;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.stream.Collectors;

import org.jspecify.annotations.Nullable;

import org.springframework.scheduling.support.CronExpression;

/**
 * The nominal fire times of a job: those of all its cron expressions. A time that several
 * expressions yield is one fire.
 *
 * @param crons the expressions, none if all are disabled
 * @param requested a further fire that was requested, or {@code null}
 */
record FireTimes(List<Cron> crons, @Nullable Instant requested) {

	/** How many fires are counted at most. */
	static final int LONGEST_COUNT = 10_000;

	private static final Duration FIRST_WINDOW = Duration.ofMinutes(1);

	FireTimes(List<Cron> crons) {
		this(crons, null);
	}

	/**
	 * Return the first fire after a time, or {@code null} if there is none.
	 */
	@Nullable Instant next(Instant time) {
		Instant next = (this.requested != null && this.requested.isAfter(time)) ? this.requested : null;
		for (Cron cron : this.crons) {
			Instant candidate = cron.next(time);
			if (candidate != null && (next == null || candidate.isBefore(next))) {
				next = candidate;
			}
		}
		return next;
	}

	/**
	 * Return the newest fires of a period. Looks back from its end in windows that grow,
	 * since the period may be long and a cron expression yields only later times.
	 * @param after the beginning of the period, exclusive
	 * @param until the end of the period, inclusive
	 * @param count the number of fires at most
	 * @return the fires in order
	 */
	List<Instant> newest(Instant after, Instant until, int count) {
		Duration window = FIRST_WINDOW;
		while (true) {
			Instant from = until.minus(window);
			boolean last = !from.isAfter(after);
			Deque<Instant> fires = new ArrayDeque<>();
			for (Instant fire = next(last ? after : from); fire != null && !fire.isAfter(until); fire = next(fire)) {
				if (fires.size() == count) {
					fires.removeFirst();
				}
				fires.addLast(fire);
			}
			if (last || fires.size() == count) {
				return List.copyOf(fires);
			}
			window = window.multipliedBy(4);
		}
	}

	/**
	 * Return the number of fires in a period.
	 * @param after the beginning of the period, exclusive
	 * @param before the end of the period, exclusive
	 * @return the number, at most {@value #LONGEST_COUNT}
	 */
	int count(Instant after, Instant before) {
		int count = 0;
		for (Instant fire = next(after); fire != null && fire.isBefore(before)
				&& count < LONGEST_COUNT; fire = next(fire)) {
			count++;
		}
		return count;
	}

	/**
	 * Return the expressions as they are recorded.
	 */
	String expression() {
		return this.crons.isEmpty() ? "-"
				: this.crons.stream().map((cron) -> cron.expression().toString()).collect(Collectors.joining(" | "));
	}

	/**
	 * Return the time zones as they are recorded.
	 */
	String zone() {
		return this.crons.isEmpty() ? "-"
				: this.crons.stream().map((cron) -> cron.zone().getId()).collect(Collectors.joining(" | "));
	}

	/**
	 * A cron expression in a time zone. Its fires are the times whose local time matches:
	 * none for a local time that a change of the clocks skips, and two for one that it
	 * repeats.
	 *
	 * @param expression the expression
	 * @param zone the time zone
	 */
	record Cron(CronExpression expression, ZoneId zone) {

		/**
		 * Return the first fire after a time. Searches local times of one offset after
		 * the other: where the offset changes, what Spring returns depends on its version
		 * and on where the search begins, and may skip a day.
		 */
		@Nullable Instant next(Instant time) {
			ZoneRules rules = this.zone.getRules();
			ZoneOffset offset = rules.getOffset(time);
			ZoneOffsetTransition change = rules.nextTransition(time);
			for (Instant from = time;;) {
				LocalDateTime local = this.expression.next(LocalDateTime.ofInstant(from, offset));
				Instant next = (local != null) ? local.toInstant(offset) : null;
				if (next == null || change == null || next.isBefore(change.getInstant())) {
					return next;
				}
				from = change.getInstant().minusNanos(1);
				offset = change.getOffsetAfter();
				change = rules.nextTransition(change.getInstant());
			}
		}

	}

}
