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

package io.leaderelection.comparison;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import io.leaderelection.comparison.Candidate.Variant;
import io.leaderelection.comparison.History.Event;
import io.leaderelection.comparison.History.Interval;
import io.leaderelection.comparison.History.Kind;
import io.leaderelection.comparison.Result.Measurement;
import org.jspecify.annotations.Nullable;

/**
 * How a candidate is measured, each time on new nodes.
 *
 * @param candidate what is measured
 * @param variant with which settings
 * @param backend its server
 * @param limit how long a next leader is awaited
 * @param idle for how long an idle cluster is observed
 */
record Run(Candidate candidate, Variant variant, Backend backend, Duration limit, Duration idle) {

	/** What all nodes need to be candidates after their start. */
	private static final Duration SETTLED = Duration.ofSeconds(2);

	/** When idle connections that a start leaves in a pool have ended for sure. */
	private static final Duration IDLE = Duration.ofSeconds(45);

	/** How long a cluster is observed after the last change. */
	private static final Duration OBSERVED = Duration.ofSeconds(3);

	/** How long a leader may go on that is cut off, or whose session has ended. */
	private static final Duration NOTICED = Duration.ofSeconds(30);

	Map<String, Double> measure(Measurement measurement, int number) throws Exception {
		String election = (this.candidate + "-" + this.variant + "-" + measurement + "-" + number).replace('_', '-');
		long start = System.nanoTime();
		try (Cluster cluster = new Cluster(this, election)) {
			cluster.start(measurement);
			if (measurement.isIdle()) {
				return measureIdle(cluster, measurement.nodes());
			}
			cluster.awaitLeader(this.limit);
			if (measurement == Measurement.START) {
				long granted = cluster.history().intervals(-1, 0, 0).get(0).start();
				return Map.of(Result.NEXT, (granted - start) / 1e6);
			}
			return fault(cluster, measurement);
		}
	}

	private Map<String, Double> measureIdle(Cluster cluster, int nodes) throws InterruptedException {
		TimeUnit.NANOSECONDS.sleep(IDLE.toNanos());
		Map<String, Double> figures = new TreeMap<>(this.backend.counters());
		double cpu = cluster.cpuMillis();
		long start = System.nanoTime();
		TimeUnit.NANOSECONDS.sleep(this.idle.toNanos());
		double seconds = (System.nanoTime() - start) / 1e9;
		this.backend.counters()
			.forEach((name, value) -> figures.compute(name,
					(key, before) -> name.equals("connections") ? value : (value - before) / seconds));
		figures.put("cpuMillis", (cluster.cpuMillis() - cpu) / seconds / nodes);
		return figures;
	}

	private Map<String, Double> fault(Cluster cluster, Measurement fault) throws Exception {
		Duration renewal = this.candidate.renewal(this.variant);
		TimeUnit.NANOSECONDS.sleep(SETTLED.toNanos() + ThreadLocalRandom.current().nextLong(renewal.toNanos()));
		int old = cluster.awaitLeader(this.limit);
		long hit = System.nanoTime();
		cluster.apply(fault, old);
		// A server that ends a session does not prevent the same node from leading again
		boolean session = fault == Measurement.SESSION;
		Duration awaited = session ? NOTICED : this.limit;
		Event next = cluster.await(
				(event) -> event.kind() == Kind.GRANTED && event.time() > hit && (event.node() != old || session),
				awaited);
		if (fault == Measurement.CUT) {
			awaitRevoked(cluster, old, hit, NOTICED);
		}
		cluster.restore(fault, old);
		boolean killed = fault == Measurement.KILL || fault == Measurement.KILL_PROXIED;
		if (!killed) {
			awaitRevoked(cluster, old, hit, OBSERVED);
			TimeUnit.NANOSECONDS.sleep(OBSERVED.toNanos());
		}
		Map<String, Double> figures = figures(cluster.history(), killed ? hit : Long.MAX_VALUE, old, hit, next);
		figures.put(Result.LIMIT, (double) awaited.toMillis());
		if (session && cluster.history().leader(false) == old) {
			figures.putIfAbsent(Result.NEXT, 0.0);
		}
		return figures;
	}

	private static void awaitRevoked(Cluster cluster, int old, long hit, Duration limit) throws InterruptedException {
		List<Interval> intervals = cluster.history().intervals(old, Long.MAX_VALUE, 0);
		if (intervals.stream().anyMatch((interval) -> interval.end() == Long.MAX_VALUE)) {
			// The time that is reported may be shortly before the fault
			long earliest = hit - TimeUnit.MILLISECONDS.toNanos(10);
			cluster.await((event) -> event.node() == old && event.kind() == Kind.REVOKED && event.time() > earliest,
					limit);
		}
	}

	private Map<String, Double> figures(History history, long killed, int old, long hit, @Nullable Event next) {
		long end = System.nanoTime();
		List<Interval> intervals = history.intervals(old, Math.min(killed, end), end);
		Map<String, Double> figures = new TreeMap<>();
		if (next != null) {
			figures.put(Result.NEXT, (next.time() - hit) / 1e6);
		}
		long open = intervals.stream().filter((interval) -> interval.end() == end).count();
		figures.put(Result.OVERLAP, History.overlap(intervals, hit) / 1e6);
		figures.put(Result.OVERLAP_OPEN, (open > 1) ? 1.0 : 0.0);
		figures.put(Result.OLD_RUNS, (double) history.oldRuns(old, intervals, hit));
		return figures;
	}

}
