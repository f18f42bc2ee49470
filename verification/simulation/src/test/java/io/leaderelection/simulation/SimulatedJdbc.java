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

package io.leaderelection.simulation;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Properties;

import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * As much of a JDBC connection as elections need, on a simulated connection. Each text of
 * a statement stands for a program. As with pgjdbc, a statement without an answer ends
 * the connection, and a connection that was lost is not closed before a statement has
 * failed.
 */
public final class SimulatedJdbc implements InvocationHandler {

	private static final String CONNECTION_FAILURE = "08006";

	private static final int FOREVER = 1_000_000;

	private final Client client;

	private final Texts texts;

	private final boolean lent;

	private boolean autoCommit = true;

	private int timeoutMillis;

	private boolean closed;

	/** Whether a transaction block is open. */
	private boolean inBlock;

	private SimulatedJdbc(Client client, Texts texts, boolean lent, int timeoutMillis) {
		this.client = client;
		this.texts = texts;
		this.lent = lent;
		this.timeoutMillis = timeoutMillis;
	}

	/**
	 * Connect a node with the settings of a driver.
	 * @param pooled whether to a pooler in transaction mode
	 */
	public static Connection connect(Node node, Properties driverSettings, boolean pooled, Texts texts)
			throws SQLException {
		long seconds = Long.parseLong(driverSettings.getProperty("connectTimeout"));
		try {
			SimulatedConnection client = SimulatedConnection.open(node, driverSettings.getProperty("ApplicationName"),
					pooled, seconds * 1_000_000_000L);
			return connection(client, texts, 1000 * Integer.parseInt(driverSettings.getProperty("socketTimeout")));
		}
		catch (BrokenException ex) {
			throw new SQLException(ex.getMessage(), "08001", ex);
		}
		catch (InterruptedException ex) {
			throw new SQLException("Interrupted", "08001", ex);
		}
	}

	/**
	 * Return a connection.
	 * @param timeoutMillis how long a statement may take, or 0 for any time
	 */
	public static Connection connection(Client client, Texts texts, int timeoutMillis) {
		return proxy(new SimulatedJdbc(client, texts, false, timeoutMillis));
	}

	/**
	 * Return a connection of the application, in a transaction that has begun.
	 */
	static Connection transaction(Client client, Texts texts) {
		SimulatedJdbc jdbc = new SimulatedJdbc(client, texts, false, 0);
		jdbc.autoCommit = false;
		jdbc.inBlock = true;
		return proxy(jdbc);
	}

	/**
	 * Return a connection that a pool lends: its end is not that of the other one.
	 */
	public static Connection lend(Client client, Texts texts) {
		return proxy(new SimulatedJdbc(client, texts, true, 0));
	}

	/**
	 * Return the other side of a connection.
	 */
	public static Client client(Connection connection) {
		return ((SimulatedJdbc) Proxy.getInvocationHandler(connection)).client;
	}

	private static Connection proxy(SimulatedJdbc handler) {
		return proxy(Connection.class, PGConnection.class, handler);
	}

	private static <T> T proxy(Class<T> type, Class<?> other, InvocationHandler handler) {
		return type.cast(
				Proxy.newProxyInstance(SimulatedJdbc.class.getClassLoader(), new Class<?>[] { type, other }, handler));
	}

	@Override
	public @Nullable Object invoke(Object proxy, java.lang.reflect.Method method, Object @Nullable [] arguments)
			throws SQLException {
		return switch (method.getName()) {
			case "createStatement" -> proxy(java.sql.Statement.class, AutoCloseable.class, new StatementHandler(null));
			case "prepareStatement" ->
				proxy(PreparedStatement.class, AutoCloseable.class, new StatementHandler((String) arguments[0]));
			case "getMetaData" ->
				proxy(DatabaseMetaData.class, AutoCloseable.class, (data, name, none) -> "PostgreSQL");
			case "getAutoCommit" -> this.autoCommit;
			case "setAutoCommit" -> {
				this.autoCommit = (Boolean) arguments[0];
				yield null;
			}
			case "commit" -> endBlock(Statements.commit(null));
			case "rollback" -> endBlock(Statements.rollback());
			case "getNetworkTimeout" -> this.timeoutMillis;
			case "setNetworkTimeout" -> {
				this.timeoutMillis = (Integer) arguments[1];
				yield null;
			}
			case "isWrapperFor" -> true;
			case "unwrap" -> proxy;
			case "getBackendPID" -> this.client.backendPid();
			case "getNotifications" -> receive((arguments != null) ? (Integer) arguments[0] : 0);
			case "isClosed" -> this.closed;
			case "isValid" -> !this.client.isBroken();
			case "close" -> {
				this.closed = true;
				if (!this.lent) {
					this.client.close("closed");
				}
				yield null;
			}
			case "abort" -> {
				this.closed = true;
				this.client.abort();
				yield null;
			}
			default -> throw new UnsupportedOperationException(method.getName());
		};
	}

	private PGNotification[] receive(int millis) throws SQLException {
		try {
			return this.client.takeNotices(millis * 1_000_000L)
				.stream()
				.map((notice) -> proxy(PGNotification.class, AutoCloseable.class, (data, method, none) -> notice))
				.toArray(PGNotification[]::new);
		}
		catch (BrokenException ex) {
			throw broken(ex);
		}
	}

	private @Nullable Object endBlock(Statement<?> end) throws SQLException {
		if (this.inBlock) {
			this.inBlock = false;
			request(end);
		}
		return null;
	}

