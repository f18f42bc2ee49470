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

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;

import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.Texts;
import io.leaderelection.simulation.VirtualTime;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.LockKey;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.LockRow;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.ServerClock;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.Statements;
import io.leaderelection.simulation.server.Timeout;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What a winner finds out about the session of its predecessor, in the order of steps on
 * the server that matters.
 */
@Tag("ring2")
class PredecessorTests {

	private static final ElectionKeys KEYS = ElectionKeys.ofLockId(4711);

	private static final LockKey MAIN = LockKey.of(KEYS.main());

	private static final long MILLIS = 1_000_000;

	private static final int SEEDS = 40;

	private final VirtualTime time = new VirtualTime();

	private final Texts texts = new Texts();

	private final AdvisoryLockPrograms programs = new AdvisoryLockPrograms(KEYS, Sentinel.NONE, this.texts, null);

	private List<Rows> winners = new ArrayList<>();

	private SimServer server = newServer(0);

	@Test
	void clientThatHasLeftIsGone() {
		Backend leader = connect();
		Predecessor known = win(leader);
		await(connect(), known);
		leader.disconnect();
		assertThat(nextWinner()[4]).isEqualTo("true");
	}

	@Test
	void sessionThatWasTerminatedIsNot() {
		Backend leader = connect();
		Predecessor known = win(leader);
		await(connect(), known);
		this.server.terminate(leader.pid());
		assertThat(nextWinner()[4]).isEqualTo("false");
	}

	@Test
	void sessionThatWasSilentIsNot() {
		Backend leader = connect();
		leader.submit(Statements.set(Timeout.IDLE_SESSION, 100, false), (reply) -> {
		});
		Predecessor known = win(leader);
		await(connect(), known);
		assertThat(nextWinner()[4]).isEqualTo("false");
	}

	@Test
	void sessionThatTakesLongToEndIsNot() {
		Backend leader = connect();
		Predecessor known = win(leader);
		await(connect(), known);
		leader.disconnect();
		runUntil(() -> !holds(leader, MAIN));
		leader.freeze();
		assertThat(nextWinner()[4]).isEqualTo("false");
	}

	/**
	 * A session that ends may free the main key first. A term that began before it has
	 * freed the key of its own could end unnoticed by a session that waits later.
	 */
	@Test
	void nobodyWinsBeforeItHasFreedTheKeyOfItsTerm() {
		int shown = 0;
		for (int seed = 0; seed < SEEDS; seed++) {
			this.server = newServer(seed);
			this.winners = new ArrayList<>();
			Backend first = connect();
			Predecessor known = win(first);
			Backend second = connect();
			await(second, known);
			first.disconnect();
			runUntil(() -> !holds(first, MAIN));
			if (!holds(first, LockKey.of(KEYS.termClass(), known.termObject()))) {
				continue;
			}
			first.freeze();
			this.time.advance(50 * MILLIS);
			assertThat(this.winners.get(1).message()).isEqualTo(AdvisoryLockSql.ANSWER + "blocked " + first.pid());
			assertThat(holds(second, MAIN)).isFalse();
			first.thaw();
			await(second, known);
			assertThat(nextWinner()[4]).isEqualTo("false");
			shown++;
		}
		assertThat(shown).isPositive();
	}

	private SimServer newServer(int partitionSeed) {
		return new SimServer(this.time, new ServerClock(this.time, 1, 0), () -> 1000,
				ServerSettings.DEFAULTS.withPartitionSeed(partitionSeed));
	}

	private Backend connect() {
		Backend backend = this.server.connect("node", "postgres", (end) -> {
		});
		assertThat(backend).isNotNull();
		return backend;
	}

	private Predecessor win(Backend backend) {
		await(backend, null);
		String[] won = nextWinner();
		return new Predecessor(backend.pid(), ElectionKeys.termObject(Long.parseLong(won[0]), Long.parseLong(won[1])));
	}

	private void await(Backend backend, @Nullable Predecessor predecessor) {
		List<Rows> answers = this.winners;
		backend.submit(this.texts.program(this.programs.acquire(800, 0, 0, predecessor, 0)),
				(reply) -> answers.add(reply.result()));
		this.time.advance(MILLIS);
	}

	private String[] nextWinner() {
		this.time.advance(400 * MILLIS);
		String winner = this.winners.get(this.winners.size() - 1).message();
		assertThat(winner).contains(":");
		return winner.substring(AdvisoryLockSql.ANSWER.length()).split(":");
	}

	private boolean holds(Backend backend, LockKey key) {
		return this.server.locks().contains(new LockRow(key, LockMode.EXCLUSIVE, backend.pid(), true));
	}

	private void runUntil(BooleanSupplier condition) {
		while (!condition.getAsBoolean()) {
			assertThat(this.time.runNext()).isTrue();
		}
	}

}
