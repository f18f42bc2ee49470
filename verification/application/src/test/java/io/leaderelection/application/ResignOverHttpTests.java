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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.annotation.LeaderOnly;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leadership that is handed over by a request to the endpoint of any node.
 */
@Tag("ring2")
class ResignOverHttpTests {

	private static final Duration LEASE = Duration.ofSeconds(3);

	/** One each fifth of the lease, and a while for a busy machine, within the lease. */
	private static final Duration TWO_CONFIRMATIONS = LEASE.dividedBy(5).multipliedBy(2).plusMillis(1500);

	@AutoClose
	private final Nodes nodes = new Nodes(Orders.class, "leader-election.lease-duration=" + LEASE,
			"management.endpoint.leadership.access=unrestricted");

	@Test
	void followerHasTheLeaderHandOverWhenItsWorkHasEnded() throws Exception {
		List<Node> two = this.nodes.startTwo();
		Node leader = two.get(0);
		Node follower = two.get(1);
		assertThat(leader.post("/orders/count").body()).isEqualTo("run");
		assertThat(follower.post("/orders/count").body()).isEqualTo("skipped");
		String term = leader.election().text("/term");
		CompletableFuture<Http.Answer> work = leader.postAndGoOn("/orders/book");
		Awaitility.await().until(() -> "1".equals(leader.election().text("/workInFlight")));

		Http.Answer answer = follower.resign();
		assertThat(answer.status()).isEqualTo(200);
		assertThat(answer.text("/status")).isEqualTo("requested");
		assertThat(answer.text("/term")).isEqualTo(term);
		assertThat(answer.text("/leader")).isEqualTo("first");
		Awaitility.await()
			.atMost(TWO_CONFIRMATIONS)
			.pollInterval(Duration.ofMillis(20))
			.until(() -> leader.post("/orders/count").body().equals("skipped"));

		// For longer than the lease, since the leader goes on confirming
		Awaitility.await().during(LEASE.plusMillis(500)).atMost(LEASE.multipliedBy(5)).untilAsserted(() -> {
			assertThat(work).isNotDone();
			assertThat(leader.election().text("/role")).isEqualTo("resigning");
			assertThat(leader.election().text("/workInFlight")).isEqualTo("1");
			assertThat(leader.election().text("/term")).isEqualTo(term);
			assertThat(follower.election().text("/role")).isEqualTo("follower");
			assertThat(follower.election().text("/leader/node")).isEqualTo("first");
			assertThat(follower.post("/orders/count").body()).isEqualTo("skipped");
		});
		assertThat(follower.resign().text("/status")).isEqualTo("requested");

		leader.post("/orders/finish");
		assertThat(work.get(10, TimeUnit.SECONDS).body()).isEqualTo("booked");
		follower.awaitLeader();
		assertThat(follower.post("/orders/count").body()).isEqualTo("run");
		leader.awaitView(follower, leader, follower);
		assertThat(leader.election().texts("/transitions", "change")).containsExactly("granted", "revoked", "followed");
		assertThat(leader.election().text("/transitions/1/reason")).isEqualTo("resigned");
		assertThat(leader.election().text("/transitions/1/term")).isEqualTo(term);
		assertThat(leader.election().text("/candidate")).isEqualTo("true");
	}

	/**
	 * Says what became of requests.
	 */
	@RestController
	@Import(Bookings.class)
	static class Orders {

		private final Bookings bookings;

		Orders(Bookings bookings) {
			this.bookings = bookings;
		}

		@PostMapping("/orders/count")
		String count() {
			return (this.bookings.count() != null) ? "run" : "skipped";
		}

		@PostMapping("/orders/book")
		String book() throws InterruptedException {
			return this.bookings.book();
		}

		@PostMapping("/orders/finish")
		void finish() {
			this.bookings.finish();
		}

	}

	/**
	 * Works on the leader, until it may end.
	 */
	@Component
	static class Bookings {

		private final CountDownLatch mayEnd = new CountDownLatch(1);

		@LeaderOnly
		Integer count() {
			return 1;
		}

		@LeaderOnly
		String book() throws InterruptedException {
			this.mayEnd.await();
			return "booked";
		}

		void finish() {
			this.mayEnd.countDown();
		}

	}

}
