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

import java.net.Socket;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.ConnectionFailures;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.ServerInspection;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * Opens sessions on PostgreSQL. Checks whether the server can hold elections, and applies
 * all settings before the session is used.
 */
public class AdvisoryLockStore implements ElectionStore {

	private static final Log logger = LogFactory.getLog(AdvisoryLockStore.class);

	private static final Duration READ_MARGIN = Duration.ofSeconds(2);

	private final ElectionSettings settings;

	private final ElectionKeys keys;

	private final int termEpoch;

	private final boolean allowSessionPooler;

	private final ConnectionSource source;

	private final @Nullable TableRow row;

	private final Platform platform;

	private final SessionNames names;

	private final AdvisoryLockFence fence;

	private volatile @Nullable Connection opening;

	/** Set by the thread that opens sessions. */
	private volatile @Nullable Watcher watcher;

	// Confined to the thread that opens sessions

	/** Whether the last observation was made on a connection of the pool. */
	private boolean poolUsed;

	/** Whether the current observation is given up: an interrupt may come later. */
	private volatile boolean abandoned;

	private boolean socketsUnknown;

	private @Nullable Socket socket;

	/**
	 * Create a new {@code AdvisoryLockStore} instance.
	 * @param settings the settings of the election
	 * @param keys the keys of the election
	 * @param termEpoch the epoch of its terms
	 * @param allowSessionPooler whether a pooler in session mode may be in between
	 * @param source opens the connections
	 * @param row where a node with the other store would hold its lease: while it does,
	 * sessions are no candidates
	 */
	public AdvisoryLockStore(ElectionSettings settings, ElectionKeys keys, int termEpoch, boolean allowSessionPooler,
			ConnectionSource source, @Nullable TableRow row) {
		this(settings, keys, termEpoch, allowSessionPooler, source, row, Platform.SYSTEM);
	}

	AdvisoryLockStore(ElectionSettings settings, ElectionKeys keys, int termEpoch, boolean allowSessionPooler,
			ConnectionSource source, @Nullable TableRow row, Platform platform) {
		this.row = row;
		this.platform = platform;
		this.settings = settings;
		this.keys = keys;
		this.termEpoch = termEpoch;
		this.allowSessionPooler = allowSessionPooler;
		this.source = source;
		this.names = new SessionNames(settings.election());
		this.fence = new AdvisoryLockFence(keys, settings.lease());
	}

	AdvisoryLockSql sql(ServerInspection server) {
		return new AdvisoryLockSql(this.keys, server, SessionComment.of(this.settings.profile().metadata()));
	}

	String timelines() {
		return ServerInspection.TIMELINES;
	}

	@Override
	public boolean canWatch() {
		return true;
	}

	@Override
	public @Nullable Watch watch(boolean candidate) throws SessionException {
		this.abandoned = false;
		Watcher known = this.watcher;
		Watch watch = (known != null) ? known.watchByPool() : null;
		if (this.abandoned || Thread.currentThread().isInterrupted()) {
			throw new SessionException("Interrupted while observing the election", null);
		}
		// If the server is slow, connections of all nodes would make it slower
		boolean failed = known != null && known.hasFailed() && this.poolUsed;
		this.poolUsed = watch != null;
		return (watch != null || failed) ? watch : connect((connection) -> watchOnce(connection, candidate));
	}

	private Watch watchOnce(Connection connection, boolean candidate) throws SQLException, SessionException {
		ServerInspection server = null;
		Watcher known = this.watcher;
		Watch watch = (known != null) ? known.watch(connection) : null;
		if (watch == null) {
			// The first time, or the database has been replaced
			server = inspect(connection);
			known = watcher(connection, server);
			watch = known.watch(connection);
			this.watcher = (watch != null) ? known : null;
		}
		if (watch == null) {
			throw new SessionException("The database for leader election is being replaced", null);
		}
		if (candidate && watch.open()) {
			return new Watch(watch.view(), true, open(connection, (server != null) ? server : inspect(connection)));
		}
		connection.close();
		return watch;
	}

	private ServerInspection inspect(Connection connection) throws SQLException, SessionException {
		PGConnection pgConnection = ConnectionFailures.unwrap(connection);
		ServerInspection server = ServerInspection.inspect(connection, timelines());
		server.check(pgConnection.getBackendPID(), this.allowSessionPooler, false);
		return server;
	}

