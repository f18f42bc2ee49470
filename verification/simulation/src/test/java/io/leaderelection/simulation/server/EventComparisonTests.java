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

import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import io.leaderelection.simulation.RealServer;
import io.leaderelection.simulation.SimulatedServer;
import io.leaderelection.simulation.server.Operation.Kind;
import io.leaderelection.simulation.server.Scene.TooSlowException;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

/**
 * What time, signals and crashes do to the simulated server is what they do to
 * PostgreSQL.
 */
@Tag("ring2")
class EventComparisonTests {

	private static final LockKey KEY = LockKey.of(4711);

	private static final int MOST_TRIES = 5;

	/**
	 * H1: the timeout ends the statement although the lock was granted. A lock of the
	 * session stays; one of the transaction does not.
	 */
	@ParameterizedTest
	@EnumSource(LockScope.class)
	void timeoutMeetsGrant(LockScope scope) throws Exception {
		List<String> transcript = compare((scene) -> {
			scene.connect("holder", "waiter");
			scene.run("holder", lock(LockScope.SESSION));
			scene.set("waiter", Timeout.LOCK, 500);
			scene.start("waiter", lock(scope));
			scene.awaitWaiting("waiter");
			scene.freeze("waiter");
			scene.awaitWaiting("waiter");
			scene.run("holder", unlock());
			scene.awaitLocks("waiter", 1);
			scene.elapse(600);
			scene.thaw("waiter");
			return List.of(scene.answer("waiter"), scene.run("holder", tryLock()), scene.run("waiter", unlock()));
		});
		boolean kept = scope == LockScope.SESSION;
		assertThat(transcript).containsExactly("55P03", Boolean.toString(!kept), Boolean.toString(kept));
	}

	/**
	 * A try-lock does not overtake a waiter, except one that waits for the session
	 * itself.
	 */
	@Test
	void tryLockMeetsWaiter() throws Exception {
		Operation share = share(Kind.TRY_LOCK);
		List<String> transcript = compare((scene) -> {
			scene.connect("holder", "waiter", "other");
			scene.run("holder", share);
			scene.start("waiter", lock(LockScope.SESSION));
			scene.awaitWaiting("waiter");
			return List.of(scene.run("other", share), scene.run("holder", share), scene.run("holder", tryLock()));
		});
		boolean goesAhead = RealServer.SETTINGS.version() >= 17;
		assertThat(transcript).containsExactly("false", "true", Boolean.toString(goesAhead));
	}

	@ParameterizedTest
	@EnumSource(value = Timeout.class, names = { "LOCK", "STATEMENT" })
	void timeoutEndsWait(Timeout timeout) throws Exception {
		List<String> transcript = compare((scene) -> {
			scene.connect("holder", "waiter", "next");
			scene.run("holder", share(Kind.LOCK));
			scene.set("waiter", timeout, 500);
			scene.start("waiter", lock(LockScope.SESSION));
			scene.awaitWaiting("waiter");
			scene.start("next", share(Kind.LOCK));
			scene.awaitWaiting("next");
			return List.of(scene.answer("waiter"), scene.answer("next"), scene.run("waiter", unlock()));
		});
		assertThat(transcript).containsExactly((timeout == Timeout.LOCK) ? "55P03" : "57014", "done", "false");
	}

	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void silentSessionIsEnded(boolean inTransaction) throws Exception {
		List<String> transcript = compare((scene) -> {
			scene.connect("silent", "waiter");
			scene.set("silent", inTransaction ? Timeout.IDLE_IN_TRANSACTION : Timeout.IDLE_SESSION, 1000);
			if (inTransaction) {
				scene.run("silent", Operation.of(Kind.BEGIN));
			}
			scene.set("silent", inTransaction ? Timeout.IDLE_SESSION : Timeout.IDLE_IN_TRANSACTION, 100);
			scene.run("silent", lock(inTransaction ? LockScope.TRANSACTION : LockScope.SESSION));
			scene.elapse(300);
			String early = scene.run("waiter", tryLock());
			return List.of(early, scene.run("waiter", lock(LockScope.SESSION)),
					scene.run("silent", Operation.of(Kind.UNLOCK_ALL)));
		});
		assertThat(transcript).containsExactly("false", "done", "ended");
	}

	/**
	 * A process that was stopped meets the alarm before the request.
	 */
	@Test
	void requestOfStoppedSessionComesTooLate() throws Exception {
		List<String> transcript = compare((scene) -> {
			scene.connect("silent");
			scene.set("silent", Timeout.IDLE_SESSION, 200);
			scene.freeze("silent");
			scene.start("silent", Operation.of(Kind.UNLOCK_ALL));
			scene.elapse(500);
			scene.thaw("silent");
			return List.of(scene.answer("silent"));
		});
		assertThat(transcript).containsExactly("ended");
	}

	/**
	 * A client that has left stays in the queue until the server looks after it.
	 */
	@Test
	void clientThatHasLeftIsNoticed() throws Exception {
		List<String> transcript = compare((scene) -> {
			scene.connect("holder", "left", "next");
			scene.run("holder", share(Kind.LOCK));
			scene.set("left", Timeout.CLIENT_CHECK, 500);
			scene.start("left", lock(LockScope.SESSION));
			scene.awaitWaiting("left");
			scene.start("next", share(Kind.LOCK));
			scene.awaitWaiting("next");
			scene.abandon("left");
			return List.of(scene.answer("next"));
		});
		assertThat(transcript).containsExactly("done");
	}

