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

package io.leaderelection.application;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.annotation.LeaderOnly;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Jobs of which the scheduler of every node has its own, and one runs. The scheduler asks
 * for a publisher once only, and subscribes at each tick.
 */
@Tag("ring2")
class ScheduledWorkTests {

	@AutoClose
	private final Nodes nodes = new Nodes(JobController.class, "management.endpoint.leadership.access=unrestricted");

	@ParameterizedTest
	@ValueSource(strings = { "method", "publisher" })
	void jobRunsWhereLeadershipIs(String job) {
		List<Node> two = this.nodes.startTwo();
		Node first = two.get(0);
		Node second = two.get(1);
		awaitRuns(job, first);
		assertThat(runs(job, second)).isZero();

		second.handOver();
		awaitRuns(job, second);
		int before = runs(job, first);
		awaitRuns(job, second);
		assertThat(runs(job, first)).isEqualTo(before);

		second.handOver();
		awaitRuns(job, first);
	}

	/**
	 * Wait until the job has run five times more.
	 */
	private static void awaitRuns(String job, Node node) {
		int runs = runs(job, node) + 5;
		Awaitility.await().atMost(Duration.ofSeconds(30)).until(() -> runs(job, node) >= runs);
	}

	private static int runs(String job, Node node) {
		return Integer.parseInt(node.get("/runs/" + job).body());
	}

	/**
	 * Says how often the jobs have run.
	 */
	@RestController
	@Import(Jobs.class)
	static class JobController {

		private final Jobs jobs;

		JobController(Jobs jobs) {
			this.jobs = jobs;
		}

		@GetMapping("/runs/{job}")
		int runs(@PathVariable String job) {
			return this.jobs.runs(job);
		}

	}

	/**
	 * Jobs that the leader runs.
	 */
	@Component
	static class Jobs {

		private final AtomicInteger methodRuns = new AtomicInteger();

		private final AtomicInteger publisherRuns = new AtomicInteger();

		int runs(String job) {
			return (job.equals("method") ? this.methodRuns : this.publisherRuns).get();
		}

		@LeaderOnly
		@Scheduled(fixedDelay = 50, timeUnit = TimeUnit.MILLISECONDS)
		void method() {
			this.methodRuns.incrementAndGet();
		}

		@LeaderOnly
		@Scheduled(fixedDelay = 50, timeUnit = TimeUnit.MILLISECONDS)
		Mono<Integer> publisher() {
			return Mono.fromSupplier(this.publisherRuns::incrementAndGet);
		}

	}

}
