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
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.SimulatedJdbc;
import io.leaderelection.simulation.SimulatedJdbc.Client;
import io.leaderelection.simulation.Texts;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.Reply;
import io.leaderelection.simulation.server.ServerClock;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import io.leaderelection.simulation.server.Timeout;
import io.leaderelection.simulation.server.VirtualTime;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * An election on the simulated server, which one thread runs: that of the test. The
 * others hand their requests to it.
 */
final class SimulatedElection extends ComparedElection {

	private static final long MILLISECOND = 1_000_000;

	private final VirtualTime time = new VirtualTime();

	private final ElectionKeys keys;

	private final Platform platform;

	private final SimServer server;

	private final AdvisoryLockPrograms programs;

	private final Texts texts = new Texts();

	private final BlockingQueue<Runnable> requests = new LinkedBlockingQueue<>();

	/** How many threads wait for an answer. */
	private int awaited;

	SimulatedElection(ElectionKeys keys, int standbys, int[] priorities, Random random, ServerSettings settings,
			Mutant mutant, Platform platform) {
		super(keys, standbys, priorities);
		this.keys = keys;
		this.platform = platform;
		this.server = new SimServer(this.time, new ServerClock(this.time, 1, Duration.ofDays(20_000).toNanos()),
				() -> random.nextInt(1000), settings);
		this.programs = new AdvisoryLockPrograms(keys, mutant);
		this.programs.addTo(this.texts, null);
		countFrom(this.server.nextTransactionId());
	}

	@Override
	AdvisoryLockStore store(ElectionSettings settings) {
		return new SimulatedStore(
				this.keys, this.programs, this.texts, settings, (driverSettings) -> SimulatedJdbc
					.connection(new Session(driverSettings.getProperty("ApplicationName")), this.texts, 0),
				null, this.platform);
	}

	@Override
	Connection connect() throws SQLException {
		Connection connection = SimulatedJdbc.connection(new Session("writer"), this.texts, 0);
		connection.setAutoCommit(false);
		return connection;
	}

	@Override
	void terminate(int pid) {
		this.server.terminate(pid);
	}

	@Override
	void cancel(int pid) {
		this.server.cancel(pid);
	}

	@Override
	void expire(Connection connection) {
		((Session) SimulatedJdbc.client(connection)).backend.submit(Statements.set(Timeout.IDLE_SESSION, 1, false),
				(reply) -> {
				});
	}

	@Override
	void resetStatistics() {
		this.server.resetStatistics();
	}

	/**
	 * No time passes while another thread runs.
	 */
	@Override
	void proceed(int busy) {
		Runnable request = this.requests.poll();
		if (request != null) {
			request.run();
		}
		else if (busy > this.awaited) {
			Thread.onSpinWait();
		}
		else {
			this.time.advance(MILLISECOND);
		}
	}

	@Override
	Set<Integer> waiting() {
		Set<Integer> waiting = new HashSet<>();
		this.server.visitLocks((key, mode, pid, granted) -> {
			if (!granted) {
				waiting.add(pid);
			}
		});
		return waiting;
	}

	@Override
	Set<Integer> present() {
		Set<Integer> present = new HashSet<>();
		this.server.activity().forEach((activity) -> present.add(activity.pid()));
		return present;
	}

	@Override
	SortedSet<String> locks() {
		TreeSet<String> locks = new TreeSet<>();
		this.server.visitLocks((key, mode, pid, granted) -> locks
			.add(describe(pid, key.parts(), key.high(), key.low(), mode == LockMode.SHARE, granted)));
		return locks;
	}

	@Override
	void end() {
	}

	/**
	 * The client of a session, on another thread.
	 */
	private final class Session implements Client {

		private final Backend backend;

		private @Nullable CompletableFuture<?> answer;

		private volatile boolean broken;

		Session(String name) {
			CompletableFuture<Backend> connected = new CompletableFuture<>();
			SimulatedElection.this.requests.add(() -> connected.complete(Objects.requireNonNull(
					SimulatedElection.this.server.connect(name, "postgres", (end) -> breaks(end.toString())))));
			this.backend = connected.join();
		}

		@Override
		public int backendPid() {
			return this.backend.pid();
		}

		@Override
		public <T> T request(Statement<T> statement, long timeout) throws SqlError, BrokenException {
			CompletableFuture<Reply<T>> reply = new CompletableFuture<>();
			SimulatedElection.this.requests.add(() -> {
				this.answer = reply;
				SimulatedElection.this.awaited++;
				if (this.broken) {
					breaks("closed");
				}
				else {
					this.backend.submit(statement, (answered) -> {
						SimulatedElection.this.awaited--;
						this.answer = null;
						reply.complete(answered);
					});
				}
			});
			try {
				return reply.join().get();
			}
			catch (CompletionException ex) {
				throw (BrokenException) ex.getCause();
			}
		}

		/**
		 * The session has ended, on the thread of the server.
		 */
		private void breaks(String reason) {
			this.broken = true;
			CompletableFuture<?> awaited = this.answer;
			if (awaited != null) {
				SimulatedElection.this.awaited--;
				this.answer = null;
				awaited.completeExceptionally(new BrokenException(reason));
			}
		}

		@Override
		public List<String> takeNotices(long timeout) {
			return List.of();
		}

		@Override
		public void receive(String notice) {
		}

		@Override
		public boolean isBroken() {
			return this.broken;
		}

		@Override
		public void close(String reason) {
			SimulatedElection.this.requests.add(() -> {
				breaks(reason);
				this.backend.disconnect();
			});
		}

		@Override
		public void abort() {
			close("aborted");
		}

	}

}
