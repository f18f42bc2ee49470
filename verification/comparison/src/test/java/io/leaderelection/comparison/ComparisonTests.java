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

import java.nio.file.Path;
import java.time.Duration;
import java.time.ZonedDateTime;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaderElectionRecord;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.leaderelection.comparison.Candidate.Variant;
import io.leaderelection.comparison.History.Event;
import io.leaderelection.comparison.History.Interval;
import io.leaderelection.comparison.History.Kind;
import io.leaderelection.comparison.Result.Measurement;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

/**
 * Tests of the comparison, and its short form, so that it does not rot.
 */
@Tag("ring2")
class ComparisonTests {

	/**
	 * With the settings that take over sooner. Asserts no times.
	 */
	@Test
	@Tag("ring3")
	void eachCandidateHasANextLeaderAfterAKill(@TempDir Path directory) throws Exception {
		String[] options = { "--faults=kill", "--variants=tuned", "--runs=1", "--out=" + directory.resolve("runs") };
		Comparison comparison = new Comparison(options);
		comparison.run();
		List<Result> results = comparison.results();
		assertThat(results).extracting(Result::candidate).containsExactly(Candidate.values());
		assertThat(results).allSatisfy((result) -> {
			assertThat(result.figures()).containsOnlyKeys(Result.NEXT, Result.LIMIT, Result.OVERLAP,
					Result.OVERLAP_OPEN, Result.OLD_RUNS);
			assertThat(result.options()).isEqualTo(result.candidate().options(result.variant()));
		});
		Comparison resumed = new Comparison(options);
		resumed.run();
		assertThat(resumed.results()).isEqualTo(results);
	}

	@Test
	void twoLeadersAtOnceAndRunsOfTheOldLeader() {
		History history = new History(List.of(new Event(0, Kind.GRANTED, 10), new Event(1, Kind.GRANTED, 50),
				new Event(0, Kind.RUN, 40), new Event(0, Kind.RUN, 55), new Event(1, Kind.RUN, 56),
				new Event(0, Kind.REVOKED, 60), new Event(0, Kind.RUN, 65)));
		List<Interval> intervals = history.intervals(0, 100, 100);
		assertThat(intervals).containsExactly(new Interval(0, 10, 60), new Interval(1, 50, 100));
		assertThat(History.overlap(intervals, 20)).isEqualTo(10);
		assertThat(History.overlap(intervals, 55)).isEqualTo(5);
		assertThat(history.leader(false)).isEqualTo(1);
		assertThat(history.oldRuns(0, intervals, 20)).isEqualTo(2);
		assertThat(history.oldRuns(0, intervals, 60)).isEqualTo(1);
		// Node 1 was killed
		assertThat(history.intervals(1, 70, 100)).contains(new Interval(1, 50, 70));
		History ended = new History(List.of(new Event(0, Kind.GRANTED, 10), new Event(0, Kind.ENDED, 30)));
		assertThat(ended.intervals(-1, 0, 100)).containsExactly(new Interval(0, 10, 30));
		assertThat(ended.leader(false)).isEqualTo(-1);
		assertThat(ended.leader(true)).isZero();
	}

	@Test
	void betterFigureOfAnotherCandidateIsBold(@TempDir Path directory) throws Exception {
		Path file = directory.resolve("deeper").resolve("runs");
		List<Result> results = List.of(
				result(Candidate.ADVISORY_LOCK, 1, Map.of(Result.NEXT, 20.0, Result.OVERLAP, 0.0)),
				result(Candidate.CURATOR, 1, Map.of(Result.NEXT, 10.0, Result.OVERLAP, 4.0, Result.OLD_RUNS, 2.0)),
				result(Candidate.CURATOR, 2,
						Map.of(Result.NEXT, 14.0, Result.OVERLAP, 1500.0, Result.OVERLAP_OPEN, 1.0, Result.OLD_RUNS,
								3.0)),
				result(Candidate.POLLER, 1, Map.of(Result.OVERLAP, 0.0, Result.LIMIT, 120_000.0)),
				result(Candidate.SHEDLOCK, 1, Map.of(Result.NEXT, 0.0, Result.OVERLAP, 0.0, Result.OLD_RUNS, 0.0)));
		for (Result result : results) {
			result.append(file);
		}
		assertThat(Result.read(file)).isEqualTo(results);
		String tables = new Report(results).markdown();
		assertThat(tables).contains("Measured on 2026-11-27: a machine, PostgreSQL 1; load average at most 0.1.",
				"| this project, advisory lock | 20 ms | 20 ms (1) | none | not counted |",
				"| Apache Curator | **12 ms** | **14 ms (2)** | to the end, 1.5 s | 5 |",
				"| **none lost** | **none lost (1)** | none | 0 |",
				"| none within 120 s | none within 120 s (1) | none | not counted |");
		assertThatIllegalArgumentException().isThrownBy(() -> new Comparison("--out=" + file))
			.withMessageContaining("other settings");
		assertThat(Report.replace("a\n" + Report.BEGIN + "old\n" + Report.END + "b", "new\n"))
			.isEqualTo("a\n" + Report.BEGIN + "\nnew\n\n" + Report.END + "b");
	}

	private static Result result(Candidate candidate, int run, Map<String, Double> figures) {
		return new Result(candidate, Variant.DEFAULT, List.of("option=1"), Measurement.KILL, run,
				"2026-11-27T12:00:00Z", "a machine", "PostgreSQL 1", "0.10", figures);
	}

	/**
	 * Otherwise two nodes could take a lease for a reason that Kubernetes does not have.
	 */
	@Test
	void kubernetesServerRefusesOneOfTwoUpdatesOfTheSameVersion() throws Exception {
		try (Backend backend = new KubernetesLease.Server();
				KubernetesClient client = new KubernetesClientBuilder()
					.withConfig(new ConfigBuilder().withMasterUrl("http://127.0.0.1:" + backend.port()).build())
					.build()) {
			LeaseLock first = new LeaseLock("default", "election", "first");
			LeaseLock second = new LeaseLock("default", "election", "second");
			first.create(client, leader(first));
			for (int round = 0; round < 200; round++) {
				first.get(client);
				second.get(client);
				CompletableFuture<Boolean> other = CompletableFuture.supplyAsync(() -> update(client, second));
				assertThat(List.of(update(client, first), other.join())).containsExactlyInAnyOrder(true, false);
			}
		}
	}

	private static boolean update(KubernetesClient client, LeaseLock lock) {
		try {
			lock.update(client, leader(lock));
			return true;
		}
		catch (KubernetesClientException ex) {
			assertThat(ex.getCode()).isEqualTo(409);
			return false;
		}
	}

	private static LeaderElectionRecord leader(LeaseLock lock) {
		return new LeaderElectionRecord(lock.identity(), Duration.ofSeconds(2), ZonedDateTime.now(),
				ZonedDateTime.now(), 0);
	}

}
