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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import io.leaderelection.comparison.Candidate.Variant;
import org.jspecify.annotations.Nullable;

/**
 * One measurement of a candidate, on new nodes.
 *
 * @param candidate what is measured
 * @param variant with which settings
 * @param backend its server
 * @param limit how long a next leader is awaited
 * @param idle for how long an idle cluster is observed
 */
record Run(Candidate candidate, Variant variant, Backend backend, Duration limit, Duration idle) {

	private static final int NODES = 3;

	/** What all nodes need to be candidates after their start. */
	private static final Duration SETTLED = Duration.ofSeconds(2);

	/** How long a cluster is observed after the last change. */
	private static final Duration OBSERVED = Duration.ofSeconds(3);

	/** How long a leader that is cut off may go on before the network is restored. */
	private static final Duration CUT = Duration.ofSeconds(30);

	Map<String, Double> measure(Measurement measurement, int run) throws Exception {
		String election = (this.candidate + "-" + this.variant + "-" + measurement + "-" + run).replace('_', '-');
		try (Cluster cluster = new Cluster(this.candidate, this.variant, this.backend, election, measurement)) {
			return switch (measurement) {
				case START -> start(cluster);
				case IDLE_3 -> idle(cluster, NODES);
				case IDLE_20 -> idle(cluster, Cluster.LARGE);
				default -> fault(cluster, measurement);
			};
		}
	}

	private Map<String, Double> start(Cluster cluster) throws Exception {
		long start = System.nanoTime();
		cluster.start(1);
		cluster.awaitLeader(this.limit);
		long granted = new History(cluster.events()).intervals(-1, 0, 0).get(0).start();
		return Map.of(Result.NEXT, (granted - start) / 1e6);
	}

	private Map<String, Double> idle(Cluster cluster, int nodes) throws Exception {
		cluster.start(nodes);
		// What a start leaves, such as idle connections of a pool, has ended after that
		TimeUnit.SECONDS.sleep(20);
		Map<String, Double> before = this.backend.counters();
		long start = System.nanoTime();
		TimeUnit.NANOSECONDS.sleep(this.idle.toNanos());
		double seconds = (System.nanoTime() - start) / 1e9;
		Map<String, Double> figures = new TreeMap<>();
		this.backend.counters()
			.forEach((name, value) -> figures.put(name, name.equals("connections") ? value
					: Math.max(0, value - before.getOrDefault(name, 0.0)) / seconds));
		return figures;
	}

	private Map<String, Double> fault(Cluster cluster, Measurement fault) throws Exception {
		cluster.start(NODES);
		cluster.awaitLeader(this.limit);
		// Also until a random moment between two renewals
		TimeUnit.NANOSECONDS.sleep(SETTLED.toNanos() + ThreadLocalRandom.current().nextLong(1_000_000_000));
		NodeProcess leader = cluster.awaitLeader(this.limit);
		int old = leader.number();
		long hit = System.nanoTime();
		cluster.apply(fault, leader);
		// A server that ends a session does not prevent the same node from leading again
		Event next = cluster.await((event) -> event.kind() == Event.Kind.GRANTED && event.time() > hit
				&& (event.node() != old || fault == Measurement.SESSION), this.limit);
		if (fault == Measurement.CUT) {
			awaitRevoked(cluster, old, hit, CUT);
		}
		cluster.restore(fault, leader);
		if (fault != Measurement.KILL) {
			awaitRevoked(cluster, old, hit, OBSERVED);
			TimeUnit.NANOSECONDS.sleep(OBSERVED.toNanos());
		}
		return figures(cluster, fault, old, hit, next);
	}

	private static void awaitRevoked(Cluster cluster, int old, long hit, Duration limit) throws InterruptedException {
		cluster.await(
				(event) -> event.node() == old && event.kind() == Event.Kind.REVOKED && event.time() > hit - 1_000_000,
				limit);
	}

	private Map<String, Double> figures(Cluster cluster, Measurement fault, int old, long hit, @Nullable Event next) {
		History history = new History(cluster.events());
		long end = System.nanoTime();
		List<History.Interval> intervals = history.intervals((fault == Measurement.KILL) ? old : -1, hit, end);
		Map<String, Double> figures = new LinkedHashMap<>();
		if (next != null) {
			figures.put(Result.NEXT, (next.time() - hit) / 1e6);
		}
		figures.put(Result.LIMIT, (double) this.limit.toMillis());
		figures.put(Result.OVERLAP, History.overlap(intervals, hit) / 1e6);
		figures.put(Result.OVERLAP_OPEN,
				(intervals.stream().filter((interval) -> interval.end() == end).count() > 1) ? 1.0 : 0.0);
		figures.put(Result.OLD_RUNS, (double) history.oldRuns(old, intervals, hit));
		return figures;
	}

}
