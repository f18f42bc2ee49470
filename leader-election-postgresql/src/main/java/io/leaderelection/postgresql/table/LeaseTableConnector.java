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

package io.leaderelection.postgresql.table;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.function.BiConsumer;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.ConnectionFailures;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Others;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * Opens connections to the lease table: checks whether the server and the table can hold
 * elections, and creates the table if that is configured.
 */
final class LeaseTableConnector {

	private static final Log logger = LogFactory.getLog(LeaseTableConnector.class);

	private static final long SHORTEST_OPENING_SECONDS = 5;

	private final ConnectionSource source;

	private final String table;

	private final boolean create;

	private final String applicationName;

	private final Duration timeout;

	private final Statements statements;

	private final BiConsumer<DatabaseIdentity, LeaseTableSql> onOpen;

	private volatile @Nullable Connection opening;

	private volatile boolean pooled;

	private boolean warned;

	private @Nullable String reported;

	/**
	 * Create a new {@code LeaseTableConnector} instance.
	 * @param source opens the connections
	 * @param table the name of the table, with or without a schema
	 * @param create whether to create missing tables
	 * @param nodeId the id of the node
	 * @param timeout how long a statement may take
	 * @param statements creates the statements
	 * @param onOpen called with the database of every new connection
	 */
	LeaseTableConnector(ConnectionSource source, String table, boolean create, String nodeId, Duration timeout,
			Statements statements, BiConsumer<DatabaseIdentity, LeaseTableSql> onOpen) {
		this.source = source;
		this.table = table;
		this.create = create;
		this.applicationName = LeaseTableSession.NAMES.of(nodeId);
		this.timeout = timeout;
		this.statements = statements;
		this.onOpen = onOpen;
	}

	/**
	 * Return how long a statement may take.
	 */
	Duration timeout() {
		return this.timeout;
	}

	/**
	 * Return how long the driver may take for the opening of a connection.
	 */
	Duration openingTimeout() {
		return Duration
			.ofSeconds(Math.max(SHORTEST_OPENING_SECONDS, this.timeout.multipliedBy(2).plusMillis(999).toSeconds()));
	}

	/**
	 * Open a connection.
	 * @param wanted fails if the connection is no longer wanted: an abort may have come
	 * before there was one
	 */
	LeaseTableConnection connect(Wanted wanted) throws SQLException, SessionException {
		try {
			this.opening = this.source.connect(driverSettings());
			wanted.check();
			return open(this.opening);
		}
		catch (SQLException | SessionException | RuntimeException | Error ex) {
			abort();
			if (ex instanceof SQLException failure) {
				throw ConnectionFailures.translate(failure, this.opening == null);
			}
			throw ex;
		}
		finally {
			this.opening = null;
		}
	}

	/**
	 * End the connection that is being opened, if there is one. May be called by any
	 * thread; never blocks.
	 */
	void abort() {
		Connection current = this.opening;
		if (current != null) {
			Jdbc.abort(current);
		}
	}

	/**
	 * Opening a connection takes about a dozen round trips.
	 */
	private Properties driverSettings() {
		long seconds = openingTimeout().toSeconds();
		return ConnectionSource.driverSettings(this.applicationName, seconds, seconds);
	}

	private LeaseTableConnection open(Connection connection) throws SQLException, SessionException {
		PGConnection pgConnection = ConnectionFailures.unwrap(connection);
		connection.setAutoCommit(true);
		ServerInspection server = ServerInspection.inspect(connection, ServerInspection.TIMELINES);
		server.check(pgConnection.getBackendPID(), true, true);
		LeaseTableShape tables = shape(connection, server);
		boolean direct = !this.pooled && pgConnection.getBackendPID() == server.pid();
		LeaseTableSql sql = this.statements.create(tables.tables(), server, direct);
		DatabaseIdentity identity = DatabaseIdentity.of(connection, server);
		if (direct) {
			Jdbc.query(connection, sql.listen(), (row) -> true);
		}
		else if (this.source.isShared() && !this.warned) {
			this.warned = true;
			logger.warn("The elections connect through a pooler as the role of the application: if its transactions "
					+ "use all server connections of that pool for three quarters of the lease, leadership is lost. Set "
					+ "leader-election.datasource.username (and password) to a role of its own, or give the pool a "
					+ "reserve, in PgBouncer reserve_pool_size with a reserve_pool_timeout of half the lease at most");
		}
		connection.setNetworkTimeout(Runnable::run, (int) this.timeout.toMillis());
		this.onOpen.accept(identity, sql);
		return new LeaseTableConnection(connection, sql, direct ? pgConnection : null, () -> this.pooled = true);
	}

