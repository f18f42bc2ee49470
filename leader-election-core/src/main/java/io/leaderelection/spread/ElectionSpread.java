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
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStore.Sight;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.Transition;
import io.leaderelection.spread.SpreadPolicy.Decision;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Spreads the elections of an application over its nodes. Every second, a thread compares
 * what this node has observed anyway, and makes no request to the database.
 */
public final class ElectionSpread {

	private static final Log logger = LogFactory.getLog(ElectionSpread.class);

	/** Nothing is decided by what is older: another node may have read it long before. */
	static final Duration OLDEST = Duration.ofSeconds(5);

	/** The interval of comparisons while hand-overs begin and end. */
	private static final long HANDING_OVER = TimeUnit.MILLISECONDS.toNanos(200);

	/** After how many times the hold to log why elections are not spread. */
	private static final int HOLDS_UNTIL_LOGGED = 6;

	private static final Pattern OTHER_CAUSES = Pattern.compile("^spread$|^max-led$|\\(priority\\)$");

	private final DefaultLeaderElectors electors;

	private final Settings settings;

	private final ScheduledExecutorService executor = Executors
		.newSingleThreadScheduledExecutor((task) -> Platform.SYSTEM.newThread("spread", task));

	private volatile @Nullable SpreadStatus status;

	/** Since when the status has been the same, until that is logged. */
	private @Nullable Long unloggedSince;

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
		if (this.settings.enabled() || this.settings.maxLed() < NodeProfile.UNLIMITED) {
			Duration longestDrain = this.electors.all()
				.stream()
				.map(DefaultLeaderElector::drainTimeout)
				.max(Duration::compareTo)
				.orElseThrow();
			SpreadPolicy policy = new SpreadPolicy(this.electors.getDefault().getNodeId(), this.settings, longestDrain,
					System.nanoTime());
			compare(policy);
			this.executor.scheduleWithFixedDelay(() -> run(policy), 1, 1, TimeUnit.SECONDS);
		}
	}

	/**
	 * Stop to compare for good.
	 */
	public void stop() {
		this.executor.shutdownNow();
	}

	private void run(SpreadPolicy policy) {
		compare(policy);
		while (policy.isHandingOver() && !this.executor.isShutdown()) {
			LockSupport.parkNanos(HANDING_OVER);
			compare(policy);
		}
	}

	private void compare(SpreadPolicy policy) {
		try {
			Map<String, Sight> seen = new HashMap<>();
			for (DefaultLeaderElector elector : this.electors.all()) {
				Sight sight = elector.sight();
				if (sight == null || sight.age().compareTo(OLDEST) > 0) {
					publish(new SpreadStatus(0, this.electors.all().size(), "nothing was read within 5s"));
					return;
				}
				seen.put(elector.getElection(), sight);
			}
			Overview overview = new Overview(seen);
			Decision decision = policy.decide(System.nanoTime(), overview, this.settings.enabled() && isRefusing());
			publish(decision.status());
			decision.standBacks().forEach((election, how) -> this.electors.get(election).standBack(how));
			decision.handOvers()
				.forEach((election, cause) -> this.electors.get(election)
					.requestResignation(overview.terms().get(election), cause));
			this.failing = false;
		}
		catch (Throwable ex) {
			// The next comparison is a new attempt
			warnOnce(ex);
		}
	}

	private void publish(SpreadStatus next) {
		SpreadStatus last = this.status;
		this.status = next;
		long now = System.nanoTime();
		if (last == null || !Objects.equals(last.waiting(), next.waiting())) {
			this.unloggedSince = now;
		}
		Long since = this.unloggedSince;
		if (next.waiting() != null && since != null
				&& now - since >= this.settings.hold().multipliedBy(HOLDS_UNTIL_LOGGED).toNanos()) {
			logger.info("Elections are not spread evenly: " + next.waiting() + " (node '"
					+ this.electors.getDefault().getNodeId() + "')");
			this.unloggedSince = null;
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

	/**
	 * Return whether this node has lately handed an election over for another reason than
	 * the number of its elections: an operator, its health, or services that do not
	 * start. The time doubles with each of the last times.
	 */
	private boolean isRefusing() {
		List<Instant> refusals = this.electors.all()
			.stream()
			.flatMap((elector) -> elector.history().stream())
			.filter((transition) -> transition.reason() == Reason.RESIGNED
					&& !OTHER_CAUSES.matcher(String.valueOf(transition.cause())).find())
			.map(Transition::time)
			.sorted()
			.toList();
		int last = refusals.size() - 1;
		return last >= 0 && Instant.now()
			.isBefore(refusals.get(last).plus(this.settings.refusal().multipliedBy(1L << Math.min(last, 6))));
	}

	/**
	 * How elections are spread.
	 *
	 * @param enabled whether this node hands over elections to others that lead fewer
	 * @param maxLed how many elections this node leads at most, unless nobody else does
	 * @param hold how long leaders and nodes must not have changed before elections move
	 * @param refusal how long what was taken from this node does not move back to it
	 */
	public record Settings(boolean enabled, int maxLed, Duration hold, Duration refusal) {

	}

	/**
	 * How the elections of an application are spread over its nodes, as far as known to
	 * one node.
	 *
	 * @param led how many elections this node leads
	 * @param share how many elections a node leads at most when they are spread evenly
	 * @param waiting why they are not spread evenly at present, or {@code null} if they
	 * are or if none can move
	 */
	public record SpreadStatus(int led, int share, @Nullable String waiting) {

	}

}
