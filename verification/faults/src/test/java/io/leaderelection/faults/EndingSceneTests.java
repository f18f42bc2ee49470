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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.testsupport.FrozenBackend;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;

/**
 * What each step is for that determines how the session of a predecessor has ended: in
 * each scene, a session that the server has ended looks like one that its client has
 * ended to a winner that leaves the step out.
 */
@AdvisoryLockOnly
@Tag("ring3")
class EndingSceneTests {

	private static final Duration LIMIT = Duration.ofSeconds(30);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final Duration LONG_TAKEOVER_DELAY = Duration.ofSeconds(5);

	private static final int MOST_TRIES = 25;

	private static final int TRIES = 3;

	private static PostgreSqlServer server;

	@BeforeAll
	static void startServer() {
		// In which nothing else ends
		server = PostgreSqlServer.start();
		Assumptions.assumeTrue(server.countsEndings(), "Endings are not distinguished");
	}

	@AfterAll
	static void stopServer() {
		server.close();
	}

	/**
	 * A debugger holds the session where it has freed its locks, and has not yet counted
	 * its end.
	 */
	@Test
	void sessionThatIsSlowToEnd() throws Exception {
		check(TAKEOVER_DELAY, (scene) -> {
			scene.lead("node-a");
			scene.settle("node-c");
			try (FrozenBackend backend = FrozenBackend.attach(scene.pid("node-a"))) {
				List<CompletableFuture<Acquisition>> waiting = new ArrayList<>();
				backend.awaitRelease(() -> {
					waiting.add(scene.acquire("node-c", 1));
					scene.terminate("node-a");
				});
				scene.releaseMain("node-a", backend);
				waiting.get(0).get(LIMIT.toSeconds(), TimeUnit.SECONDS);
				return waiting.get(0);
			}
		});
	}

	@Test
	void sessionThatEndsAfterTheLook() throws Exception {
		check(TAKEOVER_DELAY, (scene) -> {
			scene.lead("node-a");
			scene.settle("node-c");
			CompletableFuture<Acquisition> waiting = scene.acquire("node-c");
			String sleeping = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND pid = "
					+ scene.pid("node-c");
			Awaitility.await().until(() -> waiting.isDone() || server.query(sleeping).equals(List.of("1")));
			scene.terminate("node-a");
			return waiting;
		});
	}

	/**
	 * The predecessor of the last winner is not the one that it knew when it began to
	 * wait.
	 */
	@Test
	void twoTakeoversWithinOneWait() throws Exception {
		check(TAKEOVER_DELAY, (scene) -> {
			scene.lead("node-a");
			scene.open("node-b");
			scene.settle("node-c");
			try (FrozenBackend backend = FrozenBackend.attach(scene.pid("node-b"))) {
				List<CompletableFuture<Acquisition>> waiting = new ArrayList<>();
				backend.awaitRelease(() -> {
					waiting.add(scene.acquire("node-b", 1));
					waiting.add(scene.acquire("node-c", 2));
					scene.session("node-a").abort();
					waiting.get(0).join();
					scene.terminate("node-b");
				});
				scene.releaseMain("node-b", backend);
				waiting.get(1).get(LIMIT.toSeconds(), TimeUnit.SECONDS);
				return (waiting.get(0).get() instanceof Won) ? waiting.get(1) : null;
			}
		});
	}

	/**
	 * The predecessor has freed its main key, but not the key of its term. A session that
	 * waits would look at the predecessor even if a term began and ended meanwhile.
	 */
	@Test
	void noTermBeginsWhileAnotherOneEnds() throws Exception {
		int judged = 0;
		for (int run = 0; run < MOST_TRIES && judged < TRIES; run++) {
			try (SessionScene scene = new SessionScene(server, TAKEOVER_DELAY)) {
				scene.lead("node-a");
				StoreSession next = scene.open("node-b");
				try (FrozenBackend backend = FrozenBackend.attach(scene.pid("node-a"))) {
					backend.awaitRelease(() -> scene.session("node-a").abort());
					scene.releaseMain("node-a", backend);
					if (scene.holdsTerm("node-a")) {
						assertThat(next.acquire(SessionScene.NO_WAIT)).isInstanceOf(Held.class);
						judged++;
					}
				}
				scene.awaitEnd(scene.pid("node-a"));
				assertThat(next.acquire(SessionScene.NO_WAIT)).isInstanceOf(Won.class);
			}
		}
		assertThat(judged).as("no scene was played to its end").isPositive();
	}