	private Watcher watcher(Connection connection, ServerInspection server) throws SQLException {
		DatabaseIdentity identity = DatabaseIdentity.of(connection, server);
		fence().heldOn(identity);
		return new Watcher(this.source, sql(server), identity, this.names, this.termEpoch, seats(), this.platform);
	}

	private List<Integer> seats() {
		return ElectionKeys.seats(this.settings.standbys(), this.settings.profile().priority());
	}

	@Override
	public StoreSession open() throws SessionException {
		this.poolUsed = false;
		return connect((connection) -> open(connection, inspect(connection)));
	}

	@Override
	public void requestResignation(Term term, String cause, Duration limit) throws SessionException {
		connect(() -> this.source.connect(driverSettings()), (connection) -> {
			newRequest(connection, term, cause).run(limit);
			connection.close();
			return true;
		});
	}

	ResignationRequest newRequest(Connection connection, Term term, String cause) {
		return new ResignationRequest(connection, this.keys, applicationName(), term, cause, this.platform);
	}

	private <T> T connect(Use<T> use) throws SessionException {
		try {
			return connect(() -> this.opening = openConnection(), use);
		}
		finally {
			this.opening = null;
		}
	}

	/**
	 * Use a new connection, which is abandoned if that fails. Called by any thread.
	 */
	private static <T> T connect(Opener opener, Use<T> use) throws SessionException {
		Connection connection = null;
		try {
			connection = opener.open();
			connection.setAutoCommit(true);
			return use.apply(connection);
		}
		catch (SQLException ex) {
			abandon(connection);
			throw ConnectionFailures.translate(ex, connection == null);
		}
		catch (SessionException | RuntimeException | Error ex) {
			abandon(connection);
			throw ex;
		}
	}

	/**
	 * Open a connection, and note its socket.
	 */
	private Connection openConnection() throws SQLException {
		this.socket = null;
		if (this.socketsUnknown || this.settings.fastTakeover() != FastTakeover.AUTO) {
			return this.source.connect(driverSettings());
		}
		try (SessionSockets.Opening sockets = new SessionSockets.Opening()) {
			Connection connection = this.source.connect(sockets.addTo(driverSettings()));
			this.socket = sockets.socket();
			return connection;
		}
		catch (SQLException ex) {
			if (!SessionSockets.Opening.isCauseOf(ex)) {
				throw ex;
			}
			logger.debug("The driver cannot create sockets here, so takeovers are not fast", ex);
			this.socketsUnknown = true;
			return this.source.connect(driverSettings());
		}
	}

	@Override
	public void abandon() {
		this.abandoned = true;
		abandon(this.opening);
		Watcher known = this.watcher;
		if (known != null) {
			known.abandon();
		}
	}

	@Override
	public Description describe() {
		return new Description("advisory-lock", (this.row != null) ? this.row.key() : null, this.keys.lockId(), null,
				this.source.describe());
	}

	@Override
	public AdvisoryLockFence fence() {
		return this.fence;
	}

	private static void abandon(@Nullable Connection connection) {
		if (connection != null) {
			Jdbc.abort(connection);
		}
	}

	private StoreSession open(Connection connection, ServerInspection server) throws SQLException, SessionException {
		PGConnection pgConnection = ConnectionFailures.unwrap(connection);
		String leaseHolder = findLeaseHolder(connection);
		long lease = this.settings.lease().toMillis();
		long wait = server.longestWaitMillis();
		String token = UUID.randomUUID().toString();
		boolean pooled = pgConnection.getBackendPID() != server.pid();
		AdvisoryLockSql sql = sql(server);
		record Applied(SessionIdentity identity, @Nullable SlowTakeover slowTakeover) {
		}
		Map<String, String> sessionSettings = sessionSettings(lease, wait, token);
		sessionSettings.putAll(sql.acquiring());
		Applied applied = Jdbc.query(connection, sql.settings(sessionSettings), (row) -> {
			String actual = row.getString("token");
			if (token.equals(actual) && row.getLong("lease") != lease) {
				throw new SQLException("The server does not accept idle_session_timeout=" + lease);
			}
			return new Applied(
					new SessionIdentity(row.getInt("pid"), actual, row.getString("idle_session_timeout"),
							row.getString("idle_in_transaction")),
					SlowTakeover.of(this.settings, server, pooled, row, this.socket));
		});
		SessionIdentity identity = applied.identity();
		if (!token.equals(identity.token()) || identity.pid() != server.pid()) {
			throw new UnusableStoreException(
					"The connection pooler between this application and PostgreSQL gives one session of the server to "
							+ "several nodes: it runs in transaction mode, or does not reset sessions between clients.",
					"Point leader-election.datasource.url at the server itself (and set leader-election.datasource.username "
							+ "and password), or at a pool in session mode that resets "
							+ "its connections (PgBouncer: pool_mode=session, server_reset_query=DISCARD ALL). "
							+ "Alternatively set leader-election.store=table, which works in transaction mode.",
					null);
		}
		fence().heldOn(DatabaseIdentity.of(connection, server));
		AdvisoryLockSession session = new AdvisoryLockSession(connection, pgConnection, identity, sql, this.names,
				this.settings.nodeId(), this.termEpoch, wait, lease, pooled, this.settings.takeoverDelay(),
				applied.slowTakeover(), seats(), this.settings.profile(), leaseHolder, this.platform);
		// The bound for each read of the session: a later answer is of no use
		connection.setNetworkTimeout(Runnable::run, (int) this.settings.lease().plus(READ_MARGIN).toMillis());
		return session;
	}

