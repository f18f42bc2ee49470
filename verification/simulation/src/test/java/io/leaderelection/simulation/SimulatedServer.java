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

package io.leaderelection.simulation;

import java.sql.Connection;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.SimulatedJdbc.Client;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.LockVisitor;
import io.leaderelection.simulation.server.Reply;
import io.leaderelection.simulation.server.ServerClock;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import io.leaderelection.simulation.server.Timeout;
import org.jspecify.annotations.Nullable;

/**
 * A simulated {@link ComparedServer}. One thread runs it, to which the others hand their
 * requests.
 */
public final class SimulatedServer implements ComparedServer {

	private static final long MILLISECOND = 1_000_000;

	private final VirtualTime time = new VirtualTime();

	private final SimServer server;

	private final Texts texts = new Texts();

	private final BlockingQueue<Runnable> requests = new LinkedBlockingQueue<>();

	/** How many threads wait for an answer. */
	private int awaited;

	/**
	 * Create a new {@code SimulatedServer} instance.
	 * @param random how long the steps of its sessions take
	 * @param settings the settings
	 */
	public SimulatedServer(Random random, ServerSettings settings) {
		this.server = new SimServer(this.time, new ServerClock(this.time, 1, Duration.ofDays(20_000).toNanos()),
				() -> random.nextInt(1000), settings);
	}

	/**
	 * Return the texts of its statements.
	 */
	public Texts texts() {
		return this.texts;
	}

	@Override
	public Connection connect(Properties driverSettings) {
		return SimulatedJdbc.connection(new Session(driverSettings.getProperty("ApplicationName", "")), this.texts, 0);
	}

	@Override
	public String text(String sql, Supplier<Statement<?>> program) {
		return this.texts.add(() -> Statements.rows(program.get()));
	}

	/**
	 * No time passes while another thread runs.
	 */
	@Override
	public void proceed(int busy) throws InterruptedException {
		boolean others = busy > this.awaited;
		Runnable request = others ? this.requests.poll(1, TimeUnit.MILLISECONDS) : this.requests.poll();
		if (request != null) {
			request.run();
		}
		else if (!others) {
			this.time.advance(MILLISECOND);
		}
	}

	@Override
	public void terminate(int pid) {
		this.server.terminate(pid);
	}

	@Override
	public void cancel(int pid) {
		this.server.cancel(pid);
	}

	@Override
	public void expire(Connection connection) {
		((Session) SimulatedJdbc.client(connection)).backend.submit(Statements.set(Timeout.IDLE_SESSION, 1, false),
				(reply) -> {
				});
	}

	@Override
	public void resetStatistics() {
		this.server.resetStatistics();
	}

	@Override
	public Set<Integer> waiting() {
		Set<Integer> waiting = new HashSet<>();
		this.server.visitLocks((key, mode, pid, granted) -> {
			if (!granted) {
				waiting.add(pid);
			}
		});
		return waiting;
	}

	@Override
	public Set<Integer> present() {
		Set<Integer> present = new HashSet<>();
		this.server.activity().forEach((activity) -> present.add(activity.pid()));
		return present;
	}

	@Override
	public void visitLocks(LockVisitor visitor) {
		this.server.visitLocks(visitor);
	}

	@Override
	public String endings() {
		return endings(this.server.endings().killed(), this.server.endings().fatal());
	}

	@Override
	public String endings(long killed, long fatal) {
		return killed + " killed, " + fatal + " fatal";
	}

	@Override
	public void signal(int pid, boolean stop) {
		Backend backend = Objects.requireNonNull(this.server.backend(pid));
		if (stop) {
			backend.freeze();
		}
		else {
			backend.thaw();
		}
	}

	@Override
	public void elapse(long millis, int busy) throws InterruptedException {
		while (busy > this.awaited || !this.requests.isEmpty()) {
			proceed(busy);
		}
		this.time.advance(millis * MILLISECOND);
	}

	@Override
	public void crash() {
		this.server.crash();
		this.server.start();
	}

	@Override
	public long nextTransactionId() {
		return this.server.nextTransactionId();
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
			SimServer on = SimulatedServer.this.server;
			SimulatedServer.this.requests.add(() -> connected
				.complete(Objects.requireNonNull(on.connect(name, "postgres", (end) -> breaks(end.toString())))));
			this.backend = connected.join();
		}

		@Override
		public int backendPid() {
			return this.backend.pid();
		}

		@Override
		public <T> T request(Statement<T> statement, long timeout) throws SqlError, BrokenException {
			CompletableFuture<Reply<T>> reply = new CompletableFuture<>();
			SimulatedServer.this.requests.add(() -> submit(statement, reply));
			try {
				return reply.join().get();
			}
			catch (CompletionException ex) {
				throw (BrokenException) ex.getCause();
			}
		}

		private <T> void submit(Statement<T> statement, CompletableFuture<Reply<T>> reply) {
			this.answer = reply;
			SimulatedServer.this.awaited++;
			if (this.broken) {
				breaks("closed");
				return;
			}
			this.backend.submit(statement, (answered) -> {
				SimulatedServer.this.awaited--;
				this.answer = null;
				reply.complete(answered);
			});
		}

		private void breaks(String reason) {
			this.broken = true;
			CompletableFuture<?> waiting = this.answer;
			if (waiting != null) {
				SimulatedServer.this.awaited--;
				this.answer = null;
				waiting.completeExceptionally(new BrokenException(reason));
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
			SimulatedServer.this.requests.add(() -> {
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
