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

package io.leaderelection.cli;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Arrays;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;

/**
 * Checks one session of an election: that the server accepts its settings, how long its
 * requests take, and that the server ends it when it becomes silent.
 */
final class SessionCheck {

	private static final int SAMPLES = 200;

	private static final Duration LONGEST_SAMPLING = Duration.ofSeconds(4);

	private static final Duration POLL_INTERVAL = Duration.ofMillis(20);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(250);

	/** For the way of the answers, and for a server under load. */
	private static final Duration TOLERANCE = Duration.ofSeconds(2);

	private static final String FATAL = "SELECT sessions_fatal FROM pg_catalog.pg_stat_database "
			+ "WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

	private final Target target;

	private final Options options;

	private final Report report;

	/**
	 * Create a new {@code SessionCheck} instance.
	 * @param target the database
	 * @param options how to verify it
	 * @param report receives the results
	 */
	SessionCheck(Target target, Options options, Report report) {
		this.target = target;
		this.options = options;
		this.report = report;
	}

	/**
	 * Run the check.
	 * @param connection a connection to the same database
	 * @param pooled whether a pooler is in between
	 * @return whether a takeover is fast
	 */
	boolean run(Connection connection, boolean pooled) throws VerificationException, InterruptedException {
		StoreSession session;
		try {
			session = store("silent").open();
		}
		catch (SessionException ex) {
			throw VerificationException.of("session", ex);
		}
		try {
			this.report.ok("session", "idle_session_timeout and the other settings of an election are accepted");
			if (pooled) {
				checkNotShared();
			}
			return run(connection, session);
		}
		catch (SQLException | SessionException ex) {
			throw VerificationException.of("session", ex);
		}
		finally {
			session.abort();
		}
	}

	private ElectionStore store(String node) {
		ElectionSettings settings = new ElectionSettings(this.options.election(), node, this.options.lease(),
				TAKEOVER_DELAY, Duration.ZERO, true);
		return new AdvisoryLockStore(settings, keys(), 0, this.options.allowSessionPooler(), this.target::connect,
				null);
	}

	private ElectionKeys keys() {
		return ElectionKeys.derive(this.options.election(), "silence");
	}

	/**
	 * A session of the server that another node uses is refused when it is opened.
	 */
	private void checkNotShared() throws SessionException {
		StoreSession other = store("other").open();
		other.close();
		this.report.ok("pooler", "two sessions of an election are two sessions of the server");
	}

	private boolean run(Connection connection, StoreSession session)
			throws SQLException, SessionException, VerificationException, InterruptedException {
		session.becomeCandidate();
		if (!(session.acquire(this.options.lease()) instanceof Acquisition.Won won)) {
			throw new VerificationException("session", "The lock of a new election is not free.", null);
		}
		this.report.ok("lock", "acquired in term " + won.term());
		long[] roundTrips = measure(() -> Rows.number(connection, "SELECT 1"));
		this.report.ok("round trip", Milliseconds.summary(roundTrips));
		long[] confirmations = measure(() -> session.confirm(false));
		this.report.ok("confirmation", Milliseconds.summary(confirmations));
		long slow = Milliseconds.percentile(confirmations, 99);
		if (slow > this.options.lease().toNanos() / 10) {
			this.report.note("confirmation", "slow for this lease: set leader-election.lease-duration to "
					+ Milliseconds.print(slow * 10) + " or more");
		}
		long pid = Rows.number(connection, holder());
		long counted = Rows.number(connection, FATAL);
		long silent = System.nanoTime();
		session.confirm(true);
		silence(silent, awaitEnd(connection, pid, silent));
		return takeover(String.valueOf(session.takeover()), isCounted(connection, counted));
	}

	/**
	 * Return whether the server counts the session that it has ended.
	 */
	private static boolean isCounted(Connection connection, long before) throws SQLException, InterruptedException {
		long start = System.nanoTime();
		while (Rows.number(connection, FATAL) <= before) {
			if (System.nanoTime() - start >= TOLERANCE.toNanos()) {
				return false;
			}
			Thread.sleep(POLL_INTERVAL.toMillis());
		}
		return true;
	}

