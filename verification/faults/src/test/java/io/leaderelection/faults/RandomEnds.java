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
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

import io.leaderelection.Term;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.faults.Contender.Win;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.postgresql.PGConnection;

/**
 * Ends the leader again and again, in a random way, and holds how the next one judges
 * that end against what was done.
 */
final class RandomEnds implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private static final int CONTENDERS = 3;

	/** Longer than a statement takes. */
	private static final int SHORT_MICROS = 8000;

	/** So that a leader ends at any time within a wait. */
	private static final int LONG_MICROS = 60_000;

	private final PostgreSqlServer server;

	private final int port;

	private final boolean pooled;

	private final Random random;

	private final ElectionKeys keys;

	private final Connection administrator;

	private final BlockingQueue<Win> wins = new LinkedBlockingQueue<>();

	private final Map<String, Contender> contenders = new TreeMap<>();

	private final List<End> ends = new ArrayList<>();

	private final List<String> mistakes = new ArrayList<>();

	private final Map<Kind, Map<String, Integer>> counts = new EnumMap<>(Kind.class);

	private int expected;

	private int recognized;

	private int opened;

	/**
	 * Create a new {@code RandomEnds} instance.
	 * @param server the server, which no other session uses
	 * @param port the port of the server, or of what is in between
	 * @param seed determines what is done, but not how long it takes
	 */
	RandomEnds(PostgreSqlServer server, int port, long seed) throws SQLException {
		this.server = server;
		this.port = port;
		this.pooled = port != server.port();
		this.random = new Random(seed);
		this.keys = ElectionKeys.derive("endings", "seed-" + seed);
		this.administrator = server.connect();
	}

	/**
	 * End leaders.
	 * @param number how many
	 * @param done ends the run earlier
	 */
	RandomEnds run(int number, BooleanSupplier done) throws Exception {
		for (int i = 0; i < CONTENDERS; i++) {
			add();
		}
		Win leader = next();
		for (int i = 0; i < number && !done.getAsBoolean(); i++) {
			if (this.random.nextInt(5) > 0) {
				settle(leader);
				pause(LONG_MICROS);
			}
			End end = end(leader);
			this.ends.add(end);
			leader = next();
			judge(end, leader);
			this.contenders.remove(end.node()).end();
			add();
		}
		return this;
	}

	/**
	 * Wait until the others have known the leader for the takeover delay when they began
	 * to wait.
	 */
	private void settle(Win leader) {
		Awaitility.await()
			.until(() -> this.contenders.values()
				.stream()
				.allMatch((contender) -> contender.node().equals(leader.node()) || contender.isSettled(leader.term())));
	}

	private Win next() throws InterruptedException {
		Win win = this.wins.poll(LIMIT.toSeconds(), TimeUnit.SECONDS);
		if (win == null) {
			throw new IllegalStateException("Nobody has won after " + this.ends);
		}
		this.contenders.values().forEach((contender) -> contender.notifyOf(win.term()));
		return win;
	}

	private End end(Win leader) throws Exception {
		Contender contender = this.contenders.get(leader.node());
		Kind kind = Kind.values()[this.random.nextInt(Kind.values().length)];
		boolean disturbed = this.random.nextInt(6) == 0;
		long start = System.nanoTime();
		CompletableFuture<Void> disturbance = disturbed ? CompletableFuture.runAsync(this::terminateAnother)
				: CompletableFuture.completedFuture(null);
		if (disturbed) {
			pause(SHORT_MICROS);
		}
		end(contender, kind);
		disturbance.join();
		return new End(leader.node(), leader.term(), kind, disturbed, start);
	}

	private void end(Contender leader, Kind kind) throws Exception {
		switch (kind) {
			case CLOSED -> leader.closeSocket();
			case RESET -> leader.resetSocket();
			case CLOSED_IN_ORDER -> leader.session().close();
			case CLOSED_IN_CONFIRMATION -> during(confirmations(leader), leader::closeSocket);
			case RESET_IN_CONFIRMATION -> during(confirmations(leader), leader::resetSocket);
			case CLOSED_IN_RELEASE -> during(() -> leader.session().release(false), leader::closeSocket);
			case TERMINATED -> terminate(leader.pid());
			case TERMINATED_IN_CONFIRMATION -> during(confirmations(leader), () -> terminate(leader.pid()));
			case TERMINATED_IN_RELEASE -> during(() -> leader.session().release(false), () -> terminate(leader.pid()));
			case IDLE -> leader.execute("SET idle_session_timeout = " + (1 + this.random.nextInt(10)));
			case IDLE_IN_TRANSACTION -> leader
				.execute("SET idle_in_transaction_session_timeout = " + (1 + this.random.nextInt(10)) + "; BEGIN");
			case RELEASED -> {
				leader.session().release(true);
				leader.session().close();
			}
		}
	}

	private static Action confirmations(Contender leader) {
		return () -> {
			while (true) {
				leader.session().confirm(true);
			}
		};
	}

	/**
	 * End a session while it runs statements.
	 */
	private void during(Action statements, Action end) throws Exception {
		CompletableFuture<Void> running = new CompletableFuture<>();
		Daemon.start("statements", () -> {
			try {
				statements.run();
				running.complete(null);
			}
			catch (SessionException ex) {
				// The session was ended, as it was to be
				running.complete(null);
			}
			catch (Throwable ex) {
				running.completeExceptionally(ex);
			}
		});
		pause(SHORT_MICROS);
		end.run();
		running.get(LIMIT.toSeconds(), TimeUnit.SECONDS);
	}

	/**
	 * Have something happen at a random time.
	 */
	private void pause(int mostMicros) {
		LockSupport.parkNanos(TimeUnit.MICROSECONDS.toNanos(this.random.nextInt(mostMicros)));
	}

	private void terminate(int pid) throws SQLException {
		try (Statement statement = this.administrator.createStatement()) {
			statement.execute("SELECT pg_terminate_backend(" + pid + ")");
		}
	}

	private void terminateAnother() {
		try (Connection other = this.server.connect();
				Connection own = this.server.connect();
				Statement statement = own.createStatement()) {
			statement.execute("SELECT pg_terminate_backend(" + other.unwrap(PGConnection.class).getBackendPID() + ")");
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Return what must never be: an end that the server has caused, judged as one of the
	 * client, and an end that is clean without a release.
	 * @param ends all ends so far
	 * @param win what was won after the last of them
	 */
	static List<String> mistakes(List<End> ends, Win win) {
		End last = ends.get(ends.size() - 1);
		return ends.stream().filter((end) -> switch (win.ending()) {
			case ABANDONED -> end.kind().side == Side.SERVER
					&& (end == last || win.reply() - end.start() < Contender.TAKEOVER_DELAY.toNanos());
			case CLEAN -> end == last && end.kind() != Kind.RELEASED;
			case UNKNOWN -> false;
		}).map((end) -> win + " after " + end).toList();
	}

	/**
	 * Count mistakes, and how often the end is recognized.
	 */
	private void judge(End end, Win win) {
		this.mistakes.addAll(mistakes(this.ends, win));
		this.counts.computeIfAbsent(end.kind(), (kind) -> new TreeMap<>())
			.merge(win.ending() + (end.disturbed() ? " (disturbed)" : ""), 1, Integer::sum);
		if (end.kind().side == Side.CLIENT && !end.disturbed() && !this.pooled && end.term().equals(win.settled())) {
			this.expected++;
			this.recognized += (win.ending() == Ending.ABANDONED) ? 1 : 0;
		}
	}

	private void add() throws SessionException, SQLException {
		Contender contender = new Contender("node-" + this.opened++, this.keys, source(), this.wins::add);
		this.contenders.put(contender.node(), contender);
		contender.start();
	}

	private ConnectionSource source() {
		return (settings) -> this.server.connect(this.port, settings);
	}

	List<String> mistakes() {
		return this.mistakes;
	}

	/**
	 * The ends so far.
	 */
	int number() {
		return this.ends.size();
	}

	/**
	 * The ends by the client alone, of a leader that the winner had known for long
	 * enough.
	 */
	int expected() {
		return this.expected;
	}

	/**
	 * Those of them that were recognized.
	 */
	int recognized() {
		return this.recognized;
	}

	/**
	 * The ends that were judged as ends by the client.
	 */
	int abandoned() {
		return this.counts.values()
			.stream()
			.flatMap((endings) -> endings.entrySet().stream())
			.filter((entry) -> entry.getKey().startsWith(Ending.ABANDONED.name()))
			.mapToInt(Map.Entry::getValue)
			.sum();
	}

	@Override
	public String toString() {
		StringBuilder text = new StringBuilder(
				"%d ends, %d of %d idle sessions that the client ended recognized, %d mistakes"
					.formatted(this.ends.size(), this.recognized, this.expected, this.mistakes.size()));
		this.counts.forEach((kind, endings) -> text.append("\n  ").append(kind).append(' ').append(endings));
		return text.toString();
	}

	@Override
	public void close() throws SQLException {
		this.contenders.values().forEach(Contender::end);
		this.administrator.close();
	}

	/**
	 * How a session is ended.
	 */
	enum Kind {

		CLOSED(Side.CLIENT), RESET(Side.CLIENT), CLOSED_IN_ORDER(Side.CLIENT),

		/** The server may count the error when it cannot send the answer. */
		CLOSED_IN_CONFIRMATION(Side.UNKNOWN), RESET_IN_CONFIRMATION(Side.UNKNOWN),

		/** The lock may be free before the session ends. */
		CLOSED_IN_RELEASE(Side.UNKNOWN), RELEASED(Side.UNKNOWN),

		TERMINATED(Side.SERVER), TERMINATED_IN_CONFIRMATION(Side.SERVER), TERMINATED_IN_RELEASE(Side.SERVER),
		IDLE(Side.SERVER), IDLE_IN_TRANSACTION(Side.SERVER);

		private final Side side;

		Kind(Side side) {
			this.side = side;
		}

	}

	/**
	 * Who ends a session, as far as the server can tell.
	 */
	private enum Side {

		CLIENT, SERVER, UNKNOWN

	}

	/**
	 * An end of a leader.
	 *
	 * @param node the name of the node
	 * @param term its term
	 * @param kind how it was ended
	 * @param disturbed whether another session was terminated at the same time
	 * @param start when it began to end
	 */
	record End(String node, Term term, Kind kind, boolean disturbed, long start) {
	}

	/**
	 * Does something.
	 */
	@FunctionalInterface
	private interface Action {

		void run() throws Exception;

	}

}
