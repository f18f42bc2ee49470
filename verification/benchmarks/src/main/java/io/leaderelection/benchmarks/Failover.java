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

package io.leaderelection.benchmarks;

import java.util.EnumMap;
import java.util.Map;

import io.leaderelection.benchmarks.NodeProcess.Report;
import org.jspecify.annotations.Nullable;

/**
 * One failover. All times are nanoseconds since the moment just before the leader was
 * hit.
 *
 * @param firstTrue when {@code isLeader()} was {@code true} on the next leader
 * @param granted when a listener of the next leader received the event
 * @param old what the old leader has reported of its end
 */
record Failover(long firstTrue, long granted, Map<Report, Long> old) {

	static Failover of(long hit, NodeProcess old, NodeProcess next) throws Exception {
		Map<Report, Long> end = new EnumMap<>(Report.class);
		for (Report report : new Report[] { Report.CLOSING, Report.REVOKED, Report.LAST_TRUE }) {
			if (old.has(report)) {
				end.put(report, old.await(report) - hit);
			}
		}
		return new Failover(next.await(Report.FIRST_TRUE) - hit, next.await(Report.GRANTED) - hit, end);
	}

	@Nullable Long of(Report report) {
		return this.old.get(report);
	}

	/**
	 * For how long both have led at once, 0 if they have not.
	 */
	long overlap() {
		Long lastTrue = of(Report.LAST_TRUE);
		return (lastTrue != null) ? Math.max(0, lastTrue - this.firstTrue) : 0;
	}

}
