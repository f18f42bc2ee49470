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

package io.leaderelection.autoconfigure.metrics;

import java.util.Locale;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.ElectionStatistics.Listener;
import io.leaderelection.engine.InvocationCounts;
import io.leaderelection.engine.InvocationCounts.Outcome;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;

/**
 * The meters of one election that are updated by events of the engine.
 */
final class ListenerMeters implements Listener {

	private final MeterRegistry registry;

	private final String election;

	private final Timer acquire;

	private final Timer confirm;

	private final Timer drain;

	ListenerMeters(MeterRegistry registry, String election) {
		this.registry = registry;
		this.election = election;
		this.acquire = timer("acquire", "Time from winning the lock to the grant");
		this.confirm = timer("confirm", "Time that the database takes to answer a confirmation");
		this.drain = timer("drain",
				"Time from the start of a hand-over until the lock is free, for completed hand-overs");
	}

	private Timer timer(String name, String description) {
		return Timer.builder("leader.election." + name)
			.tag("election", this.election)
			.description(description)
			.register(this.registry);
	}

	@Override
	public void acquired(long nanos) {
		this.acquire.record(nanos, TimeUnit.NANOSECONDS);
	}

	@Override
	public void confirmed(long nanos) {
		this.confirm.record(nanos, TimeUnit.NANOSECONDS);
	}

	@Override
	public void drained(long nanos) {
		this.drain.record(nanos, TimeUnit.NANOSECONDS);
	}

	@Override
	public void guarded(InvocationCounts counts) {
		for (Outcome outcome : Outcome.values()) {
			FunctionCounter.builder("leader.election.invocations", counts, (current) -> current.get(outcome))
				.tags("election", this.election, "method", counts.method(), "outcome",
						outcome.name().toLowerCase(Locale.ROOT))
				.description("Invocations of guarded methods that have ended or were refused")
				.register(this.registry);
		}
	}

}
