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

import io.leaderelection.annotation.LeaderOnly;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A listener for messages that leadership starts and stops.
 */
@Tag("ring2")
class LeaderServiceTests {

	@AutoClose
	private final Nodes nodes = new Nodes(ListenerController.class,
			"management.endpoint.leadership.access=unrestricted", "leader-election.services.start-attempts=1");

	@Test
	void runsOnTheLeaderOnlyAndMovesWithLeadership() {
		List<Node> two = this.nodes.startTwo();
		awaitListener(two.get(0), "running, started 1");
		assertThat(two.get(1).get("/listener").body()).isEqualTo("stopped, started 0");
		two.get(1).handOver();
		awaitListener(two.get(1), "running, started 1");
		assertThat(two.get(0).get("/listener").body()).isEqualTo("stopped, started 1");
		two.get(0).handOver();
		awaitListener(two.get(0), "running, started 2");
		assertThat(two.get(1).get("/listener").body()).isEqualTo("stopped, started 1");
	}

	@Test
	void nodeThatCannotStartItLeavesItToAnother() {
		// In this order: alone, the broken node would fail again and again, and suspend
		// its candidacy for longer
		Node other = this.nodes.start("other").awaitLeader();
		Node broken = this.nodes.start("broken", "listener.broken=true");
		broken.handOver();
		awaitListener(other, "running, started 2");
		assertThat(other.role()).isEqualTo("leader");
		assertThat(broken.get("/listener").body()).isEqualTo("stopped, started 0");
		assertThat(broken.election().texts("/transitions", "reason")).contains("resigned");
		broken.awaitView(other, broken, other);
	}

	private static void awaitListener(Node node, String state) {
		Node.eventually().until(() -> node.get("/listener").body().equals(state));
	}

	/**
	 * Says what the listener does.
	 */
	@RestController
	@Import(Listener.class)
	static class ListenerController {

		private final Listener listener;

		ListenerController(Listener listener) {
			this.listener = listener;
		}

		@GetMapping("/listener")
		String state() {
			return (this.listener.isRunning() ? "running" : "stopped") + ", started " + this.listener.starts();
		}

	}

	/**
	 * Runs on the leader.
	 */
	@Component
	@LeaderOnly
	static class Listener implements SmartLifecycle {

		private final boolean broken;

		private volatile boolean running;

		private volatile int starts;

		Listener(@Value("${listener.broken:false}") boolean broken) {
			this.broken = broken;
		}

		@Override
		public synchronized void start() {
			if (this.broken) {
				throw new IllegalStateException("No connection to the broker");
			}
			this.starts++;
			this.running = true;
		}

		@Override
		public synchronized void stop() {
			this.running = false;
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		int starts() {
			return this.starts;
		}

	}

}
