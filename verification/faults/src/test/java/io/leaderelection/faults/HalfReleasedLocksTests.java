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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;

import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.testsupport.FrozenBackend;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A session that dies frees its locks one partition of the server's table after the
 * other. Here it is held on the way, where the main key is free and the key of its term
 * is not: the fence takes that term for the current one, and no later term is issued.
 */
@AdvisoryLockOnly
@Tag("ring2")
class HalfReleasedLocksTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final String LEADER = "node-a";

	/**
	 * Which key is freed first is up to hashes, of the term among others.
	 */
	private static final int MOST_TRIES = 25;

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void successorWaitsForTheRestAndForTransactionsThatPassedTheFenceMeanwhile() throws Exception {
		betweenMainKeyAndTermKey((scene) -> {
			scene.awaitSuccessor((status) -> isBlockedBy(status, "session with pid " + scene.dying));
			try (Connection early = server.connect()) {
				assertThat(scene.fence(early)).isTrue();
				String transaction = "the transaction of the session with pid " + PostgreSqlServer.pid(early);
				Awaitility.await()
					.during(Duration.ofSeconds(1))
					.atMost(LIMIT)
					.until(() -> scene.successor.status().role() == Role.FOLLOWER);
				scene.backend.close();
				scene.awaitSuccessor((status) -> isBlockedBy(status, transaction));
				assertThat(scene.successor.isLeader()).isFalse();
				early.commit();
			}
			scene.awaitSuccessor((status) -> status.role() == Role.LEADER);
			try (Connection late = server.connect()) {
				assertThat(scene.fence(late)).isFalse();
			}
		});
	}

	private static void betweenMainKeyAndTermKey(Step<Scene> step) throws Exception {
		for (int tries = 0; tries < MOST_TRIES; tries++) {
			try (Scene scene = new Scene()) {
				if (scene.reach()) {
					step.take(scene);
					return;
				}
			}
		}
		throw new IllegalStateException("The main key was never freed before the key of the term");
	}

	/**
	 * Names may follow, and that it no longer is a node.
	 */
	private static boolean isBlockedBy(ElectionStatus status, String session) {
		return status.blockedBy() != null && status.blockedBy().matches(session + "\\b.*");
	}

	/**
	 * A leader that is to die and a node that is to succeed it.
	 */
	private static final class Scene implements AutoCloseable {

		private final SessionScene sessions = new SessionScene(server, Duration.ZERO);

		private final Term term = this.sessions.lead(LEADER).term();

		private final int dying = this.sessions.pid(LEADER);

		private final TransactionFence fence = this.sessions.store(LEADER).fence();

		private final DefaultLeaderElector successor = new DefaultLeaderElectors(
				List.of(this.sessions.settings("node-b")), (settings) -> this.sessions.store(settings.nodeId()),
				(event) -> {
				})
			.getDefault();

		private final FrozenBackend backend;

		Scene() throws Exception {
			try {
				this.successor.start().get();
				this.backend = FrozenBackend.attach(this.dying);
			}
			catch (Throwable ex) {
				stopNodes();
				throw ex;
			}
		}

		/**
		 * Have the leader's session die as far as its main key.
		 * @return whether the key of its term is still held then
		 */
		boolean reach() {
			this.backend.awaitRelease(() -> this.sessions.terminate(LEADER));
			this.sessions.releaseMain(LEADER, this.backend);
			return this.sessions.holdsTerm(LEADER);
		}

		/**
		 * Whether the term of the leader that dies may go on, as the fence sees it, in a
		 * transaction of the connection.
		 */
		boolean fence(Connection connection) throws SQLException {
			connection.setAutoCommit(false);
			return this.fence.pass(connection, this.term) == TransactionFence.Outcome.PASSED;
		}

		void awaitSuccessor(Predicate<ElectionStatus> condition) {
			Awaitility.await().until(this.successor::status, condition);
		}

		private void stopNodes() {
			this.successor.stop().join();
			this.sessions.close();
		}

		@Override
		public void close() {
			this.backend.close();
			stopNodes();
		}

	}

}
