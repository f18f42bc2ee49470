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

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.schedule.DurableSchedule;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A durable schedule that is run by a request to the endpoint of the leader.
 */
@Tag("ring2")
class RunOverHttpTests {

	private static final String JOB = "/actuator/leadership/default/leap-day/";

	@AutoClose
	private final Nodes nodes = new Nodes(Reports.class, "management.endpoint.leadership.access=unrestricted",
			"leader-election.initialize-schema=always", "leader-election.table-name=run_over_http");

	@Test
	void leaderRunsNowAndOtherNodesRefuse() {
		List<Node> two = this.nodes.startTwo();
		Node leader = two.get(0);
		Http.Answer refused = two.get(1).post(JOB + "run");
		assertThat(refused.status()).isEqualTo(200);
		assertThat(refused.text("/status")).isEqualTo("refused");
		assertThat(refused.text("/leader")).isEqualTo("first");
		assertThat(refused.text("/reason")).isEqualTo("this node does not lead");
		for (int runs = 1; runs < 3; runs++) {
			Http.Answer answer = leader.post(JOB + "run");
			assertThat(answer.text("/status")).isEqualTo("requested");
			assertThat(answer.text("/term")).isEqualTo(leader.election().text("/term"));
			String expected = Integer.toString(runs);
			Awaitility.await()
				.untilAsserted(
						() -> assertThat(leader.election().text("/schedules/leap-day/completed")).isEqualTo(expected));
			assertThat(leader.post("/runs").body()).isEqualTo(expected);
		}
		Awaitility.await()
			.untilAsserted(() -> assertThat(leader.post(JOB + "skip").text("/reason"))
				.isEqualTo("no fire is due, or the job is running"));
		assertThat(leader.post(JOB + "stop").status()).isEqualTo(400);
		assertThat(leader.post("/actuator/leadership/default/unknown/run").text("/reason"))
			.isEqualTo("there is no schedule 'unknown' in election 'default'");
	}

	/**
	 * Creates reports on leap days.
	 */
	@RestController
	static class Reports {

		private final AtomicInteger runs = new AtomicInteger();

		@DurableSchedule(name = "leap-day", cron = "0 0 2 29 2 *")
		void create() {
			this.runs.incrementAndGet();
		}

		@PostMapping("/runs")
		String runs() {
			return Integer.toString(this.runs.get());
		}

	}

}
