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
import java.util.HashSet;
import java.util.List;
import java.util.Set;

import io.leaderelection.simulation.VirtualTime;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the simulated server does that cannot be had from PostgreSQL at will.
 */
@Tag("ring2")
class SimServerTests {

	private static final LockKey FIRST = LockKey.of(1);

	private static final LockKey SECOND = LockKey.of(2, 2);

	private static final long SECOND_NANOS = 1_000_000_000;

	private final VirtualTime time = new VirtualTime();

	private final ServerClock clock = new ServerClock(this.time, 1, 0);

	private final List<String> ends = new ArrayList<>();

	/**
	 * H3: which lock of a dying session is free first depends on the partitions that they
	 * are in.
	 */
	@Test
	void dyingSessionFreesLocksOneByOne() {
		Set<List<LockKey>> seen = new HashSet<>();
		for (int seed = 0; seed < 20; seed++) {
			SimServer server = new SimServer(this.time, this.clock, () -> 1000,
					ServerSettings.DEFAULTS.withPartitionSeed(seed));
			Backend dying = server.connect("dying", "postgres", (end) -> this.ends.add(end.name()));
			dying.submit(Statements.lock(FIRST, LockMode.EXCLUSIVE, LockScope.SESSION), (reply) -> {
			});
			dying.submit(Statements.lock(SECOND, LockMode.EXCLUSIVE, LockScope.SESSION), (reply) -> {
			});
			this.time.advance(SECOND_NANOS);
			server.terminate(dying.pid());
			while (!server.locks().isEmpty()) {
				assertThat(this.time.runNext()).isTrue();
				seen.add(server.locks().stream().map(LockRow::key).toList());
			}
			assertThat(this.ends).hasSize(seed + 1);
		}
		assertThat(seen).contains(List.of(FIRST), List.of(SECOND), List.of());
	}

	/**
	 * The end of a session is counted when its locks are free, and before it is gone.
	 */
	@Test
	void dyingSessionIsCountedBeforeItIsGone() {
		SimServer server = new SimServer(this.time, this.clock, () -> 1000, ServerSettings.DEFAULTS);
		Backend dying = server.connect("dying", "postgres", (end) -> this.ends.add(end.name()));
		dying.submit(Statements.lock(FIRST, LockMode.EXCLUSIVE, LockScope.SESSION), (reply) -> {
		});
		this.time.advance(SECOND_NANOS);
		server.terminate(dying.pid());
		List<String> seen = new ArrayList<>();
		while (server.backend(dying.pid()) != null) {
			assertThat(this.time.runNext()).isTrue();
			String now = (server.locks().isEmpty() ? "free " : "held ") + server.endings().killed()
					+ ((server.backend(dying.pid()) != null) ? " there" : " gone");
			if (seen.isEmpty() || !seen.get(seen.size() - 1).equals(now)) {
				seen.add(now);
			}
		}
		assertThat(seen).containsExactly("held 0 there", "free 0 there", "free 1 there", "free 1 gone");
	}

	/**
	 * Also after its last statement, and before the message has ended.
	 */
	@Test
	void messageMayBeCancelledAtAnyTime() {
		Set<Boolean> failed = new HashSet<>();
		for (int steps = 0; steps < 12; steps++) {
			SimServer server = new SimServer(this.time, this.clock, () -> 1000, ServerSettings.DEFAULTS);
			Backend backend = server.connect("node", "postgres", (end) -> this.ends.add(end.name()));
			List<Reply<Long>> replies = new ArrayList<>();
			backend.submit(new Sequence<>(List.of(Statements.transactionId(true), Statements.transactionId(true))),
					replies::add);
			for (int step = 0; step < steps; step++) {
				this.time.runNext();
			}
			backend.cancel(SqlError.QUERY_CANCELED);
			this.time.advance(SECOND_NANOS);
			assertThat(replies).hasSize(1);
			failed.add(replies.get(0).error() != null);
		}
		assertThat(failed).containsExactlyInAnyOrder(true, false);
		assertThat(this.ends).isEmpty();
	}

	/**
	 * H5: a timer is due by the wall clock, but looked at when an alarm comes, so that a
	 * step forward ends a silent session with the next alarm.
	 */
	@Test
	void stepOfClockMovesEndOfSilentSession() {
		assertThat(silenceUntilEnd(0, 0)).isEqualTo(4000);
		assertThat(silenceUntilEnd(-10, 0)).isEqualTo(14_000);
		assertThat(silenceUntilEnd(5, 0)).isEqualTo(4000);
		assertThat(silenceUntilEnd(5, 1500)).isEqualTo(1500);
	}