	private Rows run(String text, List<Object> parameters) throws SQLException {
		if (!this.autoCommit && !this.inBlock) {
			this.inBlock = true;
			request(Statements.begin());
		}
		return request(this.texts.program(text, parameters, this.client));
	}

	private <T> T request(Statement<T> statement) throws SQLException {
		long millis = (this.timeoutMillis != 0) ? this.timeoutMillis : FOREVER;
		try {
			return this.client.request(statement, millis * 1_000_000);
		}
		catch (SqlError ex) {
			throw failure(ex);
		}
		catch (BrokenException ex) {
			throw broken(ex);
		}
	}

	private static SQLException failure(SqlError ex) {
		String routine = (ex == SqlError.SERIALIZATION_FAILURE) ? "RExecLockRows\0" : "";
		SQLException failure = new PSQLException(
				new ServerErrorMessage("C" + ex.state() + "\0M" + ex.getMessage() + "\0" + routine + "\0"));
		failure.initCause(ex);
		return failure;
	}

	private SQLException broken(BrokenException ex) {
		this.closed = true;
		return new SQLException(ex.getMessage(), CONNECTION_FAILURE, ex);
	}

	/**
	 * The other side of a connection.
	 */
	public interface Client {

		/**
		 * Return the process id that the server has told the driver, or 0 if a pooler is
		 * between.
		 */
		int backendPid();

		/**
		 * Send a request and wait for its reply.
		 * @param timeout how long to wait, in nanoseconds
		 */
		<T> T request(Statement<T> statement, long timeout) throws SqlError, BrokenException;

		/**
		 * Return the notifications that have arrived, or wait for one.
		 * @param timeout how long to wait, in nanoseconds
		 */
		List<String> takeNotices(long timeout) throws BrokenException;

		/**
		 * The server sends a notification.
		 */
		void receive(String notice);

		boolean isBroken();

		void close(String reason);

		/**
		 * Close the connection on another thread.
		 */
		void abort();

	}

	/**
	 * A statement, prepared or not, which returns one result.
	 */
	private final class StatementHandler implements InvocationHandler {

		private final @Nullable String prepared;

		private final List<Object> parameters = new ArrayList<>();

		private Rows result = new Rows();

		StatementHandler(@Nullable String prepared) {
			this.prepared = prepared;
		}

		@Override
		public @Nullable Object invoke(Object proxy, java.lang.reflect.Method method, Object @Nullable [] arguments)
				throws SQLException {
			return switch (method.getName()) {
				case "setString", "setLong", "setInt" -> {
					this.parameters.add(arguments[1]);
					yield null;
				}
				case "execute", "executeQuery" -> {
					String text = (this.prepared != null) ? this.prepared : (String) arguments[0];
					// Verifies privileges, which all roles have here
					this.result = text.startsWith("EXPLAIN ") ? new Rows() : run(text, this.parameters);
					yield method.getName().equals("execute") ? hasRows() : resultSet();
				}
				case "getResultSet" -> resultSet();
				case "getMoreResults" -> false;
				case "getUpdateCount" -> -1;
				case "getWarnings" -> (this.result.message() != null) ? new SQLWarning(this.result.message()) : null;
				case "setQueryTimeout", "close" -> null;
				default -> throw new UnsupportedOperationException(method.getName());
			};
		}

		private boolean hasRows() {
			return this.result.message() == null || !this.result.list().isEmpty();
		}

		private ResultSet resultSet() {
			return proxy(ResultSet.class, AutoCloseable.class, new ResultHandler(this.result));
		}

	}

	/**
	 * The rows of an answer.
	 */
	private static final class ResultHandler implements InvocationHandler {

		private final Iterator<Map<String, @Nullable Object>> rows;

		private Map<String, @Nullable Object> row = Map.of();

		private @Nullable Object latest;

		ResultHandler(Rows rows) {
			this.rows = rows.list().iterator();
		}

		@Override
		public @Nullable Object invoke(Object proxy, java.lang.reflect.Method method, Object @Nullable [] arguments) {
			return switch (method.getName()) {
				case "next" -> {
					boolean more = this.rows.hasNext();
					this.row = more ? this.rows.next() : Map.of();
					yield more;
				}
				case "getString" -> {
					Object value = value(arguments[0]);
					yield (value != null) ? value.toString() : null;
				}
				case "getDouble" -> number(arguments[0]).doubleValue();
				case "getLong" -> number(arguments[0]).longValue();
				case "getInt" -> number(arguments[0]).intValue();
				case "getBoolean" -> Boolean.TRUE.equals(value(arguments[0]));
				case "getObject" -> value(arguments[0]);
				case "getMetaData" ->
					proxy(ResultSetMetaData.class, AutoCloseable.class, (data, name, column) -> (column != null)
							? List.copyOf(this.row.keySet()).get((Integer) column[0] - 1) : this.row.size());
				case "wasNull" -> this.latest == null;
				case "getTimestamp", "close" -> null;
				default -> throw new UnsupportedOperationException(method.getName());
			};
		}

		private Number number(Object column) {
			Object value = value(column);
			return (value != null) ? (Number) value : 0;
		}

		private @Nullable Object value(Object column) {
			if (column instanceof String name && !this.row.containsKey(name)) {
				throw new IllegalArgumentException("No column '" + column + "' in " + this.row);
			}
			this.latest = (column instanceof String name) ? this.row.get(name)
					: new ArrayList<>(this.row.values()).get((Integer) column - 1);
			return this.latest;
		}

	}

}
