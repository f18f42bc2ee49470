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

package io.leaderelection.simulation.server;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.SortedMap;
import java.util.SortedSet;

import io.leaderelection.simulation.ComparedServer;
import io.leaderelection.simulation.ComparedSessions;
import io.leaderelection.simulation.RealServer;
import io.leaderelection.simulation.SimulatedServer;
import io.leaderelection.simulation.server.Operation.Kind;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The simulated server answers as PostgreSQL does. Random operations of several sessions
 * run on both, one after the other, and after each the answers of all sessions, all locks
 * and the counters of sessions that the server has ended are compared.
 */
@Tag("ring2")
class LockComparisonTests {

	private static final Duration BUDGET = Duration.ofSeconds(3);

	private static final Duration LONG_BUDGET = Duration.ofSeconds(30);

	private static final long LOCK_TIMEOUT_MILLIS = 15;

	private static final int SESSIONS = 5;

	private static final int OPERATIONS = 150;

	private static final List<LockKey> KEYS = List.of(LockKey.of(-7_777_777_777L), LockKey.of(42, -1));

	@Test
	void answersAsPostgreSqlDoes() throws Exception {
		int seeds = Seeds.run(BUDGET, this::compare);
		System.out.println(seeds * OPERATIONS + " operations gave the same answers and locks");
	}

	@Test
	@Tag("ring3")
	void answersAsPostgreSqlDoesForLong() throws Exception {
		int seeds = Seeds.run(LONG_BUDGET, this::compare);
		System.out.println(seeds * OPERATIONS + " operations gave the same answers and locks");
	}

	private void compare(Random random) throws Exception {
		List<String> history = new ArrayList<>();
		Course course = new Course(random);
		try (Compared simulated = new Compared(new SimulatedServer(new Random(random.nextLong()),
				RealServer.SETTINGS.withPartitionSeed(random.nextInt())));
				Compared real = new Compared(new RealServer())) {
			for (int count = 0; count < OPERATIONS; count++) {
				Operation operation = course.next();
				history.add(operation.toString());
				SortedMap<Integer, String> answers = real.run(operation);
				history.add("  " + answers);
				assertThat(simulated.run(operation)).as(String.join("\n", history)).isEqualTo(answers);
				assertThat(simulated.locks()).as(String.join("\n", history)).isEqualTo(real.locks());
				if (RealServer.SETTINGS.version() >= 15) {
					assertThat(simulated.server.endings()).as(String.join("\n", history))
						.isEqualTo(real.server.endings());
				}
				course.follow(operation, answers);
			}
		}
	}

	/**
	 * Sessions on a server, of which one has a lock timeout.
	 */
	private static final class Compared implements AutoCloseable {

		private static final int IMPATIENT = 0;

		private final ComparedServer server;

		private final ComparedSessions<Integer> sessions;

		private final long base;

		Compared(ComparedServer server) throws SQLException {
			this.server = server;
			this.sessions = new ComparedSessions<>(server);
			this.base = server.nextTransactionId();
		}

		SortedMap<Integer, String> run(Operation operation) throws Exception {
			int number = operation.session();
			switch (operation.kind()) {
				case CONNECT -> this.sessions.open(number, () -> connect(number));
				case DISCONNECT -> this.sessions.close(number, number == IMPATIENT);
				case TERMINATE -> this.sessions.terminate(number);
				case CANCEL -> this.sessions.cancel(number);
				default -> this.sessions.start(number, number != IMPATIENT,
						() -> operation.execute(this.server, this.sessions.connection(number), this.base));
			}
			return this.sessions.answers();
		}

		SortedSet<String> locks() throws SQLException {
			return this.sessions.locks(LockKey::toString);
		}

		private String connect(int number) throws SQLException {
			Connection connection = this.server.connect(new Properties());
			if (number == IMPATIENT) {
				Operation.set(this.server, connection, Timeout.LOCK, LOCK_TIMEOUT_MILLIS);
			}
			this.sessions.opened(number, connection);
			return "connected";
		}

		@Override
		public void close() throws Exception {
			this.sessions.close();
		}

	}

	/**
	 * Chooses operations that make sense for what the sessions do at present.
	 */
	private static final class Course {

		private final Random random;

		private final boolean[] connected = new boolean[SESSIONS];

		private final boolean[] waiting = new boolean[SESSIONS];

		private final boolean[] inBlock = new boolean[SESSIONS];

		private final int[] savepoints = new int[SESSIONS];

		Course(Random random) {
			this.random = random;
		}

		Operation next() {
			int session = this.random.nextInt(SESSIONS);
			LockMode mode = this.random.nextBoolean() ? LockMode.SHARE : LockMode.EXCLUSIVE;
			LockScope scope = this.random.nextBoolean() ? LockScope.SESSION : LockScope.TRANSACTION;
			LockKey key = KEYS.get((this.random.nextInt(4) == 0) ? 1 : 0);
			return new Operation(kind(session), session, key, mode, scope);
		}

		private Kind kind(int session) {
			if (!this.connected[session]) {
				return Kind.CONNECT;
			}
			int choice = this.random.nextInt(100);
			if (this.waiting[session]) {
				if (choice < 70) {
					return Kind.CANCEL;
				}
				return (choice < 85) ? Kind.TERMINATE : Kind.DISCONNECT;
			}
			if (choice < 4) {
				return this.random.nextBoolean() ? Kind.TERMINATE : Kind.DISCONNECT;
			}
			if (choice < 20) {
				return blockKind(session);
			}
			return (choice < 50) ? Kind.LOCK : (choice < 70) ? Kind.TRY_LOCK
					: (choice < 94) ? Kind.UNLOCK : (choice < 96) ? Kind.UNLOCK_ALL : Kind.TRANSACTION_ID;
		}

		private Kind blockKind(int session) {
			if (!this.inBlock[session]) {
				return Kind.BEGIN;
			}
			int choice = this.random.nextInt(6);
			if (choice < 2) {
				return Kind.SAVEPOINT;
			}
			if (choice < 4 && this.savepoints[session] > 0) {
				return (choice == 2) ? Kind.ROLLBACK_TO : Kind.RELEASE;
			}
			return (choice < 5) ? Kind.COMMIT : Kind.ROLLBACK;
		}

		void follow(Operation operation, SortedMap<Integer, String> answers) {
			int session = operation.session();
			boolean isDone = "done".equals(answers.get(session));
			switch (operation.kind()) {
				case CONNECT -> this.connected[session] = true;
				case DISCONNECT, TERMINATE -> {
					this.connected[session] = false;
					this.inBlock[session] = false;
				}
				case BEGIN -> this.inBlock[session] = true;
				case COMMIT, ROLLBACK -> this.inBlock[session] = false;
				case SAVEPOINT -> this.savepoints[session] += isDone ? 1 : 0;
				case ROLLBACK_TO, RELEASE -> this.savepoints[session] -= isDone ? 1 : 0;
				default -> {
				}
			}
			for (int each = 0; each < SESSIONS; each++) {
				this.waiting[each] = ComparedSessions.WAITS.equals(answers.get(each));
				if (!this.inBlock[each]) {
					this.savepoints[each] = 0;
				}
			}
		}

	}

}