	private LeaseTableShape shape(Connection connection, ServerInspection server)
			throws SQLException, SessionException {
		LeaseTableShape tables = inspect(connection);
		if (tables != null) {
			tables.checkShape();
		}
		if (isMissing(tables) && this.create) {
			checkNoOthers(connection);
			create(connection);
			tables = inspect(connection);
		}
		if (tables == null || isMissing(tables)) {
			throw new UnusableStoreException(
					"Of the tables " + Tables.named(this.table) + ", which leader-election.store=table needs, "
							+ ((tables != null) ? "only " + tables.present() + " exist" : "none exists")
							+ " in the search path of the role, or in the schema that is set." + elsewhere(connection),
					"Run the script io/leaderelection/postgresql/schema-postgresql.sql, which is in the jar of leader-election-postgresql, for instance as a "
							+ "migration of Flyway or Liquibase, or set leader-election.initialize-schema=always. If the "
							+ "table has another name or schema, set leader-election.table-name.",
					null);
		}
		tables.check(server);
		String name = tables.tables().elections();
		if (!name.equals(this.reported)) {
			report(connection, name);
			this.reported = name;
		}
		return tables;
	}

	/**
	 * Runs after the creation: of two nodes that create tables in two schemas at the same
	 * time, one finds those of the other.
	 */
	private void report(Connection connection, String name) throws SQLException {
		Others others = LeaseTableShape.findOthers(connection, this.table);
		logger.info("Elections use leases in the table " + name
				+ (others.denied().isEmpty() ? "" : ", not in " + others.denied() + ", which this role may not use"));
		if (!others.usable().isEmpty()) {
			logger.warn("Tables of elections also exist in " + others.usable() + ". Nodes whose search path finds "
					+ "those, and not " + name + ", elect another leader. Set leader-election.table-name=" + name
					+ " on all nodes");
		}
	}

	private String elsewhere(Connection connection) throws SQLException {
		Others others = LeaseTableShape.findOthers(connection, this.table);
		return (others.usable().isEmpty() ? "" : " Elsewhere, there are " + others.usable() + ".")
				+ (others.denied().isEmpty() ? "" : " The role may not use " + others.denied() + ".");
	}

	/**
	 * Refuse to create tables beside others, which other nodes may use.
	 */
	private void checkNoOthers(Connection connection) throws SQLException, UnusableStoreException {
		Others others = LeaseTableShape.findOthers(connection, this.table);
		if (!others.usable().isEmpty() && others.schema() != null) {
			String own = others.schema() + "." + this.table;
			throw new UnusableStoreException(
					"The table " + own + " for leader election is not created, since this role may also use "
							+ others.usable() + ". Nodes with that table would elect another leader.",
					"If that table belongs to another environment or service, set leader-election.table-name=" + own
							+ " or create the tables with the script io/leaderelection/postgresql/schema-postgresql.sql. "
							+ "Otherwise set leader-election.table-name to that of the other nodes: " + others.usable()
							+ ". Set the same on all nodes.",
					null);
		}
	}

	private static boolean isMissing(@Nullable LeaseTableShape tables) {
		return tables == null || !tables.isComplete();
	}

	private @Nullable LeaseTableShape inspect(Connection connection) throws SQLException {
		return LeaseTableShape.find(connection, LeaseTableShape.inspect(this.table));
	}

	/**
	 * Nodes that start at the same time may create the tables at the same time, of which
	 * all but one may fail.
	 */
	private void create(Connection connection) throws SQLException, SessionException {
		try {
			Jdbc.rows(connection, "SET TRANSACTION READ WRITE; " + LeaseTableShape.script(this.table) + "; SELECT true",
					(row) -> true);
		}
		catch (SQLException ex) {
			Jdbc.throwIfInterrupted(connection, ex);
			if (isMissing(inspect(connection))) {
				throw new UnusableStoreException(
						"The table " + this.table + " for leader election could not be created: " + Jdbc.summary(ex),
						"Create it with the script io/leaderelection/postgresql/schema-postgresql.sql as a role that may do so, or "
								+ "grant CREATE on the schema, which must exist.",
						ex);
			}
		}
	}

	/**
	 * Return the failure of a statement as that of the session that needed it.
	 */
	static SessionException translate(SQLException ex) {
		return switch (String.valueOf(ex.getSQLState())) {
			case "25006", "0A000" -> new SessionException(
					"The server is a standby or read-only, on which no node can lead; searching for the primary", ex);
			case "55P03" ->
				new SessionException("The lease table is locked by another session: " + Jdbc.summary(ex), ex);
			case "42501" -> ConnectionFailures.translate(ex, false);
			default -> new SessionException("The lease table could not be used: " + Jdbc.summary(ex), ex);
		};
	}

	/** Creates the statements of a connection. */
	@FunctionalInterface
	interface Statements {

		LeaseTableSql create(Tables tables, ServerInspection server, boolean direct);

	}

	/** Fails if a connection is no longer wanted. */
	@FunctionalInterface
	interface Wanted {

		void check() throws SessionException;

	}

}