	@Test
	void clockOfServerHasARate() {
		ServerClock fast = new ServerClock(this.time, 1.1, 0);
		SimServer server = new SimServer(this.time, fast, () -> 0, ServerSettings.DEFAULTS);
		Backend silent = server.connect("silent", "postgres", (end) -> this.ends.add(end.name()));
		silent.submit(Statements.set(Timeout.IDLE_SESSION, 1100, false), (reply) -> {
		});
		this.time.advance(SECOND_NANOS - 1000);
		assertThat(this.ends).isEmpty();
		this.time.advance(2000);
		assertThat(this.ends).containsExactly("IDLE_SESSION_TIMEOUT");
	}

	/**
	 * Return for how many milliseconds a session with a limit of four seconds is silent
	 * until it is ended, if the clock is set and an earlier alarm is left.
	 */
	private long silenceUntilEnd(long stepSeconds, long alarmMillis) {
		SimServer server = new SimServer(this.time, new ServerClock(this.time, 1, 0), () -> 0, ServerSettings.DEFAULTS);
		List<SessionEnd> end = new ArrayList<>();
		Backend silent = server.connect("silent", "postgres", end::add);
		silent.submit(Statements.set(Timeout.STATEMENT, alarmMillis, false), (reply) -> {
		});
		silent.submit(Statements.unlockAll(), (reply) -> {
		});
		silent.submit(Statements.set(Timeout.IDLE_SESSION, 4000, false), (reply) -> {
		});
		long start = this.time.time();
		this.time.advance(1_000_000);
		server.clock().step(stepSeconds * SECOND_NANOS);
		while (end.isEmpty()) {
			assertThat(this.time.runNext()).isTrue();
		}
		return (this.time.time() - start) / 1_000_000;
	}

	/**
	 * No timeout runs in the middle of a request.
	 */
	@Test
	void halfRequestStopsIdleTimers() {
		SimServer server = new SimServer(this.time, this.clock, () -> 0, ServerSettings.DEFAULTS);
		Backend stuck = server.connect("stuck", "postgres", (end) -> this.ends.add(end.name()));
		stuck.submit(Statements.set(Timeout.IDLE_SESSION, 1000, false), (reply) -> {
		});
		this.time.advance(SECOND_NANOS / 2);
		stuck.beginRequest();
		this.time.advance(10 * SECOND_NANOS);
		assertThat(this.ends).isEmpty();
		assertThat(server.activity().get(0).receiving()).isTrue();
		server.terminate(stuck.pid());
		this.time.advance(SECOND_NANOS);
		assertThat(this.ends).containsExactly("TERMINATED");
		assertThat(server.activity()).isEmpty();
	}

	@Test
	void promotedStandbyKeepsSessionsAndForgetsWhatItHasNotReplayed() {
		SimServer primary = new SimServer(this.time, this.clock, () -> 0, ServerSettings.DEFAULTS);
		List<Object> answers = new ArrayList<>();
		Backend writer = primary.connect("writer", "postgres", (end) -> this.ends.add(end.name()));
		writer.submit(Statements.transactionId(true), (reply) -> answers.add(reply.result()));
		this.time.advance(SECOND_NANOS);
		SimServer standby = primary.newStandby(new ServerClock(this.time, 1, 0));
		writer.submit(Statements.transactionId(true), (reply) -> answers.add(reply.result()));
		Backend reader = standby.connect("reader", "postgres", (end) -> this.ends.add(end.name()));
		reader.submit(Statements.transactionId(true), (reply) -> answers.add(reply.error()));
		reader.submit(Statements.tryLock(FIRST, LockMode.EXCLUSIVE, LockScope.SESSION),
				(reply) -> answers.add(reply.result()));
		this.time.advance(SECOND_NANOS);
		standby.promote();
		reader.submit(Statements.transactionId(true), (reply) -> answers.add(reply.result()));
		reader.submit(Statements.unlock(FIRST, LockMode.EXCLUSIVE), (reply) -> answers.add(reply.result()));
		this.time.advance(SECOND_NANOS);
		assertThat(answers).containsExactly(700L, 701L, SqlError.READ_ONLY, true, 701L, true);
		assertThat(standby.timeline()).isEqualTo(2);
		assertThat(this.ends).isEmpty();
	}

}
