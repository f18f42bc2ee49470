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

package io.leaderelection.spread;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.spread.Overview.Observation;
import io.leaderelection.spread.SpreadPolicy.Decision;
import io.leaderelection.spread.SpreadPolicy.HandOver;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Spreads the elections of an application over its nodes. Every second, a thread compares
 * what this node has observed anyway, and makes no request to the database.
 */
public final class ElectionSpread {

	private static final Log logger = LogFactory.getLog(ElectionSpread.class);

	/** So long that the next comparisons extend it, and that it ends without them. */
	private static final Duration SUSPENDED_FOR = Duration.ofSeconds(30);

	private final DefaultLeaderElectors electors;

	private final Settings settings;

	private final ScheduledExecutorService executor = Executors
		.newSingleThreadScheduledExecutor((task) -> Platform.SYSTEM.newThread("spread", task));

	private volatile @Nullable SpreadStatus status;

	private boolean failing;

	/**
	 * Create a new {@code ElectionSpread} instance.
	 * @param electors the elections, which must be the same on all nodes
	 * @param settings the settings
	 */
	public ElectionSpread(DefaultLeaderElectors electors, Settings settings) {
		this.electors = electors;
		this.settings = settings;
	}

	/**
	 * Return the status as of the last comparison.
	 * @return the status, or {@code null} if elections are not spread
	 */
	public @Nullable SpreadStatus status() {
		return this.status;
	}

	/**
	 * Start to compare, if elections are to be spread or limited.
	 */
	public void start() {
		if (this.settings.enabled() || this.settings.maxLed() < Settings.UNLIMITED) {
			SpreadPolicy policy = policy();
			compare(policy);
			this.executor.scheduleWithFixedDelay(() -> compare(policy), 1, 1, TimeUnit.SECONDS);
		}
	}

	/**
	 * Stop to compare for good.
	 */
	public void stop() {
		this.executor.shutdownNow();
	}

	private SpreadPolicy policy() {
		Duration longestDrain = this.electors.all()
			.stream()
			.map(DefaultLeaderElector::drainTimeout)
			.max(Duration::compareTo)
			.orElseThrow();
		return new SpreadPolicy(SessionNames.key(this.electors.getDefault().getNodeId()), this.settings, longestDrain,
				System.nanoTime());
	}

	private void compare(SpreadPolicy policy) {
		try {
			Map<String, Observation> seen = new HashMap<>();
			this.electors.all().forEach((elector) -> seen.put(elector.getElection(), observe(elector.observed())));
			Overview overview = new Overview(seen);
			Decision decision = policy.decide(System.nanoTime(), overview);
			this.status = decision.status();
			this.electors.all()
				.forEach((elector) -> elector.suspendForSpread(
						decision.suspended().contains(elector.getElection()) ? SUSPENDED_FOR : Duration.ZERO));
			HandOver handOver = decision.handOver();
			if (handOver != null) {
				this.electors.get(handOver.election())
					.requestResignation(overview.terms().get(handOver.election()), handOver.cause());
			}
			this.failing = false;
		}
		catch (Throwable ex) {
			// The next comparison is a new attempt
			warnOnce(ex);
		}
	}

	private void warnOnce(Throwable cause) {
		try {
			if (!this.failing) {
				logger.warn("Could not compare the elections to spread them", cause);
				this.failing = true;
			}
		}
		catch (Throwable ex) {
			// Ends no later comparison: there may be no memory for the message
		}
	}

	private static Observation observe(View view) {
		Map<String, Integer> candidates = new HashMap<>();
		for (Candidate candidate : view.candidates()) {
			candidates.put(SessionNames.key(candidate.nodeId()), candidate.profile().priority());
		}
		Holder leader = view.leader();
		return (leader != null) ? new Observation(SessionNames.key(leader.nodeId()), leader.term(), candidates)
				: new Observation(null, null, candidates);
	}

	/**
	 * How elections are spread.
	 *
	 * @param enabled whether a node hands over an election if another candidate leads at
	 * least two fewer
	 * @param maxLed how many elections this node leads at most, unless nobody else does
	 * @param hold how long no leader must have changed before an election is handed over
	 */
	public record Settings(boolean enabled, int maxLed, Duration hold) {

		/** No limit. */
		public static final int UNLIMITED = Integer.MAX_VALUE;

	}

}
