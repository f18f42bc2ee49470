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

import java.util.Optional;
import java.util.function.Consumer;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.faults.Entry.Kind;

/**
 * Asks over and over whether a node leads. Times are taken before the question, so that a
 * pause between clock and question cannot make an overlap look smaller.
 */
final class Sampler {

	static final long INTERVAL = Long.getLong("faults.sample-interval-nanos", 500_000);

	private static final long HEARTBEAT = 20_000_000;

	private static final long STALL = 30_000_000;

	private final LeaderElector elector;

	private final Consumer<Entry> entries;

	private Leadership seen;

	private long last = System.nanoTime();

	private long lastTrue = this.last;

	private long written = this.last;

	Sampler(LeaderElector elector, Consumer<Entry> entries) {
		this.elector = elector;
		this.entries = entries;
	}

	/**
	 * Take a sample.
	 * @return when it was taken
	 */
	long sample() {
		long now = System.nanoTime();
		Leadership leadership = this.elector.getLeadership();
		if (now - this.last > STALL) {
			add(this.last, Kind.STALL, null, Long.toString(now - this.last));
		}
		if (this.seen != null && leadership != this.seen) {
			add(this.lastTrue, Kind.TRUE_UNTIL, this.seen, role());
		}
		if (leadership != null) {
			this.lastTrue = now;
			if (leadership != this.seen || now - this.written > HEARTBEAT) {
				this.written = now;
				add(now, (leadership != this.seen) ? Kind.TRUE_FROM : Kind.TRUE_AT, leadership, "");
			}
		}
		this.seen = leadership;
		this.last = now;
		return now;
	}

	private String role() {
		return (this.elector instanceof DefaultLeaderElector engine) ? engine.status().role().toString() : "";
	}

	private void add(long time, Kind kind, Leadership leadership, String details) {
		this.entries.accept(new Entry(this.elector.getNodeId(), time, kind,
				Optional.ofNullable(leadership).map(Leadership::getTerm), details));
	}

}
