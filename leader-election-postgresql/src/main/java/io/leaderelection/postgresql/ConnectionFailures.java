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

import java.io.FileNotFoundException;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Set;
import java.util.regex.Pattern;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * Tells failures that require operator action from those that pass.
 */
public final class ConnectionFailures {

	/** The routines of PostgreSQL that verify the limits of a role and of a database. */
	private static final Set<String> OWN_LIMITS = Set.of("InitializeSessionUserId", "CheckMyDatabase");

	/** Invalid values, missing privileges, schemas and objects, a closed database. */
	private static final Pattern REJECTED = Pattern.compile("22|3F|42|55000");

	/**
	 * PgBouncer reports them as violations of the protocol, like a server it cannot
	 * reach.
	 */
	private static final Pattern REJECTED_BY_POOLER = Pattern
		.compile("(?i)no such (?:user|database)|password|authentication failed|auth failed|not allowed|pg_hba");

	private ConnectionFailures() {
	}

	/**
	 * Return the failure of a connection as that of the session that needed it. More
	 * failures require operator action if there was no connection yet.
	 * @param ex the failure
	 * @param login whether there was no connection yet
	 * @return the failure of the session
	 */
	public static SessionException translate(SQLException ex, boolean login) {
		String state = String.valueOf(ex.getSQLState());
		ServerErrorMessage answer = (ex instanceof PSQLException failure) ? failure.getServerErrorMessage() : null;
		if (state.equals("3D000")) {
			return new UnusableStoreException("The database for leader election does not exist: " + Jdbc.summary(ex),
					"Check leader-election.datasource.url, or, where it is not set, that of the application's "
							+ "DataSource.",
					ex);
		}
		if (state.startsWith("28") || (login && isRejected(ex, state, answer))) {
			return new UnusableStoreException(
					"The database rejected the login for leader election: " + Jdbc.summary(ex),
					"Check leader-election.datasource.username and password if leader-election.datasource.url is set, "
							+ "otherwise those of the application's DataSource, such as spring.datasource.username and "
							+ "password. Check also what the URL and the pool set on connections.",
					ex);
		}
		if (Jdbc.isDenied(ex)) {
			return new UnusableStoreException("The role for leader election lacks a privilege: " + Jdbc.summary(ex),
					"Grant it to that role, for instance with GRANT EXECUTE ON FUNCTION, GRANT USAGE ON SCHEMA or GRANT "
							+ "CONNECT ON DATABASE. The documentation (docs/operations/security.md) lists all of them.",
					ex);
		}
		if (state.equals("53300")) {
			// The server's words for its own limit vary
			boolean own = answer != null && OWN_LIMITS.contains(String.valueOf(answer.getRoutine()));
			return new SessionException("The database for leader election has no free connection (SQLSTATE 53300)"
					+ (own ? ": " + Jdbc.summary(ex) : ""), ex);
		}
		return new SessionException("The database for leader election cannot be reached: " + Jdbc.summary(ex), ex);
	}

	/**
	 * Return whether a login fails until an operator changes something: the driver has no
	 * password or cannot verify the server, a pooler does not know the user, the role may
	 * not connect, or a setting of the connection is wrong.
	 */
	private static boolean isRejected(SQLException ex, String state, @Nullable ServerErrorMessage answer) {
		return switch (state) {
			case "08004" -> answer == null;
			case "08006" -> ex instanceof PSQLException && answer == null && !isNetworkFailure(ex);
			case "08P01" -> answer != null && REJECTED_BY_POOLER.matcher(String.valueOf(answer.getMessage())).find();
			default -> REJECTED.matcher(state).lookingAt();
		};
	}

	private static boolean isNetworkFailure(Throwable failure) {
		Throwable cause = failure.getCause();
		return (cause != null) ? isNetworkFailure(cause)
				: failure instanceof IOException && !(failure instanceof FileNotFoundException);
	}

	/**
	 * Return the connection of the driver behind a connection.
	 * @param connection the connection
	 * @return the connection of the driver
	 * @throws SQLException if it cannot be determined
	 * @throws UnusableStoreException if it is one of another driver
	 */
	public static PGConnection unwrap(Connection connection) throws SQLException, UnusableStoreException {
		if (!Jdbc.isPostgreSql(connection) || !connection.isWrapperFor(PGConnection.class)) {
			throw new UnusableStoreException(
					"The connection for leader election is not a connection of the PostgreSQL JDBC driver of this "
							+ "application, but " + connection.getClass().getName() + " of "
							+ connection.getClass().getClassLoader(),
					"Point leader-election.datasource.url at a PostgreSQL server with a URL of the form "
							+ "jdbc:postgresql://host/database. If the driver is that of a container, set username and "
							+ "password as well, or keep org.postgresql:postgresql in one place only.",
					null);
		}
		return connection.unwrap(PGConnection.class);
	}

}
