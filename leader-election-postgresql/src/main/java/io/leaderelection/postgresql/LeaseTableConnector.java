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

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;

import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.LeaseTableSql.Tables;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/**
 * Opens connections to the lease table: checks whether the server and the table can hold
 * elections, and creates the table if that is configured.
 */
final class LeaseTableConnector {

	private static final Duration SHORTEST_OPENING_TIMEOUT = Duration.ofSeconds(5);

	private final ConnectionSource source;

	private final String table;

	private final boolean create;

	private final String applicationName;

	private final Duration timeout;

	private final BiFunction<Tables, ServerInspection, LeaseTableSql> statements;

	private final BiConsumer<DatabaseIdentity, LeaseTableSql> onOpen;

	private final Platform platform;

	private volatile @Nullable Opening opening;

	/**
	 * Create a new {@code LeaseTableConnector} instance.
	 * @param source opens the connections
	 * @param table the name of the table, with or without a schema
	 * @param create whether to create missing tables
	 * @param nodeId the id of the node
	 * @param timeout how long a statement may take
	 * @param statements creates the statements
	 * @param onOpen called with the database of every new connection
	 * @param platform the platform
	 */
	LeaseTableConnector(ConnectionSource source, String table, boolean create, String nodeId, Duration timeout,
			BiFunction<Tables, ServerInspection, LeaseTableSql> statements,
			BiConsumer<DatabaseIdentity, LeaseTableSql> onOpen, Platform platform) {
		this.source = source;
		this.table = table;
		this.create = create;
		this.applicationName = LeaseTableSession.NAMES.of(nodeId);
		this.timeout = timeout;
		this.statements = statements;
		this.onOpen = onOpen;
		this.platform = platform;
	}

	Duration timeout() {
		return this.timeout;
	}

	LeaseTableConnection connect() throws SQLException, SessionException {
		Connection connection = null;
		long deadline = this.platform.nanoTime() + openingTimeout().toNanos();
		try {
			this.opening = new Opening(Thread.currentThread(), null, deadline);
			connection = this.source.connect(driverSettings());
			this.opening = new Opening(Thread.currentThread(), connection, deadline);
			return open(connection);
		}
		catch (SQLException | SessionException | RuntimeException | Error ex) {
			abort(connection);
			if (ex instanceof SQLException failure) {
				throw AdvisoryLockStore.translate(failure, connection == null);
			}
			throw ex;
		}
		finally {
			this.opening = null;
		}
	}

	/**
	 * Stop opening a connection that takes too long to open. May be called by any thread;
	 * never blocks.
	 */
	void endOverdue() {
		Opening current = this.opening;
		if (current != null && current.deadline() - this.platform.nanoTime() <= 0) {
			current.end();
		}
	}

	/**
	 * Opening a connection takes about a dozen round trips.
	 */
	private Duration openingTimeout() {
		Duration twice = this.timeout.multipliedBy(2);
		return (twice.compareTo(SHORTEST_OPENING_TIMEOUT) > 0) ? twice : SHORTEST_OPENING_TIMEOUT;
	}

	private static void abort(@Nullable Connection connection) {
		if (connection != null) {
			Jdbc.abort(connection);
		}
	}

	private LeaseTableConnection open(Connection connection) throws SQLException, SessionException {
		PGConnection pgConnection = AdvisoryLockStore.unwrap(connection);
		connection.setAutoCommit(true);
		ServerInspection server = ServerInspection.inspect(connection, AdvisoryLockSql.TIMELINES);
		server.check(pgConnection.getBackendPID(), true, true);
		LeaseTableShape tables = shape(connection, server);
		LeaseTableSql sql = this.statements.apply(tables.tables(), server);
		DatabaseIdentity identity = DatabaseIdentity.of(connection, server);
		boolean direct = pgConnection.getBackendPID() == server.pid();
		if (direct) {
			Jdbc.query(connection, LeaseTableSql.listen(), (row) -> true);
		}
		connection.setNetworkTimeout(Runnable::run, (int) this.timeout.toMillis());
		this.onOpen.accept(identity, sql);
		return new LeaseTableConnection(connection, sql, direct ? pgConnection : null, this.timeout, this.platform);
	}

	private LeaseTableShape shape(Connection connection, ServerInspection server)
			throws SQLException, SessionException {
		LeaseTableShape tables = inspect(connection);
		if (tables == null && this.create) {
			create(connection);
			tables = inspect(connection);
		}
		if (tables == null) {
			throw new UnusableStoreException(
					"One of the tables " + Tables.named(this.table)
							+ ", which leader-election.store=table needs, does not "
							+ "exist in a schema that the role can use.",
					"Run the script io/leaderelection/postgresql/schema-postgresql.sql, which is in the jar of leader-election-postgresql, for instance as a "
							+ "migration of Flyway or Liquibase, or set leader-election.initialize-schema=always. If the "
							+ "table has another name or schema, set leader-election.table-name.",
					null);
		}
		tables.check(server);
		return tables;
	}

	private @Nullable LeaseTableShape inspect(Connection connection) throws SQLException {
		return LeaseTableShape.find(connection, LeaseTableSql.inspect(this.table));
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
			if (inspect(connection) == null) {
				throw new UnusableStoreException(
						"The table \"" + this.table + "\" for leader election could not be created: "
								+ Jdbc.summary(ex),
						"Create it with the script io/leaderelection/postgresql/schema-postgresql.sql as a role that may do so, or "
								+ "grant CREATE on the schema, which must exist.",
						ex);
			}
		}
	}

	/**
	 * Return the settings of pgjdbc, in seconds, that apply until the connection is open.
	 * No setting belongs to a session on the server.
	 */
	private Properties driverSettings() {
		Properties properties = new Properties();
		properties.setProperty("ApplicationName", this.applicationName);
		String seconds = Long.toString(openingTimeout().plusMillis(999).toSeconds());
		properties.setProperty("connectTimeout", seconds);
		properties.setProperty("loginTimeout", seconds);
		properties.setProperty("socketTimeout", seconds);
		properties.setProperty("cancelSignalTimeout", "2");
		properties.setProperty("tcpKeepAlive", "true");
		properties.setProperty("preferQueryMode", "simple");
		properties.setProperty("prepareThreshold", "0");
		return properties;
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
			case "42501" -> AdvisoryLockStore.translate(ex, false);
			default -> new SessionException("The lease table could not be used: " + Jdbc.summary(ex), ex);
		};
	}

	/**
	 * A connection that is being opened.
	 *
	 * @param thread the thread that waits for it
	 * @param connection the connection, once the source has returned it
	 * @param deadline when it takes too long
	 */
	private record Opening(Thread thread, @Nullable Connection connection, long deadline) {

		void end() {
			if (this.connection != null) {
				Jdbc.abort(this.connection);
			}
			else {
				this.thread.interrupt();
			}
		}

	}

}
