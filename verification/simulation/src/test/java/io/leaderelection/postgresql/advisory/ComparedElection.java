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
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.engine.TransactionFence.Outcome;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.simulation.ComparedServer;
import io.leaderelection.simulation.ComparedSessions;
import io.leaderelection.simulation.server.LockKey;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of the library in an election on a server.
 */
final class ComparedElection implements AutoCloseable {

	static final String LOST = "lost";

	/** The client of the predecessor has ended its session. */
	static final String ABANDONED = " abandoned";

	/** No key of an earlier term is left. */
	static final String CLEAR = " clear";

	static final int FIRST_WRITER = 10;

	private static final Duration LEASE = Duration.ofMinutes(1);

	private static final Duration WAIT = Duration.ofMillis(800);

	/** Just long enough for a session to examine how its predecessor has ended. */
	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(6);

	private static final Pattern PID = Pattern.compile(".*\\bpid (\\d+).*");

	private final ElectionKeys keys;

	private final int standbys;

	private final int[] priorities;

	private final ComparedServer server;

	private final Function<ElectionSettings, AdvisoryLockStore> stores;

	private final ComparedSessions<Integer> sessions;

	private final Map<Integer, AdvisoryLockStore> opened = new HashMap<>();

	private final Map<Integer, AdvisoryLockSession> nodes = new HashMap<>();

	/** The terms that were won, in order. */
	private final List<Term> terms = new ArrayList<>();

	private final long base;

	ComparedElection(ElectionKeys keys, int standbys, int[] priorities, ComparedServer server,
			Function<ElectionSettings, AdvisoryLockStore> stores) throws SQLException {
		this.keys = keys;
		this.standbys = standbys;
		this.priorities = priorities;
		this.server = server;
		this.stores = stores;
		this.sessions = new ComparedSessions<>(server);
		this.base = server.nextTransactionId();
	}

	/**
	 * Begin an operation, and return when all sessions have done what they could.
	 * @return what each session says that was busy
	 */
	SortedMap<Integer, String> run(ElectionOperation operation) throws Exception {
		int number = operation.session();
		switch (operation.kind()) {
			case OPEN -> this.sessions.open(number, () -> open(number));
			case WATCH -> this.sessions.open(number, () -> watch(number));
			case CLOSE -> this.sessions.close(number, true);
			case TERMINATE -> this.sessions.terminate(number);
			case EXPIRE -> this.sessions.expire(number);
			case RESET_STATISTICS -> this.server.resetStatistics();
			case CANCEL -> this.sessions.cancel(number);
			default -> this.sessions.start(number, operation.mayWait(), () -> execute(operation));
		}
		return this.sessions.answers();
	}

	boolean hasPidsInOrder() {
		return this.sessions.hasPidsInOrder();
	}

	SortedSet<String> locks() throws SQLException {
		return this.sessions.locks(this::name);
	}

	@Override
	public void close() throws Exception {
		this.sessions.close();
	}

	// On the thread of a session

	private String execute(ElectionOperation operation) throws Exception {
		int number = operation.session();
		Duration wait = operation.patient() ? WAIT : Duration.ZERO;
		AdvisoryLockSession node;
		synchronized (this) {
			node = this.nodes.get(number);
		}
		return switch (operation.kind()) {
			case BECOME_CANDIDATE -> attempt(() -> "admitted " + node.becomeCandidate());
			case WITHDRAW -> attempt(() -> {
				node.withdraw();
				return "done";
			});
			case ACQUIRE -> attempt(() -> words(node.acquire(wait)));
			case OBSERVE -> attempt(() -> words(node.observe()));
			case REQUEST -> attempt(() -> "requested " + request(number, term(operation.term())));
			case CONFIRM -> attempt(() -> words(node.confirm(operation.patient())));
			case PASS_BARRIER -> attempt(() -> {
				String blocker = node.passBarrier(wait);
				return (blocker != null) ? "blocked by " + number(blocker) : "passed";
			});
			case RELEASE -> attempt(() -> "succeeded " + node.release(operation.patient()));
			case FENCE -> pass(number, term(operation.term()));
			case COMMIT -> {
				this.sessions.connection(number).commit();
				yield "done";
			}
			case ROLLBACK -> {
				this.sessions.connection(number).rollback();
				yield "done";
			}
			default -> throw new IllegalStateException(operation.toString());
		};
	}

