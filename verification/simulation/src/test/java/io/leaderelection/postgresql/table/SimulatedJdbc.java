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

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

import io.leaderelection.simulation.SimulatedConnection;
import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * As much of a JDBC connection as the lease table needs, on a simulated connection. Each
 * text of a statement stands for a program. As with pgjdbc, a statement without an answer
 * ends the connection, and a connection that was lost is not closed before a statement
 * has failed.
 */
final class SimulatedJdbc implements InvocationHandler {

	private static final String CONNECTION_FAILURE = "08006";

	private static final int FOREVER = 1_000_000;

	private final SimulatedConnection connection;

	private final Programs programs;

	private boolean autoCommit;

	private int timeoutMillis;

	private boolean closed;

	private SimulatedJdbc(SimulatedConnection connection, Programs programs, boolean autoCommit, int timeoutMillis) {
		this.connection = connection;
		this.programs = programs;
		this.autoCommit = autoCommit;
		this.timeoutMillis = timeoutMillis;
	}

	/**
	 * Return a connection.
	 * @param timeoutMillis how long a statement may take, or 0 for any time
	 */
	static Connection connection(SimulatedConnection connection, Programs programs, boolean autoCommit,
			int timeoutMillis) {
		return proxy(Connection.class, PGConnection.class,
				new SimulatedJdbc(connection, programs, autoCommit, timeoutMillis));
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
			case "getNetworkTimeout" -> this.timeoutMillis;
			case "setNetworkTimeout" -> {
				this.timeoutMillis = (Integer) arguments[1];
				yield null;
			}
			case "isWrapperFor" -> true;
			case "unwrap" -> proxy;
			case "getBackendPID" -> this.connection.backendPid();
			case "getNotifications" -> receive((arguments != null) ? (Integer) arguments[0] : 0);
			case "isClosed" -> this.closed;
			case "isValid" -> !this.connection.isBroken();
			case "close" -> {
				this.closed = true;
				this.connection.close("closed");
				yield null;
			}
			case "abort" -> {
				this.closed = true;
				this.connection.abort();
				yield null;
			}
			default -> throw new UnsupportedOperationException(method.getName());
		};
	}

	private PGNotification[] receive(int millis) throws SQLException {
		try {
			return this.connection.takeNotices(millis * 1_000_000L)
				.stream()
				.map((notice) -> proxy(PGNotification.class, AutoCloseable.class, (data, method, none) -> notice))
				.toArray(PGNotification[]::new);
		}
		catch (BrokenException ex) {
			throw broken(ex);
		}
	}

	private Rows run(String text, List<Object> parameters) throws SQLException {
		long millis = (this.timeoutMillis != 0) ? this.timeoutMillis : FOREVER;
		try {
			return this.connection.request(this.programs.program(text, parameters, this.connection),
					millis * 1_000_000);
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
	 * Provides the program for which a text stands.
	 */
	@FunctionalInterface
	interface Programs {

		Statement<Rows> program(String text, List<Object> parameters, SimulatedConnection connection)
				throws SQLException;

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
				case "setString", "setLong" -> {
					this.parameters.add(arguments[1]);
					yield null;
				}
				case "execute", "executeQuery" -> {
					String text = (this.prepared != null) ? this.prepared : (String) arguments[0];
					// Verifies privileges, which all roles have here
					this.result = text.startsWith("EXPLAIN ") ? new Rows() : run(text, this.parameters);
					yield method.getName().equals("execute") ? true : resultSet();
				}
				case "getResultSet" -> resultSet();
				case "getMoreResults" -> false;
				case "getUpdateCount" -> -1;
				case "setQueryTimeout", "close" -> null;
				default -> throw new UnsupportedOperationException(method.getName());
			};
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
				case "getString" -> (value(arguments[0]) != null) ? String.valueOf(value(arguments[0])) : null;
				case "getDouble" -> number(arguments[0]).doubleValue();
				case "getLong" -> number(arguments[0]).longValue();
				case "getInt" -> number(arguments[0]).intValue();
				case "getBoolean" -> Boolean.TRUE.equals(value(arguments[0]));
				case "getObject" -> value(arguments[0]);
				case "getTimestamp", "close" -> null;
				default -> throw new UnsupportedOperationException(method.getName());
			};
		}

		private Number number(Object column) {
			Object value = value(column);
			return (value != null) ? (Number) value : 0;
		}

		private @Nullable Object value(Object column) {
			if (column instanceof Integer) {
				return this.row.values().iterator().next();
			}
			if (!this.row.containsKey((String) column)) {
				throw new IllegalArgumentException("No column '" + column + "' in " + this.row);
			}
			return this.row.get((String) column);
		}

	}

}
