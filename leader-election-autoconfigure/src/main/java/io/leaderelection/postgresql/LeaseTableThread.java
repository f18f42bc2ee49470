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
package io.leaderelection.postgresql;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The thread that owns the connection of a node to the lease table and answers its
 * requests.
 * <p>
 * The end of a connection does not end a lease. A renewal that fails is repeated on
 * another connection until it succeeds or its session is aborted; anything else fails
 * with the session that asked for it.
 * <p>
 * A thread that waits for an answer ends a connection on which a statement takes too
 * long: the driver may wait indefinitely for the rest of a message.
 */
final class LeaseTableThread implements Runnable {

	private static final Log logger = LogFactory.getLog(LeaseTableThread.class);

	private static final long CANDIDATE_EXPIRY_MILLIS = 10_000;

	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long MAX_BACKOFF = TimeUnit.MILLISECONDS.toNanos(400);

	private final LeaseTableRequests requests;

	private final LeaseTableElections elections;

	private final LeaseTableConnector connector;

	private final String node;

	/** Identifies this node among the candidates. */
	private final UUID id = UUID.randomUUID();

	private volatile @Nullable LeaseTableConnection connection;

	// Confined to the thread

	private int failures;

	private boolean broken;

	LeaseTableThread(LeaseTableRequests requests, LeaseTableElections elections, LeaseTableConnector connector,
			String node) {
		this.requests = requests;
		this.elections = elections;
		this.connector = connector;
		this.node = node;
	}

	/**
	 * End a call that takes too long. May be called by any thread; never blocks.
	 */
	void endOverdue() {
		this.connector.endOverdue();
		LeaseTableConnection open = this.connection;
		if (open != null) {
			open.endOverdue();
		}
	}

	@Override
	public void run() {
		boolean ended = false;
		try {
			while (!ended) {
				List<LeaseTableRequest<?>> work = take();
				if (work == null) {
					close();
					ended = this.requests.end();
				}
				else if (work.isEmpty()) {
					receiveNotices();
				}
				else {
					process(work);
				}
			}
		}
		finally {
			if (!ended) {
				// Another thread opens another connection
				disconnect();
			}
		}
	}

	private @Nullable List<LeaseTableRequest<?>> take() {
		while (true) {
			try {
				LeaseTableConnection open = this.connection;
				return this.requests.take(open != null && open.isListening());
			}
			catch (InterruptedException ex) {
				logger.debug("The thread was interrupted, which has no meaning", ex);
			}
		}
	}

	private void receiveNotices() {
		LeaseTableConnection open = Objects.requireNonNull(this.connection);
		try {
			Set<String> notices = open.receiveNotices();
			if (!notices.isEmpty()) {
				this.requests.hurry((session) -> notices.contains(open.sql().notice(session.key())));
			}
		}
		catch (SQLException ex) {
			logger.debug("The connection ended while it was idle", ex);
			disconnect();
		}
	}

	private void process(List<LeaseTableRequest<?>> work) {
		try {
			LeaseTableConnection open = connect();
			LeaseTableRequest<?> first = work.get(0);
			if (first.isTask()) {
				first.run(open);
				this.requests.update(work, (done) -> {
				});
			}
			else {
				round(open, work);
			}
		}
		catch (SQLException ex) {
			disconnectAfter(ex);
			failed(work, LeaseTableConnector.translate(ex));
		}
		catch (SessionException ex) {
			disconnect();
			failed(work, ex);
		}
		catch (Throwable ex) {
			disconnect();
			failed(work, new SessionException("Unexpected failure: " + ex, ex));
		}
	}

	private LeaseTableConnection connect() throws SQLException, SessionException {
		LeaseTableConnection open = this.connection;
		if (open == null || open.isClosed()) {
			open = this.connector.connect();
			this.connection = open;
			this.elections.candidacyChanged();
		}
		return open;
	}

	/**
	 * Renew leases and read rows. Nothing that may wait for other sessions, or fail
	 * because of them, comes before the answers to renewals.
	 */
	private void round(LeaseTableConnection open, List<LeaseTableRequest<?>> work) throws SQLException {
		Set<String> all = this.elections.all();
		List<Renewal> renewals = new ArrayList<>();
		for (LeaseTableRequest<?> request : work) {
			all.add(request.session().key());
			if (request.renewal() != null) {
				renewals.add(request.renewal());
			}
		}
		Map<String, LeaseRow> rows = open.round(all, renewals);
		this.elections.observe(all, rows, System.nanoTime());
		this.requests.update(work, (request) -> request.completeRenewal(rows.get(request.session().key())));
		if (!renewals.isEmpty()) {
			renewed();
		}
		Set<String> own = this.elections.own();
		Set<String> missing = new TreeSet<>(own);
		missing.removeAll(rows.keySet());
		if (!missing.isEmpty()) {
			tolerate("insert rows", () -> {
				open.insert(missing);
				this.elections.observe(missing, open.round(missing, List.of()), System.nanoTime());
			});
		}
		if (this.elections.areCandidatesDue()) {
			tolerate("register candidates", () -> this.elections
				.observe(open.candidates(this.id, this.node, own, all, CANDIDATE_EXPIRY_MILLIS)));
		}
		this.requests.update(work, LeaseTableRequest::completeRead);
	}

	private void renewed() {
		this.failures = 0;
		if (this.broken) {
			this.broken = false;
			logger.info("Renewals continue on another connection (node '" + this.node + "')");
		}
	}

	/**
	 * Run a statement on which no leadership rests. Its failure must not end a round.
	 */
	private void tolerate(String what, Action action) throws SQLException {
		try {
			action.run();
		}
		catch (SQLException ex) {
			if (disconnectAfter(ex)) {
				throw ex;
			}
			logger.debug("Could not " + what, ex);
		}
	}

	private void failed(List<LeaseTableRequest<?>> work, SessionException failure) {
		boolean unusable = failure instanceof UnusableStoreException;
		List<LeaseTableRequest<?>> renewals = work.stream()
			.filter((request) -> request.renewal() != null && !request.isDone() && !unusable)
			.toList();
		if (!renewals.isEmpty()) {
			long next = System.nanoTime() + Math.min(MAX_BACKOFF, MIN_BACKOFF << Math.min(this.failures++, 5));
			this.requests.update(renewals, (request) -> request.dueAt(next));
			if (!this.broken) {
				this.broken = true;
				logger.warn("Leases could not be renewed, trying again until they expire: " + failure.getMessage()
						+ " (node '" + this.node + "')");
			}
		}
		this.requests.update(work.stream().filter((request) -> !renewals.contains(request)).toList(),
				(request) -> request.fail(failure));
	}

	/**
	 * End a connection that does not work any longer.
	 * @return whether it has been ended
	 */
	private boolean disconnectAfter(SQLException ex) {
		LeaseTableConnection open = this.connection;
		if (open != null && !open.mustBeReplaced(ex)) {
			return false;
		}
		disconnect();
		return true;
	}

	private void disconnect() {
		LeaseTableConnection open = this.connection;
		this.connection = null;
		if (open != null) {
			Jdbc.abort(open.connection());
		}
	}

	private void close() {
		LeaseTableConnection open = this.connection;
		this.connection = null;
		if (open != null) {
			open.close(this.id);
		}
	}

	@FunctionalInterface
	private interface Action {

		void run() throws SQLException;

	}

}