	private String open(int number) throws Exception {
		if (number < FIRST_WRITER) {
			AdvisoryLockSession node = (AdvisoryLockSession) store(number).open();
			this.sessions.opened(number, node.connection());
			synchronized (this) {
				this.nodes.put(number, node);
			}
		}
		else {
			Connection connection = this.server.connect(new Properties());
			connection.setAutoCommit(false);
			this.sessions.opened(number, connection);
		}
		return "opened";
	}

	private String watch(int number) throws SessionException {
		Watch watch = store(number).watch(false);
		return words(watch.view()) + (watch.open() ? ", a seat is free" : ", no seat is free");
	}

	private synchronized AdvisoryLockStore store(int number) {
		return this.opened.computeIfAbsent(number,
				(unknown) -> this.stores.apply(new ElectionSettings("comparison", "node-" + number, LEASE,
						TAKEOVER_DELAY, FastTakeover.TRUE, Duration.ZERO, true, this.standbys,
						new NodeProfile(NodeProfile.PROTOCOL, this.priorities[number], Map.of()),
						ElectionSettings.PRIORITY_HOLD)));
	}

	private static String attempt(Callable<String> call) throws Exception {
		try {
			return call.call();
		}
		catch (SessionException ex) {
			return LOST;
		}
	}

	private boolean request(int number, Term term) throws SessionException {
		try {
			return store(number).newRequest(this.sessions.connection(number), term, "test").share();
		}
		catch (SQLException ex) {
			throw new SessionException("The session has ended", ex);
		}
	}

	private String pass(int number, Term term) throws SQLException {
		TransactionFence fence;
		synchronized (this) {
			fence = this.opened.values().iterator().next().fence();
		}
		Outcome outcome = fence.pass(this.sessions.connection(number), term);
		return (outcome == Outcome.PASSED) ? "passed"
				: "refused" + ((outcome == Outcome.REFUSED) ? "" : ", blocked or elsewhere");
	}

	private synchronized Term term(int number) {
		return this.terms.get(number);
	}

	// Words, in which nothing depends on the server

	private synchronized String words(Acquisition acquisition) {
		if (!(acquisition instanceof Won won)) {
			return "held by " + words(((Held) acquisition).view());
		}
		this.terms.add(won.term());
		return "won " + words(won.term())
				+ ((won.ending() == Ending.UNKNOWN) ? "" : " " + won.ending().name().toLowerCase(Locale.ROOT))
				+ (won.clear() ? CLEAR : "");
	}

	private String words(View view) {
		return ((view.leader() != null) ? view.leader().nodeId() + " " + words(view.leader().term()) : "nobody") + " "
				+ view.candidates().stream().map((candidate) -> candidate.nodeId()).sorted().toList()
				+ ((view.foreign() != null) ? " foreign " + number(view.foreign().session()) : "");
	}

	private String words(@Nullable Term term) {
		return (term != null) ? "term " + term.timeline() + ":" + (term.transactionId() - this.base) : "no term";
	}

	private String words(Confirmation confirmation) {
		return "predecessor " + number(confirmation.predecessor()) + (confirmation.requested() ? " requested" : "")
				+ ((confirmation.foreign() != null) ? " foreign " + number(confirmation.foreign()) : "");
	}

	private @Nullable Integer number(@Nullable String words) {
		Matcher matcher = PID.matcher(String.valueOf(words));
		return matcher.matches() ? this.sessions.number(Integer.parseInt(matcher.group(1))) : null;
	}

	private String name(LockKey key) {
		int high = key.high();
		int low = key.low();
		if (key.parts() == 1) {
			return key.equals(LockKey.of(this.keys.main())) ? "main" : key.equals(LockKey.of(this.keys.fence()))
					? "fence" : key.equals(LockKey.of(this.keys.candidate())) ? "candidate" : key.toString();
		}
		if (high == this.keys.termClass()) {
			return (low == ElectionKeys.CLEAN) ? "marker" : "term " + (low - this.base);
		}
		if (high == this.keys.requestClass()) {
			return (low == ElectionKeys.HEAD) ? "head" : "request " + (low - this.base);
		}
		return (high == this.keys.noticeClass()) ? "notice" : (high == this.keys.observerClass())
				? (low == ElectionKeys.OBSERVER) ? "observer" : (low < 0) ? "profile" : "seat " + low : key.toString();
	}

}