	@Test
	void sessionThatWasIdleForTooLong() throws Exception {
		check(TAKEOVER_DELAY, (scene) -> {
			scene.lead("node-a");
			scene.settle("node-c");
			CompletableFuture<Acquisition> waiting = scene.acquire("node-c", 1);
			scene.execute("node-a", "SET idle_session_timeout = 1");
			return waiting;
		});
	}

	/**
	 * The counters have the same values again.
	 */
	@Test
	void countersThatAreResetMeanwhile() throws Exception {
		check(TAKEOVER_DELAY, (scene) -> {
			scene.lead("node-a");
			scene.settle("node-c");
			server.execute("SELECT pg_stat_reset()");
			try (Connection other = server.connect()) {
				server.terminate(PostgreSqlServer.pid(other));
			}
			String killed = "SELECT sessions_killed FROM pg_stat_database WHERE datname = current_database()";
			Awaitility.await().until(() -> server.query(killed).equals(List.of("1")));
			CompletableFuture<Acquisition> waiting = scene.acquire("node-c", 1);
			server.execute("SELECT pg_stat_reset()");
			scene.terminate("node-a");
			return waiting;
		});
	}

	/**
	 * The server has ended the session of the leader before the one that has died.
	 */
	@Test
	void leaderThatDiesBeforeItsTakeoverDelayIsOver() throws Exception {
		check(LONG_TAKEOVER_DELAY, (scene) -> {
			scene.lead("node-a");
			scene.open("node-c").acquire(SessionScene.NO_WAIT);
			long start = System.nanoTime();
			server.terminate(scene.pid("node-a"));
			scene.lead("node-b");
			scene.session("node-c").observe();
			assertThat(scene.session("node-c").acquire(TAKEOVER_DELAY)).isInstanceOf(Held.class);
			CompletableFuture<Acquisition> waiting = scene.acquire("node-c", 1);
			scene.session("node-b").abort();
			waiting.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
			return (System.nanoTime() - start < LONG_TAKEOVER_DELAY.toNanos()) ? waiting : null;
		});
	}

	/**
	 * Without this, each scene might look the same to the winner.
	 */
	@Test
	void sessionThatItsClientHasEnded() throws Exception {
		for (int run = 0; run < MOST_TRIES; run++) {
			try (SessionScene scene = new SessionScene(server, TAKEOVER_DELAY)) {
				scene.lead("node-a");
				scene.settle("node-c");
				CompletableFuture<Acquisition> waiting = scene.acquire("node-c", 1);
				scene.session("node-a").abort();
				if (waiting.get(LIMIT.toSeconds(), TimeUnit.SECONDS) instanceof Won won
						&& won.ending() == Ending.ABANDONED) {
					return;
				}
			}
		}
		fail("no session was recognized that its client has ended");
	}

	/**
	 * Run a scene, in which the server has ended a session: the winner must not take it
	 * for one that its client has ended.
	 */
	private static void check(Duration takeoverDelay, Play play) throws Exception {
		int judged = 0;
		for (int run = 0; run < MOST_TRIES; run++) {
			try (SessionScene scene = new SessionScene(server, takeoverDelay)) {
				CompletableFuture<Acquisition> waiting = play.run(scene);
				if (waiting == null || !(waiting.get(LIMIT.toSeconds(), TimeUnit.SECONDS) instanceof Won won)) {
					// A wait was over too early
					continue;
				}
				assertThat(won.ending()).isEqualTo(Ending.UNKNOWN);
				if (++judged == TRIES) {
					return;
				}
			}
		}
		assertThat(judged).as("no scene was played to its end").isPositive();
	}

	/**
	 * Plays a scene.
	 */
	@FunctionalInterface
	private interface Play {

		/**
		 * Play the scene.
		 * @param scene the sessions
		 * @return what the last one waits for, or {@code null} if the scene failed
		 */
		@Nullable CompletableFuture<Acquisition> run(SessionScene scene) throws Exception;

	}

}
