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

package io.leaderelection.postgresql;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.StoreSession.Candidate;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaseTableElections}.
 */
@Tag("ring1")
class LeaseTableElectionsTests {

	private static final String KEY = "test:default";

	private final Platform platform = mock(Platform.class);

	private final LeaseTableElections elections = new LeaseTableElections(this.platform);

	private final LeaseTableSession session = mock(LeaseTableSession.class);

	@BeforeEach
	void addSession() {
		given(this.session.key()).willReturn(KEY);
		this.elections.add(this.session);
		hold("node-a");
	}

	@Test
	void nodeIsAStandbyUntilItKnowsOfEnoughOthers() {
		assertThat(this.elections.isStandby(this.session, 3)).isTrue();
		observe("node-a", "node-b", "node-c", "own");
		assertThat(this.elections.isStandby(this.session, 3)).isTrue();
		observe("node-a", "node-b", "node-c", "node-d", "own");
		assertThat(this.elections.isStandby(this.session, 3)).isFalse();
		assertThat(this.elections.isStandby(this.session, 4)).isTrue();
	}

	@Test
	void leaderIsNotCounted() {
		observe("node-b", "node-c", "node-d", "own", "node-z");
		assertThat(this.elections.isStandby(this.session, 3)).isFalse();
		hold("node-c");
		assertThat(this.elections.isStandby(this.session, 3)).isTrue();
		hold("node-z");
		assertThat(this.elections.isStandby(this.session, 3)).isFalse();
	}

	@Test
	void nodeIsAStandbyIfItIsMissing() {
		observe("node-a", "node-b", "node-c", "node-d", "node-e");
		assertThat(this.elections.isStandby(this.session, 3)).isTrue();
	}

	@Test
	void nodeIsAStandbyIfTheCandidatesAreOutdated() {
		observe("node-a", "node-b", "node-c", "node-d", "own");
		given(this.platform.nanoTime()).willReturn(Duration.ofSeconds(9).toNanos());
		assertThat(this.elections.isStandby(this.session, 3)).isFalse();
		given(this.platform.nanoTime()).willReturn(Duration.ofSeconds(10).toNanos());
		assertThat(this.elections.isStandby(this.session, 3)).isTrue();
	}

	private void hold(String node) {
		LeaseRow row = new LeaseRow(KEY, 7, 1, 1, 0, 5000, node, UUID.randomUUID().toString(), null, 0, false);
		this.elections.observe(List.of(KEY), Map.of(KEY, row), 0);
	}

	private void observe(String... nodes) {
		List<Candidate> candidates = new ArrayList<>();
		for (String node : nodes) {
			UUID id = node.equals("own") ? this.elections.id() : UUID.randomUUID();
			candidates.add(new Candidate(node, id.toString(), NodeProfile.DEFAULT));
		}
		this.elections.observe(Map.of(KEY, candidates), 0);
	}

}
