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
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.ElectionOperation.KnownLeader;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

import org.springframework.test.util.ReflectionTestUtils;

/**
 * The sessions of an election on PostgreSQL, with the statements of the library.
 */
final class RealElection extends ComparedElection {

	private static final long LIMIT_NANOS = 30_000_000_000L;

	/** Just long enough for a session to examine how its predecessor has ended. */
	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(6);

	private static final Pattern PID = Pattern.compile(".*\\bpid (\\d+).*");

	private final ElectionKeys keys;

	private final PostgreSqlServer server;

	private final Connection observer;

	private final TransactionFence fence;

	private final ExecutorService threads = Executors.newCachedThreadPool();

	private final Map<Integer, Session> sessions = new HashMap<>();

	private final Map<Integer, Integer> numbers = new HashMap<>();

	private final Set<Integer> ended = new HashSet<>();

	private int latestPid;

	private boolean pidsInOrder = true;

	RealElection(ElectionKeys keys, int standbys, int[] priorities, PostgreSqlServer server) throws Exception {
		super(keys, standbys, priorities);
		this.keys = keys;
		this.server = server;
		this.observer = server.connect();
		AdvisoryLockStore opener = opener(0);
		opener.open().close();
		this.fence = opener.fence();
		countFrom(Long.parseLong(Objects.requireNonNull(query("SELECT pg_snapshot_xmax(pg_current_snapshot())"))));
	}

	private AdvisoryLockStore opener(int number) {
		ElectionSettings settings = new ElectionSettings("comparison", "node-" + number,
				Duration.ofMillis(LEASE_MILLIS), TAKEOVER_DELAY, FastTakeover.AUTO, Duration.ZERO, true, standbys(),
				profile(number), ElectionSettings.PRIORITY_HOLD);
		return new AdvisoryLockStore(settings, this.keys, 0, false, (driverSettings) -> {
			driverSettings.setProperty("user", this.server.username());
			driverSettings.setProperty("password", this.server.password());
			return DriverManager.getConnection(this.server.jdbcUrl(), driverSettings);
		}, null);
	}

	@Override
	SortedMap<Integer, String> run(ElectionOperation operation) throws Exception {
		int number = operation.session();
		Session session = this.sessions.get(number);
		TreeMap<Integer, String> answers = new TreeMap<>();
		switch (operation.kind()) {
			case OPEN -> open(number);
			case WATCH -> {
				Watch watch = opener(number).watch(false);
				answers.put(number, watched(words(watch.view()), watch.open()));
			}
			case CLOSE -> {
				session.answer = null;
				this.ended.add(session.pid);
				session.connection.abort(Runnable::run);
			}
			case TERMINATE -> {
				this.ended.add(session.pid);
				query("SELECT pg_terminate_backend(" + session.pid + ")");
			}
			case EXPIRE -> {
				this.ended.add(session.pid);
				try (Statement statement = session.connection.createStatement()) {
					statement.execute("SET idle_session_timeout = 1");
				}
			}
			case RESET_STATISTICS -> query("SELECT pg_stat_reset()");
			case CANCEL -> {
				session.patient = false;
				query("SELECT pg_cancel_backend(" + session.pid + ")");
			}
			default -> {
				session.patient = operation.mayWait();
				session.answer = this.threads.submit(() -> session.run(operation));
			}
		}
		long limit = System.nanoTime() + LIMIT_NANOS;
		while (!isAtRest()) {
			if (System.nanoTime() > limit) {
				throw new AssertionError("The sessions do not come to rest");
			}
		}
		for (Map.Entry<Integer, Session> entry : this.sessions.entrySet()) {
			Future<String> answer = entry.getValue().answer;
			if (answer != null) {
				answers.put(entry.getKey(), answer.isDone() ? answer.get() : WAITS);
				if (answer.isDone()) {
					entry.getValue().answer = null;
				}
			}
		}
		return answers;
	}

	private void open(int number) throws Exception {
		Session session;
		if (number < FIRST_WRITER) {
			session = new Session((AdvisoryLockSession) opener(number).open());
		}
		else {
			Connection connection = this.server.connect();
			connection.setAutoCommit(false);
			session = new Session(null, connection);
		}
		this.sessions.put(number, session);
		this.numbers.put(session.pid, number);
		this.pidsInOrder &= session.pid > this.latestPid;
		this.latestPid = session.pid;
	}

	/**
	 * Return the leader whose end a session is going to examine if it wins. Wait until it
	 * has known it for long enough.
	 */
	@Nullable KnownLeader knownLeader(int number) {
		AdvisoryLockSession session = this.sessions.get(number).session;
		Duration settled = session.takeover().equals("fast")
				? (Duration) ReflectionTestUtils.getField(session, "takeoverDelay") : null;
		Peers peers = (Peers) ReflectionTestUtils.getField(session, "peers");
		if (settled == null || peers.predecessor(Duration.ZERO) == null) {
			return null;
		}
		Predecessor known = peers.predecessor(settled);
		while (known == null) {
			Thread.onSpinWait();
			known = peers.predecessor(settled);
		}
		return new KnownLeader(this.numbers.get(known.pid()), numberOf(known.termObject()));
	}

	/**
	 * Whether each session has a higher process id than those before it. Of several
	 * holders the lowest is named, and an operating system begins again at its limit.
	 */
	boolean hasPidsInOrder() {
		return this.pidsInOrder;
	}

