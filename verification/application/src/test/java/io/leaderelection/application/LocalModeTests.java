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

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.web.server.LocalServerPort;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * An application that leads without a database.
 */
@SpringBootTest(classes = { WebApplication.class, LocalModeTests.Orders.class },
		webEnvironment = WebEnvironment.RANDOM_PORT,
		properties = { "leader-election.mode=always", "spring.datasource.url=jdbc:postgresql://localhost:1/none" })
@Tag("ring2")
class LocalModeTests {

	private final Http http;

	LocalModeTests(@LocalServerPort int port) {
		this.http = new Http(port);
	}

	@Test
	void leads() {
		assertThat(this.http.post("/orders").body()).isEqualTo("booked");
		Http.Answer election = this.http.get("/actuator/leadership/default");
		assertThat(election.text("/role")).isEqualTo("leader");
		assertThat(election.text("/term")).isNotNull();
		assertThat(this.http.get("/actuator/health").text("/components/leadership/status")).isEqualTo("UP");
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

	}

}
