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

import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.annotation.Import;
import org.springframework.stereotype.Component;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for nodes that lead only while their catalog is healthy.
 */
@Tag("ring2")
class ResignWhenUnhealthyTests {

	@AutoClose
	private final Nodes nodes = new Nodes(CatalogController.class, "management.endpoint.leadership.access=unrestricted",
			"management.endpoint.health.group.leading.include=diskSpace,catalog",
			"leader-election.resign-when-unhealthy.group=leading", "leader-election.resign-when-unhealthy.after=500ms");

	@Test
	void unhealthyLeaderHandsOverAndIsACandidateAgainWhenHealthy() {
		List<Node> two = this.nodes.startTwo();
		Node first = two.get(0);
		Node second = two.get(1);

		first.post("/catalog/down");
		assertThat(first.get("/actuator/health/leading").status()).isEqualTo(503);
		second.awaitLeader();
		second.awaitView(second, second);
		assertThat(first.election().text("/role")).isEqualTo("follower");
		assertThat(first.election().text("/candidate")).isEqualTo("false");
		assertThat(first.election().text("/transitions/1/reason")).isEqualTo("resigned");
		// Until it knows its successor, it also lets others go first
		await().untilAsserted(() -> {
			Http.Answer health = first.get("/actuator/health");
			assertThat(health.text("/components/leadership/status")).isEqualTo("UP");
			assertThat(health.text("/components/leadership/details/elections/default/problem"))
				.isEqualTo("is not a candidate: the application is unhealthy");
		});
		assertThat(second.resign().text("/reason")).isEqualTo("there is no other candidate");

		first.post("/catalog/up");
		second.awaitView(second, first, second);
		assertThat(first.election().text("/candidate")).isEqualTo("true");
		assertThat(second.role()).isEqualTo("leader");

		second.post("/catalog/down");
		first.awaitLeader();
	}

	/**
	 * Says how the catalog is.
	 */
	@RestController
	@Import(CatalogHealthIndicator.class)
	static class CatalogController {

		private final CatalogHealthIndicator catalog;

		CatalogController(CatalogHealthIndicator catalog) {
			this.catalog = catalog;
		}

		@PostMapping("/catalog/{status}")
		void set(@PathVariable String status) {
			this.catalog.healthy = status.equals("up");
		}

	}

	/**
	 * The health of the catalog.
	 */
	@Component("catalogHealthIndicator")
	static class CatalogHealthIndicator implements HealthIndicator {

		private volatile boolean healthy = true;

		@Override
		public Health health() {
			return (this.healthy ? Health.up() : Health.down()).build();
		}

	}

}
