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
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.function.Predicate;

import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.ElectionStatus.Role;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.MistakenElectors;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.testsupport.FrozenBackend;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * A session that dies frees its locks one partition of the server's table after the
 * other. Here it is held on the way, where the main key is free and the key of its term
 * is not: the fence takes that term for the current one, and the lock can be won.
 */
@AdvisoryLockOnly
@Tag("ring2")
class HalfReleasedLocksTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final Duration LEASE = Duration.ofSeconds(10);

	/**
	 * Which key is freed first is up to hashes, of the term among others.
	 */
	private static final int MOST_TRIES = 25;

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@Test
	void successorWaitsForTheRestAndForTransactionsThatPassedTheFenceMeanwhile() throws Exception {
		betweenMainKeyAndTermKey((scene) -> {
			scene.awaitSuccessor((status) -> isBlockedBy(status, "the session with pid " + scene.dying));
			try (Connection early = server.connect()) {
				assertThat(scene.fence(early)).isTrue();
				String transaction = "the transaction of the session with pid " + pid(early);
				Awaitility.await()
					.during(Duration.ofSeconds(1))
					.atMost(LIMIT)
					.until(() -> scene.successor.status().role() == Role.ELECTED);
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

	private static int pid(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery("SELECT pg_backend_pid()")) {
			row.next();
			return row.getInt(1);
		}
	}

	/**
	 * A leader that is to die and a node that is to succeed it.
	 */
	private static final class Scene implements AutoCloseable {

		private final ElectionKeys keys = ElectionKeys.derive("test", "election-" + UUID.randomUUID());

		private final StoreSession leader;

		private final DefaultLeaderElector successor;

		private final int dying;

		private final Term term;

		private final TransactionFence fence;

		private final FrozenBackend backend;

		Scene() throws Exception {
			ElectionStore sessions = sessions("node-a");
			this.fence = sessions.fence();
			this.leader = sessions.open();
			this.leader.becomeCandidate();
			Won won = (Won) this.leader.acquire(Duration.ofMillis(1));
			this.dying = Integer.parseInt(server.query("SELECT pid FROM pg_locks WHERE " + mainKey()).get(0));
			this.term = won.term();
			this.successor = MistakenElectors.create(Mistake.NONE, settings("node-b"), sessions("node-b"), (event) -> {
			});
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
			this.backend.awaitRelease(() -> server.query("SELECT pg_terminate_backend(" + this.dying + ")"));
			assertThat(holds(mainKey()) && holds(termKey())).isTrue();
			while (holds(mainKey())) {
				this.backend.releasePartition();
			}
			return holds(termKey());
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

		private boolean holds(String key) {
			return server.query("SELECT count(*) FROM pg_locks WHERE granted AND pid = " + this.dying + " AND " + key)
				.equals(List.of("1"));
		}

		private String mainKey() {
			return "locktype = 'advisory' AND objsubid = 1 AND classid = %d AND objid = %d"
				.formatted(this.keys.main() >>> 32, this.keys.main() & 0xFFFFFFFFL);
		}

		private String termKey() {
			return "locktype = 'advisory' AND objsubid = 2 AND classid = %d AND objid = %d".formatted(
					this.keys.termClass() & 0xFFFFFFFFL,
					ElectionKeys.termObject(this.term.timeline(), this.term.transactionId()));
		}

		private ElectionStore sessions(String node) {
			return new AdvisoryLockStore(settings(node), this.keys, 0, false, server::connect, null);
		}

		private static ElectionSettings settings(String node) {
			return new ElectionSettings("half-released", node, LEASE, Duration.ZERO, Duration.ofSeconds(1), true);
		}

		private void stopNodes() {
			this.successor.stop().join();
			this.leader.abort();
		}

		@Override
		public void close() {
			this.backend.close();
			stopNodes();
		}

	}

}