	private boolean takeover(String word, boolean counted) {
		boolean fast = word.equals("fast") && counted;
		if (fast) {
			this.report.ok("fast takeover",
					"nothing is seen between this node and the server, and the server counts the "
							+ "sessions that it ends");
		}
		else {
			this.report.note("fast takeover", "takeover-delay applies after a crash: " + switch (word) {
				case "fast" -> "the server has ended a session without counting it in sessions_fatal; set "
						+ "leader-election.fast-takeover=false";
				case "server" -> "the server is older than 15, or the role may not read why sessions end";
				case "pooler" -> "a pooler is in between";
				case "translated" -> "the server has another address than the one that was connected to; if nothing in "
						+ "between closes connections, set leader-election.fast-takeover=true";
				case "settings" -> "the server has not accepted the TCP settings of the session";
				default -> "something between this node and the server has a connection of its own to the server";
			});
		}
		return fast;
	}

	/**
	 * The names of sessions may not be visible, but locks are.
	 */
	private String holder() {
		long key = keys().main();
		return ("SELECT pid FROM pg_catalog.pg_locks WHERE granted AND locktype %1$s 'advisory' AND mode %1$s 'ExclusiveLock' "
				+ "AND objsubid %1$s 1 AND classid %1$s '%2$s' AND objid %1$s '%3$s'")
			.formatted("OPERATOR(pg_catalog.=)", Integer.toUnsignedString((int) (key >>> 32)),
					Integer.toUnsignedString((int) key));
	}

	private static long[] measure(Request request) throws SQLException, SessionException {
		long[] nanos = new long[SAMPLES];
		long start = System.nanoTime();
		int count = 0;
		while (count < SAMPLES && System.nanoTime() - start < LONGEST_SAMPLING.toNanos()) {
			long sent = System.nanoTime();
			request.send();
			nanos[count++] = System.nanoTime() - sent;
		}
		return Arrays.copyOf(nanos, count);
	}

	private long awaitEnd(Connection connection, long pid, long start)
			throws SQLException, VerificationException, InterruptedException {
		String locks = "SELECT pg_catalog.count(*) FROM pg_catalog.pg_locks WHERE locktype OPERATOR(pg_catalog.=) 'advisory' "
				+ "AND pid OPERATOR(pg_catalog.=) " + pid;
		while (Rows.number(connection, locks) > 0) {
			if (System.nanoTime() - start > this.options.lease().plus(TOLERANCE).toNanos()) {
				throw new VerificationException("silence", "The server has not ended a session that was silent for "
						+ Milliseconds.print(System.nanoTime() - start)
						+ ": after a leader has frozen or lost its network, no other node would lead. Verify that no "
						+ "proxy in between keeps the session active, or use leader-election.store=table.", null);
			}
			Thread.sleep(POLL_INTERVAL.toMillis());
		}
		return System.nanoTime();
	}

	private void silence(long start, long end) throws VerificationException {
		Duration silence = Duration.ofNanos(end - start);
		if (silence.compareTo(this.options.lease().multipliedBy(3).dividedBy(4)) < 0) {
			throw new VerificationException("silence", "A session was ended after a silence of "
					+ Milliseconds.print(silence)
					+ ", while its node still trusts its leadership: another node could lead at the same time. Verify "
					+ "which proxy or setting ends idle sessions, or set a shorter leader-election.lease-duration.",
					null);
		}
		this.report.ok("silence", "the server ended a silent session, and freed its lock, after "
				+ Milliseconds.print(silence) + " (lease " + Milliseconds.print(this.options.lease()) + ")");
	}

	/**
	 * A request to the server.
	 */
	@FunctionalInterface
	private interface Request {

		Object send() throws SQLException, SessionException;

	}

}
