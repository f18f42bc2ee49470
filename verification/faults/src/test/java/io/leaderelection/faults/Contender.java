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

import java.io.IOException;
import java.net.Socket;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Objects;
import java.util.Properties;
import java.util.UUID;
import java.util.function.Consumer;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Held;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.testsupport.Daemon;
import org.jspecify.annotations.Nullable;

/**
 * A session that is a candidate until it wins, and then leads until it is ended.
 */
final class Contender {

	static final Duration TAKEOVER_DELAY = Duration.ofMillis(40);

	private static final Duration LEASE = Duration.ofSeconds(10);

	private static final Duration WAIT = Duration.ofMillis(250);

	private final String node;

	private final Consumer<Win> wins;

	private final StoreSession session;

	private final Connection connection;

	private final Socket socket;

	private final int pid;

	private volatile boolean ended;

	/** The term of another node that it is to observe. */
	private volatile @Nullable Term leading;

	/** The term that it had known for the takeover delay when its last wait began. */
	private volatile @Nullable Term settled;

	private @Nullable Term known;

	private long since;

	Contender(String node, ElectionKeys keys, ConnectionSource source, Consumer<Win> wins)
			throws SessionException, SQLException {
		this.node = node;
		this.wins = wins;
		CapturedConnection captured = new CapturedConnection(source);
		// The socket factory of this test hides the ends of the connection
		ElectionSettings settings = new ElectionSettings("endings", node, LEASE, TAKEOVER_DELAY, FastTakeover.TRUE,
				Duration.ofSeconds(1), true, ElectionSettings.STANDBYS, NodeProfile.DEFAULT,
				ElectionSettings.PRIORITY_HOLD);
		this.session = new AdvisoryLockStore(settings, keys, 0, true, captured, null).open();
		this.connection = captured.connection();
		this.socket = captured.socket();
		try (Statement statement = this.connection.createStatement();
				ResultSet row = statement.executeQuery("SELECT pg_catalog.pg_backend_pid()")) {
			row.next();
			// Behind a pooler, the driver knows another one
			this.pid = row.getInt(1);
		}
		this.session.becomeCandidate();
	}

	void start() {
		Daemon.start(this.node, this::contend);
	}

	void contend() {
		try {
			while (!this.ended) {
				boolean settles = this.known != null && System.nanoTime() - this.since > TAKEOVER_DELAY.toNanos();
				this.settled = settles ? this.known : null;
				Acquisition acquisition = this.session.acquire(WAIT);
				if (acquisition instanceof Won won) {
					this.wins.accept(new Win(this.node, won.term(), won.ending(), this.settled, System.nanoTime()));
					return;
				}
				observe(((Held) acquisition).view());
				Term other = this.leading;
				if (other != null && !other.equals(this.known)) {
					observe(this.session.observe());
				}
			}
		}
		catch (SessionException ex) {
			if (!this.ended) {
				throw new IllegalStateException(ex);
			}
		}
	}

	private void observe(View view) {
		Term term = (view.leader() != null) ? view.leader().term() : null;
		if (term != null && !term.equals(this.known)) {
			this.known = term;
			this.since = System.nanoTime();
		}
	}

	/**
	 * Have it observe a new leader now, and not at its usual pace.
	 */
	void notifyOf(Term term) {
		this.leading = term;
	}

	boolean isSettled(Term term) {
		return term.equals(this.settled);
	}

	String node() {
		return this.node;
	}

	int pid() {
		return this.pid;
	}

	StoreSession session() {
		return this.session;
	}

	void execute(String sql) throws SQLException {
		try (Statement statement = this.connection.createStatement()) {
			statement.execute(sql);
		}
	}

	void closeSocket() throws IOException {
		this.ended = true;
		this.socket.close();
	}

	void resetSocket() throws IOException {
		this.ended = true;
		this.socket.setSoLinger(true, 0);
		this.socket.close();
	}

	/**
	 * Free what is left of it.
	 */
	void end() {
		this.ended = true;
		this.session.abort();
	}

	/**
	 * What a contender has won.
	 *
	 * @param node its name
	 * @param term the term
	 * @param ending how it judges the end of its predecessor
	 * @param settled the term of the leader that it had known for the takeover delay
	 * @param reply when it had won
	 */
	record Win(String node, Term term, Ending ending, @Nullable Term settled, long reply) {

	}

	/**
	 * Opens a connection and keeps its socket, which the driver does not give away.
	 */
	private static final class CapturedConnection implements ConnectionSource {

		private final ConnectionSource source;

		private final String id = UUID.randomUUID().toString();

		private @Nullable Connection connection;

		CapturedConnection(ConnectionSource source) {
			this.source = source;
		}

		@Override
		public Connection connect(Properties driverSettings) throws SQLException {
			Properties settings = new Properties();
			settings.putAll(driverSettings);
			settings.setProperty("socketFactory", CapturedSockets.class.getName());
			settings.setProperty("socketFactoryArg", this.id);
			Connection connection = this.source.connect(settings);
			this.connection = connection;
			return connection;
		}

		Connection connection() {
			return Objects.requireNonNull(this.connection);
		}

		Socket socket() {
			return Objects.requireNonNull(CapturedSockets.remove(this.id));
		}

	}

}
