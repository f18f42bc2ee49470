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

package io.leaderelection.engine;

import java.time.Duration;

import io.leaderelection.engine.ElectionStatus.Role;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Election}: sessions that hold a lock although they are no nodes.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class ElectionForeignTests extends ElectionFixture {

	private static final String FOREIGN = "session with pid 4711 ('psql', role 'bob')";

	private static final String OTHER_LOCK = "the " + FOREIGN
			+ " holds a lock of this election but is not a node of it";

	@Test
	void lockOfAForeignSessionMakesTheElectionUnusableUntilItIsFree(CapturedOutput output) {
		this.store.foreign = FOREIGN;
		at(Duration.ofSeconds(5), () -> {
			ElectionStatus status = status();
			assertThat(status.role()).isEqualTo(Role.FOLLOWER);
			assertThat(status.leader()).isNull();
			assertThat(status.blockedBy()).isEqualTo(FOREIGN);
			assertThat(status.problem())
				.isEqualTo("the " + FOREIGN + " holds the lock of this election but is not a node of it");
			assertThat(status.unusable()).isTrue();
			this.store.foreign = null;
		});
		at(Duration.ofSeconds(7), () -> {
			ElectionStatus status = status();
			assertThat(status.role()).isEqualTo(Role.LEADER);
			assertThat(status.blockedBy()).isNull();
			assertThat(status.problem()).isNull();
			assertThat(status.unusable()).isFalse();
		}).stopAt(Duration.ofSeconds(8)).run();
		assertThat(output).containsOnlyOnce("The " + FOREIGN + " holds the lock of this election");
	}

	@Test
	void otherLockOfAForeignSessionIsNamedByANodeThatWatches(CapturedOutput output) {
		this.store.canWatch = true;
		this.store.leader = OTHER;
		this.store.foreign = FOREIGN;
		at(Duration.ofSeconds(10), () -> {
			ElectionStatus status = status();
			assertThat(status.watching()).isTrue();
			assertThat(status.leader()).isEqualTo("node-2");
			assertThat(status.blockedBy()).isNull();
			assertThat(status.problem()).isEqualTo(OTHER_LOCK);
			assertThat(status.unusable()).isFalse();
			this.store.leader = null;
		});
		at(Duration.ofSeconds(18), () -> {
			assertThat(status().blockedBy()).isEqualTo(FOREIGN);
			assertThat(status().unusable()).isTrue();
			this.store.foreign = null;
		});
		at(Duration.ofSeconds(26), () -> assertThat(status().problem()).isNull());
		stopAt(Duration.ofSeconds(27)).run();
		assertThat(output).containsOnlyOnce("The " + FOREIGN + " holds a lock")
			.containsOnlyOnce("The " + FOREIGN + " holds the lock");
	}

	@Test
	void otherLockOfAForeignSessionDoesNotBlockAnElectionWithoutALeader() {
		this.store.canWatch = true;
		this.store.foreign = FOREIGN;
		this.store.foreignBlocks = false;
		at(Duration.ofSeconds(10), () -> {
			ElectionStatus status = status();
			assertThat(status.watching()).isTrue();
			assertThat(status.blockedBy()).isNull();
			assertThat(status.problem()).isEqualTo(OTHER_LOCK);
			assertThat(status.unusable()).isFalse();
		}).stopAt(Duration.ofSeconds(11)).run();
	}

	@Test
	void otherLockOfAForeignSessionIsNamedByTheLeader(CapturedOutput output) {
		at(Duration.ofSeconds(1), () -> this.store.foreign = FOREIGN);
		at(Duration.ofSeconds(5), () -> {
			ElectionStatus status = status();
			assertThat(status.role()).isEqualTo(Role.LEADER);
			assertThat(status.problem()).isEqualTo(OTHER_LOCK);
			assertThat(status.unusable()).isFalse();
			this.store.foreign = null;
		});
		at(Duration.ofSeconds(7), () -> assertThat(status().problem()).isNull());
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(output).containsOnlyOnce("The " + FOREIGN + " holds a lock of this election");
	}

}
