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

package io.leaderelection.integration;

import java.util.Random;
import java.util.concurrent.TimeUnit;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.extension.RegisterExtension;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Candidacies that are suspended and resumed at random moments. Their waits end by
 * themselves: a cancel at the end of one leaves an ERROR in PostgreSQL's log.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring2")
class SuspendedCandidacyTests {

	private static final int TIMES = 300;

	@RegisterExtension
	final Nodes nodes = new Nodes();

	@Test
	void nothingIsLoggedThoughSessionsAreClosed(CapturedOutput output) throws InterruptedException {
		Random random = new Random(4711);
		PostgreSqlServer server = this.nodes.register(PostgreSqlServer.start());
		LocalNode leader = this.nodes.on(server).start().awaitLeader();
		LocalNode follower = this.nodes.on(server).start();
		for (int i = 0; i < TIMES; i++) {
			follower.elector().suspendCandidacy();
			follower.elector().resumeCandidacy();
			// Cancels the next wait, or what comes before or after it
			TimeUnit.MICROSECONDS.sleep(random.nextInt(20_000));
		}
		follower.awaitCandidates(2);
		assertThat(leader.leads()).isTrue();
		assertThat(server.log()).doesNotContain("ERROR:");
		follower.close();
		assertThat(output).doesNotContain("Following without a session");
	}

}