	/**
	 * H2: a crash forgets the transaction ids of which the log does not tell.
	 */
	@Test
	void crashForgetsTransactionIds() throws Exception {
		Operation bare = Operation.of(Kind.TRANSACTION_ID);
		Operation durable = Operation.of(Kind.DURABLE_TRANSACTION_ID);
		List<String> transcript = compare((scene) -> {
			scene.connect("first");
			String before = scene.run("first", bare) + scene.run("first", durable) + scene.run("first", bare)
					+ scene.run("first", bare);
			scene.server().crash();
			scene.connect("second");
			String after = scene.run("second", bare);
			if (after.equals("704")) {
				// The log writer came in between
				throw new TooSlowException();
			}
			return List.of(before, after, scene.run("second", durable));
		});
		assertThat(transcript).containsExactly("700701702703", "702", "703");
	}

	/**
	 * A session is counted before it is gone, by why it has ended.
	 */
	@Test
	void endOfSessionIsCounted() throws Exception {
		assumeThat(RealServer.SETTINGS.version()).isGreaterThanOrEqualTo(15);
		List<String> transcript = compare((scene) -> {
			scene.connect("observer", "terminated", "silent", "left");
			List<String> counts = new ArrayList<>();
			scene.terminate("terminated");
			counts.add(countWithout(scene, "terminated"));
			scene.set("silent", Timeout.IDLE_SESSION, 100);
			counts.add(countWithout(scene, "silent"));
			scene.abandon("left");
			counts.add(countWithout(scene, "left"));
			return counts;
		});
		assertThat(transcript).containsExactly("1 killed, 0 fatal", "1 killed, 1 fatal", "1 killed, 1 fatal");
	}

	/**
	 * A client that has left during a statement counts as an error of the server if the
	 * server has looked after it.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void clientThatHasLeftDuringItsStatementIsCounted(boolean check) throws Exception {
		assumeThat(RealServer.SETTINGS.version()).isGreaterThanOrEqualTo(15);
		List<String> transcript = compare((scene) -> {
			scene.connect("observer", "holder", "left");
			scene.run("holder", lock(LockScope.SESSION));
			scene.set("left", Timeout.CLIENT_CHECK, check ? 100 : 0);
			scene.start("left", lock(LockScope.SESSION));
			scene.awaitWaiting("left");
			scene.abandon("left");
			if (!check) {
				scene.run("holder", unlock());
			}
			return List.of(countWithout(scene, "left"));
		});
		assertThat(transcript).containsExactly(check ? "0 killed, 1 fatal" : "0 killed, 0 fatal");
	}

	/**
	 * A transaction reads the counters once, unless it asks for new ones.
	 */
	@Test
	void transactionReadsCountersOnce() throws Exception {
		assumeThat(RealServer.SETTINGS.version()).isGreaterThanOrEqualTo(15);
		Operation endings = Operation.of(Kind.ENDINGS);
		List<String> transcript = compare((scene) -> {
			scene.connect("observer", "first", "second");
			scene.server().resetStatistics();
			scene.run("observer", Operation.of(Kind.BEGIN));
			List<String> counts = new ArrayList<>();
			counts.add(scene.run("observer", endings));
			scene.terminate("first");
			counts.add(countWithout(scene, "first"));
			scene.run("observer", Operation.of(Kind.CLEAR_STATISTICS));
			counts.add(scene.run("observer", endings));
			scene.server().resetStatistics();
			scene.terminate("second");
			counts.add(countWithout(scene, "second"));
			scene.run("observer", Operation.of(Kind.COMMIT));
			counts.add(scene.run("observer", endings));
			return counts;
		});
		assertThat(transcript).containsExactly("0 killed, 0 fatal", "0 killed, 0 fatal", "1 killed, 0 fatal",
				"1 killed, 0 fatal", "1 killed, 0 fatal");
	}

	private static String countWithout(Scene scene, String session) throws Exception {
		scene.awaitGone(session);
		return scene.run("observer", Operation.of(Kind.ENDINGS));
	}

	private static List<String> compare(Script script) throws Exception {
		for (int tries = 1;; tries++) {
			try (Scene simulated = new Scene(new SimulatedServer(new Random(tries), RealServer.SETTINGS));
					Scene real = new Scene(new RealServer())) {
				List<String> transcript = script.run(real);
				assertThat(script.run(simulated)).isEqualTo(transcript);
				return transcript;
			}
			catch (TooSlowException ex) {
				if (tries == MOST_TRIES) {
					throw ex;
				}
			}
		}
	}

	private static Operation lock(LockScope scope) {
		return new Operation(Kind.LOCK, 0, KEY, LockMode.EXCLUSIVE, scope);
	}

	private static Operation share(Kind kind) {
		return new Operation(kind, 0, KEY, LockMode.SHARE, LockScope.SESSION);
	}

	private static Operation tryLock() {
		return new Operation(Kind.TRY_LOCK, 0, KEY, LockMode.EXCLUSIVE, LockScope.SESSION);
	}

	private static Operation unlock() {
		return new Operation(Kind.UNLOCK, 0, KEY, LockMode.EXCLUSIVE, LockScope.SESSION);
	}

	/**
	 * What happens in a scene, and what its sessions say.
	 */
	@FunctionalInterface
	private interface Script {

		List<String> run(Scene scene) throws Exception;

	}

}
