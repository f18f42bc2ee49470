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

import java.time.LocalTime;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.annotation.LeaderOnly;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Import;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A job that runs once an hour, and whenever leadership is granted.
 */
@Tag("ring2")
class RunOnGrantTests {

	// Not while the test runs
	private static final int MINUTE = LocalTime.now().plusMinutes(30).getMinute();

	@AutoClose
	private final Nodes nodes = new Nodes(JobController.class, "job.cron=0 " + MINUTE + " * * * *",
			"management.endpoint.leadership.access=unrestricted");

	@Test
	void jobRunsOnceOnEachGrant() {
		List<Node> two = this.nodes.startTwo();
		awaitRuns(two, 1, 0);
		two.get(0).handOver();
		awaitRuns(two, 1, 1);
		two.get(1).handOver();
		awaitRuns(two, 2, 1);
		two.get(1).awaitView(two.get(0), two.toArray(Node[]::new));
		assertThat(two).extracting(RunOnGrantTests::runs).containsExactly("2", "1");
	}

	private static void awaitRuns(List<Node> nodes, Integer first, Integer second) {
		List<String> runs = List.of(first.toString(), second.toString());
		Node.eventually().until(() -> nodes.stream().map(RunOnGrantTests::runs).toList().equals(runs));
	}

	private static String runs(Node node) {
		return node.get("/runs").body();
	}

	/**
	 * Says how often the job has run.
	 */
	@RestController
	@Import(HourlyJob.class)
	static class JobController {

		private final HourlyJob job;

		JobController(HourlyJob job) {
			this.job = job;
		}

		@GetMapping("/runs")
		int runs() {
			return this.job.runs();
		}

	}

	/**
	 * Must not lose its hour to a hand-over.
	 */
	@Component
	static class HourlyJob {

		private final AtomicInteger runs = new AtomicInteger();

		int runs() {
			return this.runs.get();
		}

		@LeaderOnly(runOnGrant = true)
		@Scheduled(cron = "${job.cron}")
		void run() {
			this.runs.incrementAndGet();
		}

	}

}
