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

package io.leaderelection.autoconfigure.health;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.ElectionStore.Description;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.spread.ElectionSpread.SpreadStatus;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;

/**
 * {@link HealthIndicator} for the elections of this node. Performs no I/O. A follower is
 * as healthy as a leader. The status is
 * <ul>
 * <li>{@link Status#DOWN} if the database cannot hold elections without operator action,
 * if a foreign session holds the main lock, or if an election has stopped although the
 * application runs
 * <li>{@link Status#OUT_OF_SERVICE} if the database has not answered for some time
 * <li>{@link Status#UP} otherwise
 * </ul>
 * The details have the {@code group}, one entry per election below {@code elections}, and
 * one per transaction manager below {@code fencing}. If elections are spread over the
 * nodes, {@code spread} says how.
 */
public class LeadershipHealthIndicator extends AbstractHealthIndicator {

	/**
	 * How long a node that watches may receive no answer: one observation may fail.
	 */
	private static final Duration LONGEST_WATCH = ElectionTimings.DEFAULTS.watchInterval().multipliedBy(2);

	private static final String STOPPED = "has stopped although the application is running";

	private final String group;

	private final DefaultLeaderElectors electors;

	private final BooleanSupplier running;

	private final Duration unreachableAfter;

	private final Supplier<Map<String, String>> fencing;

	private final Supplier<@Nullable SpreadStatus> spread;

	/**
	 * Create a new {@code LeadershipHealthIndicator} instance.
	 * @param group the group of nodes that share the elections, or an empty text
	 * @param electors the elections
	 * @param running returns whether the elections should be running: {@code false}
	 * before they were started, and from a request to stop or pause on
	 * @param unreachableAfter how long the database may not answer before health is
	 * {@code OUT_OF_SERVICE}
	 * @param fencing provides the coverage of transactions, by transaction manager
	 * @param spread provides how the elections are spread, if they are
	 */
	public LeadershipHealthIndicator(String group, DefaultLeaderElectors electors, BooleanSupplier running,
			Duration unreachableAfter, Supplier<Map<String, String>> fencing, Supplier<@Nullable SpreadStatus> spread) {
		super("Leadership health check failed");
		this.group = group;
		this.fencing = fencing;
		this.spread = spread;
		this.electors = electors;
		this.running = running;
		this.unreachableAfter = unreachableAfter;
	}

	@Override
	protected void doHealthCheck(Health.Builder builder) {
		Map<String, Object> elections = new LinkedHashMap<>();
		builder.up();
		boolean down = false;
		for (DefaultLeaderElector elector : this.electors.all()) {
			ElectionStatus status = elector.status();
			Map<String, Object> details = details(status);
			Description store = elector.describeStore();
			put(details, "store", store.store());
			put(details, "lockId", store.lockId());
			put(details, "database", store.database());
			elections.put(status.election(), details);
			if (status.role() == Role.STOPPED) {
				// Evaluated last: an election stops only after it was asked to
				if (this.running.getAsBoolean()) {
					down = true;
					builder.down();
					details.put("problem", STOPPED);
				}
			}
			else if (status.unusable()) {
				down = true;
				builder.down();
			}
			else if (!down && isSilent(status)) {
				builder.outOfService();
			}
		}
		builder.withDetail("group", this.group).withDetail("elections", elections);
		Map<String, String> coverage = this.fencing.get();
		if (!coverage.isEmpty()) {
			builder.withDetail("fencing", coverage);
		}
		SpreadStatus status = this.spread.get();
		if (status != null) {
			builder.withDetail("spread", details(status));
		}
	}

	private boolean isSilent(ElectionStatus status) {
		boolean expected = status.watching() && status.silence().compareTo(LONGEST_WATCH) <= 0;
		return !expected && status.silence().compareTo(this.unreachableAfter) > 0;
	}

	private static Map<String, Object> details(ElectionStatus status) {
		Map<String, Object> details = new LinkedHashMap<>();
		details.put("role", status.role().name().toLowerCase(Locale.ROOT));
		details.put("node", status.nodeId());
		put(details, "term", status.term());
		put(details, "since", status.since());
		put(details, "leader", status.leader());
		put(details, "leaderSince", status.leaderSince());
		if (!status.candidates().isEmpty()) {
			details.put("candidates", status.candidates());
		}
		put(details, "lastConfirmation", status.lastConfirmation());
		put(details, "lease", status.lease());
		put(details, "leaseRemaining", (status.term() != null) ? status.leaseRemaining() : null);
		put(details, "takeover", status.takeover());
		if (status.watching()) {
			details.put("watching", true);
		}
		put(details, "blockedBy", status.blockedBy());
		put(details, "problem", status.problem());
		return details;
	}

	private static Map<String, Object> details(SpreadStatus status) {
		Map<String, Object> details = new LinkedHashMap<>();
		details.put("led", status.led());
		details.put("share", status.share());
		put(details, "waiting", status.waiting());
		return details;
	}

	// As text, independently of the format of the response
	private static void put(Map<String, Object> details, String name, @Nullable Object value) {
		if (value instanceof Duration duration) {
			details.put(name, duration.toMillis() + "ms");
		}
		else if (value instanceof Instant instant) {
			details.put(name, instant.truncatedTo(ChronoUnit.MILLIS).toString());
		}
		else if (value != null) {
			details.put(name, value.toString());
		}
	}

}