	/**
	 * What is busy is read first: whatever has finished by then has its effect on what is
	 * read next.
	 */
	private boolean isAtRest() throws SQLException {
		Set<Integer> busy = new HashSet<>(this.ended);
		Set<Integer> patient = new HashSet<>();
		for (Session session : this.sessions.values()) {
			if (session.answer != null && !session.answer.isDone()) {
				busy.add(session.pid);
				if (session.patient) {
					patient.add(session.pid);
				}
			}
		}
		patient.removeAll(this.ended);
		if (busy.isEmpty()) {
			return true;
		}
		if (patient.containsAll(busy) && pids("SELECT pid FROM pg_locks WHERE NOT granted").containsAll(busy)) {
			return true;
		}
		this.ended.retainAll(pids("SELECT pid FROM pg_stat_get_activity(NULL)"));
		return false;
	}

	private Set<Integer> pids(String sql) throws SQLException {
		Set<Integer> pids = new HashSet<>();
		try (Statement statement = this.observer.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
			while (rows.next()) {
				pids.add(rows.getInt(1));
			}
		}
		return pids;
	}

	private String words(View view) {
		return ((view.leader() != null) ? view.leader().nodeId() + " " + words(view.leader().term()) : "nobody") + " "
				+ view.candidates().stream().map((candidate) -> candidate.nodeId()).sorted().toList();
	}

	private @Nullable String query(String sql) throws SQLException {
		try (Statement statement = this.observer.createStatement(); ResultSet row = statement.executeQuery(sql)) {
			return row.next() ? row.getString(1) : null;
		}
	}

	@Override
	SortedSet<String> locks() throws SQLException {
		TreeSet<String> locks = new TreeSet<>();
		try (Statement statement = this.observer.createStatement(); ResultSet row = statement.executeQuery("""
				SELECT pid, objsubid, classid::bigint, objid::bigint, mode, granted
				FROM pg_locks WHERE locktype = 'advisory'
				""")) {
			while (row.next()) {
				locks.add(describe(this.numbers.get(row.getInt(1)), row.getInt(2), (int) row.getLong(3),
						(int) row.getLong(4), row.getString(5).equals("ShareLock"), row.getBoolean(6)));
			}
		}
		return locks;
	}

	@Override
	public void close() throws SQLException {
		for (Session session : this.sessions.values()) {
			session.answer = null;
			session.connection.abort(Runnable::run);
			query("SELECT pg_terminate_backend(" + session.pid + ") FROM pg_stat_get_activity(" + session.pid + ")");
			this.ended.add(session.pid);
		}
		while (!isAtRest()) {
			Thread.onSpinWait();
		}
		this.threads.shutdown();
		this.observer.close();
	}

	/**
	 * A session of a node, or of a transaction of a leader.
	 */
	private final class Session {

		private final @Nullable AdvisoryLockSession session;

		private final Connection connection;

		private final int pid;

		private boolean patient;

		private @Nullable Future<String> answer;

		Session(AdvisoryLockSession session) throws SQLException {
			this(session, session.connection());
		}

		Session(@Nullable AdvisoryLockSession session, Connection connection) throws SQLException {
			this.session = session;
			this.connection = connection;
			this.pid = connection.unwrap(PGConnection.class).getBackendPID();
		}

		String run(ElectionOperation operation) throws Exception {
			Duration wait = operation.patient() ? Duration.ofMillis(WAIT_MILLIS) : Duration.ZERO;
			return switch (operation.kind()) {
				case BECOME_CANDIDATE -> attempt(() -> "admitted " + this.session.becomeCandidate());
				case WITHDRAW -> done(this.session::withdraw);
				case ACQUIRE -> attempt(() -> (this.session.acquire(wait) instanceof Won won)
						? won(won.term(), won.ending(), won.clear()) : "held");
				case OBSERVE -> attempt(() -> words(this.session.observe()));
				case REQUEST -> attempt(() -> "requested " + request(term(operation.term())));
				case CONFIRM -> attempt(() -> describe(this.session.confirm()));
				case PASS_BARRIER -> attempt(() -> {
					String blocker = this.session.passBarrier(wait);
					return (blocker != null) ? "blocked by " + number(blocker) : "passed";
				});
				case RELEASE -> attempt(() -> "succeeded " + this.session.release(operation.patient()));
				case FENCE -> (RealElection.this.fence.pass(this.connection,
						term(operation.term())) == TransactionFence.Outcome.PASSED) ? "passed" : "refused";
				case COMMIT -> {
					this.connection.commit();
					yield "done";
				}
				case ROLLBACK -> {
					this.connection.rollback();
					yield "done";
				}
				default -> throw new IllegalStateException(operation.toString());
			};
		}

		private String done(Command command) throws Exception {
			return attempt(() -> {
				command.run();
				return "done";
			});
		}

		private String attempt(Callable<String> call) throws Exception {
			try {
				return call.call();
			}
			catch (SessionException ex) {
				return LOST;
			}
		}

		private boolean request(Term term) throws SessionException {
			try {
				return new ResignationRequest(this.connection, RealElection.this.keys, "test", term, "test",
						Platform.SYSTEM)
					.share();
			}
			catch (SQLException ex) {
				throw new SessionException("The session has ended", ex);
			}
		}

		private String describe(Confirmation confirmation) {
			return "predecessor " + number(confirmation.predecessor()) + (confirmation.requested() ? " requested" : "");
		}

		private @Nullable Integer number(@Nullable String words) {
			Matcher matcher = PID.matcher(String.valueOf(words));
			return matcher.matches() ? RealElection.this.numbers.get(Integer.valueOf(matcher.group(1))) : null;
		}

	}

	@FunctionalInterface
	private interface Command {

		void run() throws SessionException;

	}

}
