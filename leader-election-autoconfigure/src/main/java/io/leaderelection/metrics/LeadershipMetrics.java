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

package io.leaderelection.metrics;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.ToDoubleFunction;

import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.FenceChecks;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.jspecify.annotations.Nullable;

/**
 * {@link MeterBinder} for the elections of this node. All gauges have the tag
 * {@code election}, are computed from memory when they are read, and so cannot outlive
 * what they tell.
 */
public class LeadershipMetrics implements MeterBinder {

	private static final String LEADER = "leader.election.leader";

	private static final String TERM = "leader.election.term";

	private static final String LEASE_REMAINING = "leader.election.lease.remaining";

	private static final String CONFIRMATION_AGE = "leader.election.confirmation.age";

	private static final String FENCE = "leader.election.fence";

	private static final String SECONDS = "seconds";

	private final DefaultLeaderElectors electors;

	/**
	 * Create a new {@code LeadershipMetrics} instance.
	 * @param electors the elections
	 */
	public LeadershipMetrics(DefaultLeaderElectors electors) {
		this.electors = electors;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		for (DefaultLeaderElector elector : this.electors.all()) {
			count(registry, elector, "passed", FenceChecks::passed);
			count(registry, elector, "refused", FenceChecks::refused);
			bind(registry, elector, LEADER, null, "Whether this node leads: 1 or 0",
					(current) -> current.isLeader() ? 1 : 0);
			bind(registry, elector, TERM, null,
					"Transaction id of the term in which this node leads; 0, which no term has, while it does not",
					(current) -> term(current.status()));
			bind(registry, elector, LEASE_REMAINING, SECONDS,
					"How long leadership is trusted without a further confirmation; 0 while this node does not lead",
					(current) -> seconds(current.status().leaseRemaining()));
			bind(registry, elector, CONFIRMATION_AGE, SECONDS,
					"Time since the database last answered, or since the start if it never has; "
							+ "not a number while this node takes no part",
					(current) -> confirmationAge(current.status()));
		}
	}

	private static void bind(MeterRegistry registry, DefaultLeaderElector elector, String name,
			@Nullable String baseUnit, String description, ToDoubleFunction<DefaultLeaderElector> value) {
		Gauge.builder(name, elector, value)
			.tag("election", elector.getElection())
			.baseUnit(baseUnit)
			.description(description)
			.register(registry);
	}

	private static void count(MeterRegistry registry, DefaultLeaderElector elector, String result,
			ToDoubleFunction<FenceChecks> count) {
		FunctionCounter.builder(FENCE, elector.fenceChecks(), count)
			.tag("election", elector.getElection())
			.tag("result", result)
			.description("Checks of transactions of leader work at the fence")
			.register(registry);
	}

	private static double term(ElectionStatus status) {
		Term term = status.term();
		return (term != null) ? term.transactionId() : 0;
	}

	private static double confirmationAge(ElectionStatus status) {
		return (status.role() != Role.STOPPED) ? seconds(status.silence()) : Double.NaN;
	}

	private static double seconds(Duration duration) {
		return duration.toNanos() / (double) TimeUnit.SECONDS.toNanos(1);
	}

}
