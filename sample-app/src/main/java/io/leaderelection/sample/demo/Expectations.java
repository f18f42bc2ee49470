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
import java.util.Locale;

/**
 * What to expect of a fault, by what is configured.
 *
 * @param lease the lease of the election
 * @param takeoverDelay what a new leader waits for the old one to notice
 */
record Expectations(Duration lease, Duration takeoverDelay) {

	String of(String action, boolean leads, boolean others) {
		return switch (action) {
			case "kill" -> ofLeader(leads, others,
					"another node leads after the takeover delay, " + seconds(this.takeoverDelay) + ", and a moment");
			case "freeze" -> ofLeader(leads, others, "another node leads within " + silence()
					+ " (lease and takeover delay) and a moment; thawed before that, this one goes on leading");
			case "cut" -> ofLeader(leads, others,
					"another node leads within " + silence()
							+ " (lease and takeover delay) and a moment; this one stops leading before, " + trust()
							+ " after it last heard");
			case "resign" -> "hands over at its next confirmation, within " + seconds(confirmation())
					+ ", and another node leads at once: no takeover delay";
			case "thaw" ->
				leads ? "finds out that it leads no more, if another node leads by now, before it works again"
						: "goes on following";
			case "reconnect" -> "stands again, within some 5 s: it tries less and less often";
			default -> "comes up and follows, or leads if nobody does";
		};
	}

	private String ofLeader(boolean leads, boolean others, String expected) {
		if (!leads) {
			return "nothing changes: it does not lead";
		}
		return others ? expected : "nobody leads: no other node could";
	}

	private String silence() {
		return seconds(this.lease.plus(this.takeoverDelay));
	}

	private String trust() {
		return seconds(this.lease.multipliedBy(3).dividedBy(4)) + " at most";
	}

	private Duration confirmation() {
		Duration fifth = this.lease.dividedBy(5);
		return (fifth.toMillis() < 1500) ? fifth : Duration.ofMillis(1500);
	}

	private static String seconds(Duration duration) {
		return String.format(Locale.ROOT, "%.2f", duration.toMillis() / 1000.0).replaceAll("\\.?0+$", "") + " s";
	}

}
