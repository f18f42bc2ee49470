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
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
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

	private static final long MIN_BACKOFF = TimeUnit.MILLISECONDS.toNanos(25);

	private static final long MAX_BACKOFF = TimeUnit.MILLISECONDS.toNanos(400);

	private final LeaseTableRequests requests;

	private final LeaseTableElections elections;

	private final LeaseTableConnector connector;

	private final String node;

	private final LeaseTableRound round;

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
		this.round = new LeaseTableRound(requests, elections, node);
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
				this.requests.wake((session) -> notices.contains(open.sql().notice(session.key())));
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
				this.round.run(open, work);
				if (work.stream().anyMatch((request) -> request.renewal() != null)) {
					renewed();
				}
				if (open.isListening()) {
					// Otherwise the driver would keep all notices while this node leads
					receiveNotices();
				}
			}
		}
		catch (SQLException ex) {
			LeaseTableConnection open = this.connection;
			if (open == null || open.mustBeReplaced(ex)) {
				disconnect();
			}
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

	private void renewed() {
		this.failures = 0;
		if (this.broken) {
			this.broken = false;
			logger.info("Renewals continue on another connection (node '" + this.node + "')");
		}
	}

	private void failed(List<LeaseTableRequest<?>> work, SessionException failure) {
		boolean unusable = failure instanceof UnusableStoreException;
		List<LeaseTableRequest<?>> renewals = work.stream()
			.filter((request) -> request.renewal() != null && !request.isDone() && !unusable)
			.toList();
		if (!renewals.isEmpty()) {
			long next = this.requests.platform().nanoTime()
					+ Math.min(MAX_BACKOFF, MIN_BACKOFF << Math.min(this.failures++, 5));
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
	 * End a connection that may not work any longer.
	 */
	private void disconnect() {
		LeaseTableConnection open = this.connection;
		this.connection = null;
		if (open != null) {
			Jdbc.abort(open.connection());
		}
	}

	/**
	 * Close the connection, which can be ended by {@link #endOverdue} until it is closed.
	 */
	private void close() {
		LeaseTableConnection open = this.connection;
		if (open != null) {
			open.close(this.elections.id());
			this.connection = null;
		}
	}

}
