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

package io.leaderelection.postgresql.advisory;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Future;

import io.leaderelection.Term;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.ForeignHolder;
import io.leaderelection.engine.StoreSession.ForeignHolder.Kind;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for sessions of other programs that hold keys of an election, on a real server.
 */
@Tag("ring1")
class ForeignSessionTests extends AdvisoryLockFixture {

	@ParameterizedTest
	@ValueSource(strings = { "pg_advisory_lock", "pg_advisory_lock_shared" })
	void foreignSessionOnTheMainKeyIsNamedAndNoLeader(String function) throws Exception {
		StoreSession node = candidate("node-a");
		Connection foreign = foreign("SELECT " + function + "(" + this.keys.main() + ")");
		Held first = hold(node);
		assertThat(first.view().foreign()).as("by one reading").isNull();
		await().until(() -> new ForeignHolder(description(foreign), Kind.BLOCKING).equals(node.observe().foreign()));
		Held second = hold(node);
		assertThat(second.view().foreign()).isEqualTo(new ForeignHolder(description(foreign), Kind.BLOCKING));
		assertThat(second.view().leader()).isNull();
		assertThat(second.view().candidates()).extracting(Candidate::nodeId).containsExactly("node-a");
		foreign.close();
		await().until(() -> node.observe().foreign() == null);
		win(node);
		StoreSession other = candidate("node-b");
		assertThat(other.observe().foreign()).isNull();
		assertThat(other.observe().leader()).isNotNull();
		assertThat(other.observe().foreign()).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "pg_advisory_lock", "pg_advisory_lock_shared" })
	void foreignSessionAtTheHeadOfTheQueueIsNamed(String function) throws Exception {
		StoreSession leader = leader("leader");
		StoreSession follower = candidate("follower");
		String head = "(" + this.keys.requestClass() + ", " + ElectionKeys.HEAD + ")";
		Connection foreign = foreign("SELECT " + function + head);
		await().until(() -> new ForeignHolder(description(foreign), Kind.OTHER).equals(follower.observe().foreign()));
		leader.close();
		assertThat(follower.acquire(NO_WAIT)).isInstanceOf(Held.class);
		foreign.close();
		await().until(() -> follower.acquire(NO_WAIT) instanceof Won);
	}

	@Test
	void foreignSessionOnTheFenceKeyAloneIsNamed() throws Exception {
		StoreSession leader = leader("node-a");
		Connection foreign = foreign("SELECT pg_advisory_lock(" + this.keys.fence() + ")");
		assertThat(leader.confirm(true).foreign()).as("by one reading").isNull();
		await().until(() -> isNamed(leader, foreign));
		assertThat(leader.confirm(true).predecessor()).isNull();
		foreign.close();
		await().until(() -> leader.confirm(true).foreign() == null);
		Connection transaction = foreign("SELECT pg_advisory_lock_shared(" + this.keys.fence() + ")");
		leader.confirm(true);
		assertThat(leader.confirm(true).foreign()).as("a share, as transactions have").isNull();
	}

	@Test
	void foreignSessionThatWaitsForTheFenceKeyIsNamed() throws Exception {
		StoreSession leader = leader("node-a");
		Connection transaction = foreign("SELECT pg_advisory_lock_shared(" + this.keys.fence() + ")");
		Connection foreign = foreign("SELECT 1");
		Future<?> waiting = start(() -> value(foreign, "SELECT pg_advisory_lock(" + this.keys.fence() + ")"));
		await().until(() -> isNamed(leader, foreign));
		transaction.close();
		get(waiting);
	}

	@Test
	void noTermIsIssuedWhileAnotherSessionHoldsTheKeyOfOne() throws Exception {
		StoreSession candidate = candidate("node-a");
		Connection foreign = foreign("SELECT pg_advisory_lock(" + this.keys.termClass() + ", 12345)");
		assertThat(hold(candidate).view().foreign()).isNull();
		await().until(() -> hold(candidate).view().foreign() != null);
		assertThat(hold(candidate).view().foreign())
			.isEqualTo(new ForeignHolder(description(foreign), Kind.EARLIER_TERM));
		assertThat(this.server.advisoryLocks(main())).isEmpty();
		foreign.close();
		await().until(() -> candidate.acquire(NO_WAIT) instanceof Won);
		assertThat(candidate.confirm(true).predecessor()).isNull();
	}

	@ParameterizedTest
	@ValueSource(strings = { "pg_advisory_lock", "pg_advisory_lock_shared" })
	void sessionThatHoldsUpTheBarrierIsNamed(String function) throws Exception {
		StoreSession winner = candidate("node-a");
		Connection foreign = foreign("SELECT " + function + "(" + this.keys.fence() + ")");
		assertThat(win(winner).clear()).isFalse();
		assertThat(winner.passBarrier(Duration.ofMillis(20)))
			.isEqualTo("the transaction of the " + description(foreign));
		foreign.close();
		await().until(() -> winner.passBarrier(NO_WAIT) == null);
	}

	@Test
	void requestOfAForeignSessionIsNamedAndDoesNotCount() throws Exception {
		StoreSession leader = candidate("node-a");
		Term term = win(leader).term();
		Connection foreign = foreign("SELECT pg_advisory_lock_shared(%d, %d)".formatted(this.keys.requestClass(),
				ElectionKeys.termObject(term.timeline(), term.transactionId())));
		assertThat(leader.confirm(true).requested()).isFalse();
		await().until(() -> isNamed(leader, foreign));
		assertThat(leader.confirm(true).requested()).isFalse();
	}

	private boolean isNamed(StoreSession node, Connection foreign) throws Exception {
		node.candidates();
		return description(foreign).equals(node.confirm(true).foreign());
	}

	/**
	 * Return a session of an application without elections.
	 */
	private Connection foreign(String statement) throws SQLException {
		return connect("SET application_name = 'psql'", statement);
	}

	private String description(Connection foreign) throws SQLException {
		return "session with pid %d ('psql', role '%s')".formatted(PostgreSqlServer.pid(foreign),
				this.server.username());
	}

}
