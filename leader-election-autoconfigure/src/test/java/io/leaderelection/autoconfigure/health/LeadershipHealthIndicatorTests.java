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

package io.leaderelection.autoconfigure.health;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.ElectionStore.Description;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.willReturn;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeadershipHealthIndicator}.
 */
@Tag("ring1")
class LeadershipHealthIndicatorTests {

	private static final ElectionStore UNREACHABLE = () -> {
		throw new SessionException("Connection refused", null);
	};

	private static final ElectionStore UNUSABLE = () -> {
		throw new UnusableStoreException("PostgreSQL 13", "Upgrade.", null);
	};

	private @Nullable DefaultLeaderElectors electors;

	private boolean running = true;

	@AfterEach
	void stop() {
		if (this.electors != null) {
			this.electors.all().forEach(DefaultLeaderElector::stop);
		}
	}

	@Test
	void leaderIsUp() {
		start("default", LocalStore.always());
		await().until(this.electors.getDefault()::isLeader);
		Health health = health(Duration.ofSeconds(30));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(details(health, "default")).containsEntry("role", "leader")
			.containsEntry("node", "node-1")
			.containsEntry("leader", "node-1")
			.containsEntry("lease", "5000ms")
			.containsEntry("term", this.electors.getDefault().getLeadership().getTerm().toString())
			.containsKeys("since", "lastConfirmation", "leaseRemaining")
			.doesNotContainKeys("blockedBy", "problem");
		assertThat((String) details(health, "default").get("since")).endsWith("Z");
		assertThat((String) details(health, "default").get("leaseRemaining")).matches("\\d{1,4}ms");
	}

	@Test
	void followerIsUp() {
		start("default", LocalStore.manual(false));
		await().until(() -> details(health(Duration.ofSeconds(30)), "default").containsKey("lastConfirmation"));
		Health health = health(Duration.ofSeconds(30));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(details(health, "default")).containsEntry("role", "follower")
			.containsEntry("leader", "another-node")
			.doesNotContainKeys("term", "since", "leaseRemaining", "problem");
	}

	@Test
	void silenceIsOutOfServiceOnlyAfterAWhile() {
		start("default", UNREACHABLE);
		await().until(() -> details(health(Duration.ofMinutes(1)), "default").containsKey("problem"));
		Health health = health(Duration.ofMinutes(1));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(details(health, "default")).containsEntry("problem", "Connection refused")
			.doesNotContainKeys("lastConfirmation", "leader");
		await().untilAsserted(
				() -> assertThat(health(Duration.ofMillis(200)).getStatus()).isEqualTo(Status.OUT_OF_SERVICE));
	}

	@Test
	void nodeThatWatchesIsOutOfServiceOnlyAfterTwoObservations() {
		assertThat(status(true, Duration.ofSeconds(14), Duration.ofSeconds(2))).isEqualTo(Status.UP);
		assertThat(status(true, Duration.ofSeconds(16), Duration.ofSeconds(2))).isEqualTo(Status.OUT_OF_SERVICE);
		assertThat(status(true, Duration.ofSeconds(16), Duration.ofSeconds(30))).isEqualTo(Status.UP);
		assertThat(status(true, Duration.ofSeconds(31), Duration.ofSeconds(30))).isEqualTo(Status.OUT_OF_SERVICE);
		assertThat(status(false, Duration.ofSeconds(14), Duration.ofSeconds(2))).isEqualTo(Status.OUT_OF_SERVICE);
	}

	private static Status status(boolean watching, Duration silence, Duration unreachableAfter) {
		ElectionStatus status = new ElectionStatus("default", Role.FOLLOWER, "node-1", null, null, "node-2", null, null,
				null, NodeProfile.UNKNOWN, null, List.of("node-2"), 0, List.of(), null, silence, Duration.ofSeconds(5),
				Duration.ZERO, null, watching, null, null, false);
		DefaultLeaderElector elector = mock(DefaultLeaderElector.class);
		given(elector.status()).willReturn(status);
		given(elector.describeStore()).willReturn(Description.NONE);
		DefaultLeaderElectors electors = mock(DefaultLeaderElectors.class);
		willReturn(List.of(elector)).given(electors).all();
		Health health = new LeadershipHealthIndicator("shop", electors, () -> true, unreachableAfter, Map::of,
				() -> null)
			.health();
		assertThat(details(health, "default").get("watching")).isEqualTo(watching ? true : null);
		return health.getStatus();
	}

