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

import java.time.Duration;
import java.util.Locale;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatistics;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.ElectionStore.Description;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.binder.MeterBinder;
import org.jspecify.annotations.Nullable;

/**
 * {@link MeterBinder} for the elections of this node. All meters have the tag
 * {@code election}, except those of elections that are spread, and a filter adds the
 * group. Gauges are computed from memory when they are read, so that they are never
 * outdated.
 */
class LeadershipMetrics implements MeterBinder {

	private static final String PREFIX = "leader.election.";

	private static final String SECONDS = "seconds";

	private final DefaultLeaderElectors electors;

	private final Supplier<@Nullable SpreadStatus> spread;

	/**
	 * Create a new {@code LeadershipMetrics} instance.
	 * @param electors the elections
	 * @param spread provides how the elections are spread, if they are
	 */
	LeadershipMetrics(DefaultLeaderElectors electors, Supplier<@Nullable SpreadStatus> spread) {
		this.electors = electors;
		this.spread = spread;
	}

	@Override
	public void bindTo(MeterRegistry registry) {
		for (DefaultLeaderElector elector : this.electors.all()) {
			bindStatus(registry, elector);
			Description store = elector.describeStore();
			Gauge.builder(PREFIX + "info", () -> 1)
				.tags("election", elector.getElection(), "store", store.store(), "lock.id",
						Objects.requireNonNullElse(store.lockId(), "none"), "protocol",
						Integer.toString(NodeProfile.PROTOCOL), "version", version())
				.description(
						"Identity of the election, protocol between nodes and version of the library, as tags; always 1")
				.register(registry);
			bindTransitions(registry, elector);
			bindFence(registry, elector, "passed", ElectionStatistics::passedFence);
			bindFence(registry, elector, "refused", ElectionStatistics::refusedByFence);
			FunctionCounter.builder(PREFIX + "time", elector, (current) -> seconds(current.led()))
				.tag("election", elector.getElection())
				.baseUnit(SECONDS)
				.description("Time for which this node has led, hand-overs included")
				.register(registry);
			elector.statistics().addListener(new ListenerMeters(registry, elector.getElection()));
		}
		if (this.spread.get() != null) {
			bindSpread(registry, "led", "Number of elections that this node leads", SpreadStatus::led);
			bindSpread(registry, "share", "Number of elections that a node leads at most when they are spread evenly",
					SpreadStatus::share);
		}
	}

	private void bindSpread(MeterRegistry registry, String name, String description,
			ToDoubleFunction<SpreadStatus> value) {
		Gauge.builder(PREFIX + name, this.spread, (status) -> {
			SpreadStatus current = status.get();
			return (current != null) ? value.applyAsDouble(current) : Double.NaN;
		}).description(description).register(registry);
	}

	private static void bindStatus(MeterRegistry registry, DefaultLeaderElector elector) {
		gauge(registry, elector, "leader", null, "Whether this node leads: 1 or 0",
				(current) -> current.isLeader() ? 1 : 0);
		gauge(registry, elector, "term", null,
				"Transaction id of the term in which this node leads; 0 while it does not lead",
				(current) -> term(current.status()));
		gauge(registry, elector, "lease.duration", SECONDS, "Configured length of the lease",
				(current) -> seconds(current.status().lease()));
		gauge(registry, elector, "lease.remaining", SECONDS,
				"Time for which leadership is trusted without a further confirmation; 0 while this node does not lead",
				(current) -> seconds(current.status().leaseRemaining()));
		gauge(registry, elector, "confirmation.age", SECONDS,
				"Time since the database last answered, or since the start if it never has; "
						+ "NaN while this node does not participate",
				(current) -> confirmationAge(current.status()));
		gauge(registry, elector, "watching", null, "Whether this node observes less often than a standby: 1 or 0",
				(current) -> current.status().watching() ? 1 : 0);
		gauge(registry, elector, "blocked", null,
				"Whether this node waits for the end of an earlier term, or for a foreign session: 1 or 0",
				(current) -> (current.status().blockedBy() != null) ? 1 : 0);
	}

	private static void gauge(MeterRegistry registry, DefaultLeaderElector elector, String name,
			@Nullable String baseUnit, String description, ToDoubleFunction<DefaultLeaderElector> value) {
		Gauge.builder(PREFIX + name, elector, value)
			.tag("election", elector.getElection())
			.baseUnit(baseUnit)
			.description(description)
			.register(registry);
	}

	private static void bindTransitions(MeterRegistry registry, DefaultLeaderElector elector) {
		bindTransitions(registry, elector, "granted", "none", ElectionStatistics::granted);
		for (Reason reason : Reason.values()) {
			bindTransitions(registry, elector, "revoked", reason.name().toLowerCase(Locale.ROOT),
					(statistics) -> statistics.revoked(reason));
		}
	}

	private static void bindTransitions(MeterRegistry registry, DefaultLeaderElector elector, String kind,
			String reason, ToDoubleFunction<ElectionStatistics> count) {
		FunctionCounter.builder(PREFIX + "transitions", elector.statistics(), count)
			.tags("election", elector.getElection(), "kind", kind, "reason", reason)
			.description("Grants of leadership to this node, and revocations by reason")
			.register(registry);
	}

	private static void bindFence(MeterRegistry registry, DefaultLeaderElector elector, String result,
			ToDoubleFunction<ElectionStatistics> count) {
		FunctionCounter.builder(PREFIX + "fence", elector.statistics(), count)
			.tags("election", elector.getElection(), "result", result)
			.description("Checks of transactions of leader work at the fence")
			.register(registry);
	}

	private static String version() {
		String version = LeadershipMetrics.class.getPackage().getImplementationVersion();
		return (version != null) ? version : "unknown";
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