	/**
	 * Return the query for a node that holds the lease of the other store, if there is a
	 * lease table. The name is resolved with the search path of the role.
	 */
	private @Nullable String findLeaseHolder(Connection connection) throws SQLException {
		TableRow configured = this.row;
		if (configured == null || !this.settings.candidate()) {
			return null;
		}
		try {
			LeaseTableShape found = LeaseTableShape.find(connection,
					LeaseTableShape.inspectBriefly(configured.table()));
			return (found != null && found.isReadable()) ? LeaseTableShape.activeNode(found.tables(), configured.key())
					: null;
		}
		catch (SQLException ex) {
			if (Jdbc.isBroken(connection, ex)) {
				throw ex;
			}
			logger.debug("Cannot determine whether there is a lease table", ex);
			return null;
		}
	}

	private String applicationName() {
		return this.names.of(this.settings.nodeId());
	}

	private Properties driverSettings() {
		Properties properties = ConnectionSource.driverSettings(applicationName(), 5, 10);
		// The name of the session in the startup message, and not by a statement
		properties.setProperty("assumeMinServerVersion", "9.0");
		return properties;
	}

	/**
	 * Return the settings of the session. The idle timeouts implement the lease: the
	 * server ends a silent session (PostgreSQL manual, section "Statement Behavior").
	 * Statements wait only for locks, bounded by {@code lock_timeout};
	 * {@code statement_timeout} is the bound for a server that hangs, far above any wait.
	 * {@code transaction_timeout} is disabled, since it would end the session during a
	 * wait. With {@code synchronous_commit=off}, terms could repeat after a crash; with
	 * {@code on}, a missing standby would delay them. The timeouts of the socket must not
	 * end a session before its lease does.
	 */
	private Map<String, String> sessionSettings(long lease, long wait, String token) {
		long leaseSeconds = (lease + 999) / 1000;
		Map<String, String> settings = new LinkedHashMap<>();
		settings.put("idle_session_timeout", Long.toString(lease));
		settings.put("idle_in_transaction_session_timeout", Long.toString(lease));
		settings.put("statement_timeout", Long.toString(lease + 2 * ServerInspection.LONGEST_WAIT));
		settings.put("transaction_timeout", "0");
		settings.put("lock_timeout", Long.toString(wait));
		settings.put("synchronous_commit", "local");
		settings.put("default_transaction_read_only", "off");
		settings.put("default_transaction_isolation", "read committed");
		settings.put("default_transaction_deferrable", "off");
		settings.put("search_path", "pg_catalog, pg_temp");
		// All counters of the acquiring statement are from one reading
		settings.put("stats_fetch_consistency", "cache");
		settings.put("tcp_user_timeout", Long.toString(lease));
		settings.put("tcp_keepalives_idle", Long.toString(leaseSeconds));
		settings.put("tcp_keepalives_interval", "1");
		settings.put("tcp_keepalives_count", "3");
		settings.put("application_name", applicationName());
		settings.put(AdvisoryLockSql.TOKEN, token);
		return settings;
	}

	/**
	 * The row of an election in a lease table.
	 *
	 * @param table the name of the table
	 * @param key the key of the row
	 */
	public record TableRow(String table, String key) {
	}

	/**
	 * Opens a connection.
	 */
	@FunctionalInterface
	private interface Opener {

		Connection open() throws SQLException;

	}

	/**
	 * Uses a connection.
	 *
	 * @param <T> the result
	 */
	@FunctionalInterface
	private interface Use<T> {

		T apply(Connection connection) throws SQLException, SessionException;

	}

}
