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
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.engine.Platform;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * JDBC operations of this package.
 */
public final class Jdbc {

	private static final Log logger = LogFactory.getLog(Jdbc.class);

	private Jdbc() {
	}

	/**
	 * Return whether a connection leads to PostgreSQL, without a round trip. Its class
	 * does not say that, since the driver may be that of another class loader.
	 * <p>
	 * Only a method that the driver does not implement is a sign of another database. Any
	 * other failure may be that of a connection to PostgreSQL, whose transaction must not
	 * commit without a fence.
	 * @param connection the connection
	 * @return whether it leads to PostgreSQL
	 * @throws SQLException if this cannot be determined
	 */
	public static boolean isPostgreSql(Connection connection) throws SQLException {
		try {
			DatabaseMetaData metaData = connection.getMetaData();
			// The mocks of applications have none
			String product = (metaData != null) ? metaData.getDatabaseProductName() : null;
			// The latter by the driver of that distribution
			return "PostgreSQL".equals(product) || "EnterpriseDB".equals(product);
		}
		catch (SQLFeatureNotSupportedException | UnsupportedOperationException | AbstractMethodError ex) {
			logger.debug("The driver does not name its database, so this is not PostgreSQL", ex);
			return false;
		}
	}

	/**
	 * Run one or more statements, the last of which returns one row.
	 * @param <T> the type to which a row is mapped
	 * @param connection the connection
	 * @param text the statements
	 * @param mapper maps the row
	 * @return what the row is mapped to
	 * @throws SQLException if a statement fails, or the last one returns another number
	 * of rows
	 */
	public static <T> T query(Connection connection, String text, RowMapper<T> mapper) throws SQLException {
		List<T> rows = rows(connection, text, mapper);
		if (rows.size() != 1) {
			throw new SQLException("The statement returned " + rows.size() + " rows");
		}
		return rows.get(0);
	}

	private static void execute(Statement statement, String text) throws SQLException {
		boolean rows = statement.execute(text);
		while (!rows && statement.getUpdateCount() != -1) {
			rows = statement.getMoreResults();
		}
	}

	/**
	 * Run one or more statements, and return all rows of the last one.
	 * @param <T> the type to which a row is mapped
	 * @param connection the connection
	 * @param text the statements
	 * @param mapper maps a row
	 * @return what the rows are mapped to
	 * @throws SQLException if a statement fails
	 */
	public static <T> List<T> rows(Connection connection, String text, RowMapper<T> mapper) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			ResultSet last = null;
			boolean rows = statement.execute(text);
			while (rows || statement.getUpdateCount() != -1) {
				last = rows ? statement.getResultSet() : last;
				rows = statement.getMoreResults(Statement.KEEP_CURRENT_RESULT);
			}
			List<T> result = new ArrayList<>();
			while (last != null && last.next()) {
				result.add(mapper.map(last));
			}
			return result;
		}
	}

	private static <T> T row(Statement statement, RowMapper<T> mapper) throws SQLException {
		try (ResultSet result = statement.getResultSet()) {
			if (result == null || !result.next()) {
				throw new SQLException("The statement returned no row");
			}
			return mapper.map(result);
		}
	}

	/**
	 * Run one or more statements that answer by a message.
	 * @param connection the connection
	 * @param text the statements
	 * @param prefix the prefix of the message
	 * @return what follows the prefix, or {@code null} without a message
	 * @throws SQLException if a statement fails
	 */
	public static @Nullable String answer(Connection connection, String text, String prefix) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			execute(statement, text);
			for (SQLWarning each = statement.getWarnings(); each != null; each = each.getNextWarning()) {
				String message = String.valueOf(each.getMessage());
				if (message.startsWith(prefix)) {
					return message.substring(prefix.length());
				}
			}
			return null;
		}
	}

	/**
	 * Return the first line of the message, without the position in the statement.
	 * @param ex the failure
	 * @return the first line
	 */
	public static String summary(SQLException ex) {
		return String.valueOf(ex.getMessage()).lines().findFirst().orElse("");
	}

	/**
	 * Throw the failure of a statement that failed for an external reason: its session
	 * has ended or it was cancelled.
	 * @param connection the connection of the statement
	 * @param ex the failure
	 * @throws SQLException the failure, for an external reason
	 */
	public static void throwIfInterrupted(Connection connection, SQLException ex) throws SQLException {
		String state = String.valueOf(ex.getSQLState());
		if (connection.isClosed() || state.startsWith("08") || state.startsWith("57")) {
			throw ex;
		}
	}

	/**
	 * Return whether a statement failed for lack of a privilege. The server logs each
	 * such failure as an error.
	 * @param ex the failure
	 * @return whether a privilege was missing
	 */
	public static boolean isDenied(Exception ex) {
		return ex instanceof SQLException failure && "42501".equals(failure.getSQLState());
	}

	/**
	 * Return whether a statement failed because its session has ended.
	 * @param connection the connection of the statement
	 * @param ex the failure
	 * @return whether the session has ended
	 */
	public static boolean isBroken(Connection connection, SQLException ex) {
		String state = String.valueOf(ex.getSQLState());
		return isClosed(connection) || state.startsWith("08") || state.startsWith("57P");
	}

	private static boolean isClosed(Connection connection) {
		try {
			return connection.isClosed();
		}
		catch (SQLException ex) {
			logger.debug("The state of the connection is unknown", ex);
			return true;
		}
	}

	/**
	 * End a connection at once. Never blocks.
	 * @param connection the connection
	 */
	public static void abort(Connection connection) {
		try {
			connection.abort(Jdbc::runAside);
		}
		catch (SQLException ex) {
			logger.debug("The connection could not be aborted; the server ends it after the lease", ex);
		}
	}

	private static void runAside(Runnable command) {
		// Not on this thread, even if no thread can be created: closing a socket with TLS
		// may block. The watchdog retries
		Platform.SYSTEM.newThread("abort", command).start();
	}

	/**
	 * Return the description of the session of a row.
	 * @param row the row, with its process id and the names of its application and role
	 * @return the description
	 * @throws SQLException if the row cannot be read
	 */
	public static String describeSession(ResultSet row) throws SQLException {
		return "session with pid " + row.getInt("pid") + " ('" + printable(row.getString("application_name"))
				+ "', role '" + printable(row.getString("role")) + "')";
	}

	private static String printable(@Nullable String name) {
		return (name != null) ? name.replaceAll("\\p{Cntrl}", "?") : "";
	}

	/**
	 * Maps a row.
	 *
	 * @param <T> the type to which it is mapped
	 */
	@FunctionalInterface
	public interface RowMapper<T> {

		T map(ResultSet row) throws SQLException;

	}

}
