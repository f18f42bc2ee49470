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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStore.Sight;
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

	private static final long INTERVAL = TimeUnit.SECONDS.toNanos(1);

	/** The interval of comparisons while hand-overs begin and end. */
	private static final long HANDING_OVER = TimeUnit.MILLISECONDS.toNanos(200);

	private static final Pattern OTHER_CAUSES = Pattern.compile("^spread$|^max-led$|\\(priority\\)$");

	private final DefaultLeaderElectors electors;

	private final Settings settings;

	private volatile @Nullable SpreadStatus status;

	/** Since when the status has been the same, and whether that needs no message. */
	private long changed;

	private boolean logged;

	private volatile boolean stopped;

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
		if (this.settings.capacity() != 0) {
			SpreadPolicy policy = new SpreadPolicy(this.settings, System.nanoTime());
			Platform.SYSTEM.newThread("spread", () -> run(policy)).start();
		}
	}

	/**
	 * Stop to compare for good.
	 */
	public void stop() {
		this.stopped = true;
	}

	private void run(SpreadPolicy policy) {
		Throwable failure = null;
		boolean reported = false;
		while (!this.stopped) {
			try {
				if (failure != null && !reported) {
					reported = true;
					logger.warn("Could not compare the elections to spread them", failure);
				}
				publish(compare(policy));
				failure = null;
				reported = false;
			}
			catch (Throwable ex) {
				// Reported by the next comparison, since there may be no memory for that
				failure = ex;
			}
			LockSupport.parkNanos(policy.isHandingOver() ? HANDING_OVER : INTERVAL);
		}
	}

	private SpreadStatus compare(SpreadPolicy policy) {
		Map<String, Sight> seen = new HashMap<>();
		for (DefaultLeaderElector elector : this.electors.all()) {
			Sight sight = elector.sight();
			if (sight == null || sight.age().compareTo(SpreadPolicy.SKEW) > 0) {
				return new SpreadStatus(0, this.electors.all().size(), "nothing was read within 5s");
			}
			seen.put(elector.getElection(), sight);
		}
		Overview overview = new Overview(seen);
		boolean spreads = this.settings.capacity() > 0;
		Decision decision = policy.decide(System.nanoTime(), overview, spreads && isRefusing());
		decision.standBacks().forEach((election, how) -> this.electors.get(election).standBack(how));
		decision.handOvers()
			.forEach((election) -> this.electors.get(election)
				.requestResignation(overview.term(election), spreads ? "spread" : "max-led"));
		return decision.status();
	}

	private void publish(SpreadStatus next) {
		long now = System.nanoTime();
		SpreadStatus last = this.status;
		this.status = next;
		if (last == null || !Objects.equals(last.waiting(), next.waiting())) {
			this.changed = now;
			this.logged = next.waiting() == null;
		}
		if (!this.logged
				&& now - this.changed >= this.settings.hold().multipliedBy(SpreadPolicy.MOST_HOLDS).toNanos()) {
			String node = " (node '" + this.settings.node() + "')";
			logger.info("Elections are not spread evenly: " + next.waiting() + node);
			this.logged = true;
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
	 * @param node the id of this node
	 * @param capacity the {@linkplain io.leaderelection.engine.NodeProfile#capacity()
	 * capacity} of this node
	 * @param hold how long leaders and nodes must not have changed before elections move
	 * @param refusal how long what was taken from this node does not move back to it
	 * @param drain how long a hand-over waits at most
	 */
	public record Settings(String node, int capacity, Duration hold, Duration refusal, Duration drain) {

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
