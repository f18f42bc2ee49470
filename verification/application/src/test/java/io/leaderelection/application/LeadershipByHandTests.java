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

import java.util.concurrent.CompletableFuture;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.test.AutoConfigureTestLeadership;
import io.leaderelection.test.TestLeadership;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An application in a test of its users, who grant and revoke leadership by hand, without
 * a database.
 */
@SpringBootTest(classes = { WebApplication.class, LeadershipByHandTests.Orders.class },
		webEnvironment = WebEnvironment.RANDOM_PORT,
		properties = "spring.datasource.url=jdbc:postgresql://localhost:1/none")
@AutoConfigureTestLeadership
@TestMethodOrder(MethodOrderer.MethodName.class)
@Tag("ring2")
class LeadershipByHandTests {

	@Autowired
	private TestLeadership leadership;

	private final Http http;

	LeadershipByHandTests(@LocalServerPort int port) {
		this.http = new Http(port);
	}

	@Test
	void grantedAndRevoked() {
		assertThat(book()).isEqualTo("not the leader");
		assertThat(role()).isEqualTo("follower");
		this.leadership.grant();
		assertThat(book()).isEqualTo("booked");
		assertThat(role()).isEqualTo("leader");
		this.leadership.revoke(Reason.LEASE_EXPIRED);
		assertThat(book()).isEqualTo("not the leader");
		assertThat(this.http.get("/actuator/leadership/default").texts("/transitions", "reason"))
			.contains("lease_expired");
		this.leadership.grant();
		assertThat(book()).isEqualTo("booked");
	}

	@Test
	void leftAsLeaderByTheTestBeforeAndYetAFollower() {
		assertThat(book()).isEqualTo("not the leader");
		assertThat(role()).isEqualTo("follower");
	}

	private String book() {
		String booked = this.http.post("/orders").body();
		assertThat(this.http.post("/orders/future").body()).isEqualTo(booked);
		assertThat(this.http.post("/orders/mono").body()).isEqualTo(booked);
		return booked;
	}

	private String role() {
		return this.http.get("/actuator/leadership/default").text("/role");
	}

	/**
	 * Books orders on the leader.
	 */
	@RestController
	static class Orders {

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		@PostMapping("/orders")
		String book() {
			return "booked";
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		@PostMapping("/orders/future")
		CompletableFuture<String> bookLater() {
			return CompletableFuture.supplyAsync(this::book);
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		@PostMapping("/orders/mono")
		Mono<String> bookReactively() {
			return Mono.fromSupplier(this::book);
		}

		@ExceptionHandler(NotLeaderException.class)
		@ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
		String notLeader() {
			return "not the leader";
		}

	}

}