	@Test
	void unusableStoreIsDown() {
		start("default", UNUSABLE);
		await().untilAsserted(() -> assertThat(health(Duration.ofMinutes(1)).getStatus()).isEqualTo(Status.DOWN));
		assertThat(details(health(Duration.ofMinutes(1)), "default")).containsEntry("problem", "PostgreSQL 13");
	}

	@Test
	void suspendedNodeReportsThatAndIsUp() {
		start("default", LocalStore.always());
		await().until(this.electors.getDefault()::isLeader);
		this.electors.getDefault().suspendCandidacy();
		await().until(() -> !this.electors.getDefault().isLeader());
		Health health = health(Duration.ofSeconds(30));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat((String) details(health, "default").get("problem")).contains("is not a candidate");
		this.electors.getDefault().resumeCandidacy();
		await().until(this.electors.getDefault()::isLeader);
		assertThat(details(health(Duration.ofSeconds(30)), "default")).doesNotContainKey("problem");
	}

	@Test
	void suspendedNodeStillReportsWhyItHasNoSession() {
		start("default", UNREACHABLE);
		await()
			.until(() -> "Connection refused".equals(details(health(Duration.ofMinutes(1)), "default").get("problem")));
		this.electors.getDefault().suspendCandidacy();
		assertThat(details(health(Duration.ofMinutes(1)), "default")).containsEntry("problem",
				"Connection refused; is not a candidate: the application is unhealthy");
	}

	@Test
	void worstElectionCounts() {
		start("default", LocalStore.always(), "broken", UNUSABLE, "silent", UNREACHABLE);
		await().untilAsserted(() -> assertThat(health(Duration.ofMillis(1)).getStatus()).isEqualTo(Status.DOWN));
		assertThat(elections(health(Duration.ofMillis(1)))).containsOnlyKeys("default", "broken", "silent");
	}

	@Test
	void electionThatHasStoppedAlthoughTheApplicationRunsIsDown() throws Exception {
		start("default", LocalStore.always(), "other", LocalStore.always(), "silent", UNREACHABLE);
		this.electors.get("other").stop().get(30, TimeUnit.SECONDS);
		await().untilAsserted(() -> assertThat(health(Duration.ofMillis(1)).getStatus()).isEqualTo(Status.DOWN));
		Health health = health(Duration.ofSeconds(30));
		assertThat(health.getStatus()).isEqualTo(Status.DOWN);
		assertThat(details(health, "other")).containsEntry("role", "stopped")
			.containsEntry("problem", "has stopped although the application is running");
		assertThat(details(health, "default")).doesNotContainKey("problem");
	}

	@Test
	void electionThatHasStoppedWithTheApplicationIsUp() throws Exception {
		start("default", LocalStore.always());
		this.electors.getDefault().stop().get(30, TimeUnit.SECONDS);
		this.running = false;
		Health health = health(Duration.ofSeconds(30));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(details(health, "default")).containsEntry("role", "stopped").doesNotContainKey("problem");
	}

	@Test
	void stoppedElectionsAreUpHoweverLongTheyAreSilent() throws Exception {
		this.running = false;
		create("default", LocalStore.always());
		Thread.sleep(10);
		Health health = health(Duration.ofMillis(1));
		assertThat(health.getStatus()).isEqualTo(Status.UP);
		assertThat(details(health, "default")).containsEntry("role", "stopped");
	}

	private void start(Object... namesAndSessions) {
		create(namesAndSessions);
		this.electors.all().forEach(DefaultLeaderElector::start);
		await()
			.until(() -> this.electors.all().stream().noneMatch((elector) -> elector.status().role() == Role.STOPPED));
	}

	private void create(Object... namesAndSessions) {
		List<Object> arguments = Arrays.asList(namesAndSessions);
		List<ElectionSettings> settings = arguments.stream()
			.filter(String.class::isInstance)
			.map((name) -> new ElectionSettings((String) name, "node-1", Duration.ofSeconds(5), Duration.ZERO,
					Duration.ofSeconds(1), true))
			.toList();
		this.electors = new DefaultLeaderElectors(settings,
				(each) -> (ElectionStore) arguments.get(arguments.indexOf(each.election()) + 1), (event) -> {
				});
	}

	private Health health(Duration unreachableAfter) {
		return new LeadershipHealthIndicator("shop", this.electors, () -> this.running, unreachableAfter, Map::of,
				() -> null)
			.health();
	}

	@SuppressWarnings("unchecked")
	private static Map<String, Map<String, Object>> elections(Health health) {
		return (Map<String, Map<String, Object>>) health.getDetails().get("elections");
	}

	private static Map<String, Object> details(Health health, String election) {
		return elections(health).get(election);
	}

}
