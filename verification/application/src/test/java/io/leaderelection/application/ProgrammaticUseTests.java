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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * {@link LeaderElector} and {@link LeaderElectors} in the hands of an application.
 */
@Tag("ring2")
class ProgrammaticUseTests {

	@AutoClose
	private final Nodes nodes = new Nodes(ElectorController.class,
			"leader-election.elections.reports.lease-duration=10s");

	@Test
	void workIsRunOnTheLeader() {
		List<Node> two = this.nodes.startTwo();
		Node leader = two.get(0);
		Node follower = two.get(1);
		assertThat(leader.post("/default/run").body()).isEqualTo("true");
		assertThat(follower.post("/default/run").body()).isEqualTo("false");
		assertThat(leader.post("/default/call").body()).isEqualTo("42");
		assertThat(follower.post("/default/call").body()).isEqualTo("nothing");
		assertThat(leader.post("/default/run-with-term").body()).isEqualTo(leader.election().text("/term"));
		assertThat(follower.post("/default/run-with-term").body()).isEqualTo("none");
	}

	@Test
	void leadershipIsWaitedForAndGivenUp() throws Exception {
		List<Node> two = this.nodes.startTwo();
		Node leader = two.get(0);
		Node follower = two.get(1);
		assertThat(leader.post("/default/await?timeout=PT0S").body()).isEqualTo("true");
		assertThat(follower.post("/default/await?timeout=PT0.2S").body()).isEqualTo("false");
		CompletableFuture<Http.Answer> waits = follower.postAndGoOn("/default/await?timeout=PT30S");
		assertThat(follower.post("/default/resign").body()).isEqualTo("false");
		assertThat(waits).isNotDone();
		assertThat(leader.post("/default/resign").body()).isEqualTo("true");
		assertThat(waits.get(30, TimeUnit.SECONDS).body()).isEqualTo("true");
		assertThat(follower.role()).isEqualTo("leader");
		assertThat(leader.post("/default/run").body()).isEqualTo("false");
	}

	@Test
	void twoElectionsAreOwnedIndependently() {
		List<Node> two = this.nodes.startTwo();
		Node first = two.get(0);
		Node second = two.get(1);
		assertThat(first.get("/elections").body()).isEqualTo("[default, reports]");
		Awaitility.await().until(() -> first.get("/reports-leader").body().equals("true"));
		Awaitility.await().until(() -> second.get("/actuator/leadership/reports").texts("/candidates").size() == 2);
		assertThat(first.post("/reports/resign").body()).isEqualTo("true");
		Awaitility.await().until(() -> second.get("/reports-leader").body().equals("true"));
		assertThat(second.post("/reports/run").body()).isEqualTo("true");
		assertThat(first.post("/reports/run").body()).isEqualTo("false");
		assertThat(first.post("/default/run").body()).isEqualTo("true");
		assertThat(second.post("/default/run").body()).isEqualTo("false");
	}

	/**
	 * Does with electors what a request asks for.
	 */
	@RestController
	static class ElectorController {

		private final LeaderElectors electors;

		private final LeaderElector reports;

		ElectorController(LeaderElectors electors, @Qualifier("reports") LeaderElector reports) {
			this.electors = electors;
			this.reports = reports;
		}

		@GetMapping("/elections")
		String elections() {
			return this.electors.getElections().toString();
		}

		@GetMapping("/reports-leader")
		boolean leadsReports() {
			return this.reports.isLeader();
		}

		@PostMapping("/{election}/run")
		boolean run(@PathVariable String election) {
			return this.electors.get(election).runIfLeader(() -> {
			});
		}

		@PostMapping("/{election}/call")
		String call(@PathVariable String election) throws Exception {
			return this.electors.get(election).callIfLeader(() -> "42").orElse("nothing");
		}

		@PostMapping("/{election}/run-with-term")
		String runWithTerm(@PathVariable String election) {
			String[] term = { "none" };
			this.electors.get(election).runWithLeadership((leadership) -> term[0] = leadership.getTerm().toString());
			return term[0];
		}

		@PostMapping("/{election}/await")
		boolean await(@PathVariable String election, @RequestParam Duration timeout) throws InterruptedException {
			return this.electors.get(election).awaitLeadership(timeout);
		}

		@PostMapping("/{election}/resign")
		CompletableFuture<Boolean> resign(@PathVariable String election) {
			return this.electors.get(election).resign();
		}

	}

}
