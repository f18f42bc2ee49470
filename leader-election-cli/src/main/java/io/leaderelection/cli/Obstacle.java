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

package io.leaderelection.cli;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.Set;
import java.util.regex.Pattern;

import org.jspecify.annotations.Nullable;

/**
 * What prevents the verification, but does not prove that elections do not hold.
 */
enum Obstacle {

	/**
	 * The connection was lost: exceptions of connections, and interventions of operators.
	 */
	CONNECTION_LOST("08.{3}|57P.{2}", "Run the command again when the server accepts connections."),

	/**
	 * The server, the database or the role has reached a limit.
	 */
	NO_RESOURCES("53.{3}",
			"The server, the database or the role has reached a limit, for instance of its connections. The command opens "
					+ "up to seven at a time. Free some or raise the limit, and run the command again."),

	/**
	 * A node has no session, since the server is full. Exceptions do not report this, but
	 * the status of the node.
	 */
	NO_SESSION("",
			"Verify that the server accepts seven connections of this role at a time, and run the command again."),

	/**
	 * Another transaction was in conflict.
	 */
	ROLLED_BACK("40.{3}", "Another transaction was in conflict with the command. Run it again."),

	/**
	 * Another session holds a lock for longer than {@code lock_timeout}.
	 */
	LOCKED("55P03",
			"Another session holds a lock. Run the command again when it has ended, and verify lock_timeout of the role and "
					+ "of the database."),

	/**
	 * A transaction was ended by {@code idle_in_transaction_session_timeout}.
	 */
	IDLE_TRANSACTION("25P03",
			"idle_in_transaction_session_timeout of the role, of the database or of a session of a pool has ended a "
					+ "transaction of the command, which is idle during the take-over. Run the command again with a longer "
					+ "timeout: twice the lease and more with the store table."),

	/**
	 * A statement was cancelled by {@code statement_timeout} or by another session.
	 */
	CANCELLED("57014",
			"A statement was cancelled, by a user or by statement_timeout of the role or of the database. Run the command "
					+ "again, with a longer timeout.");

	/** Part of the problem of a node that has no session. */
	static final String NO_FREE_CONNECTION = "SQLSTATE 53300";

	/**
	 * A preset of the role or of the database ends its sessions:
	 * {@code idle_session_timeout} and {@code transaction_timeout}.
	 */
	private static final Set<String> SESSION_TIMEOUTS = Set.of("57P05", "25P04");

	private final Pattern states;

	private final String action;

	Obstacle(String states, String action) {
		this.states = Pattern.compile(states);
		this.action = action;
	}

	/**
	 * Return what to do.
	 */
	String action() {
		return this.action;
	}

	/**
	 * Return the obstacle that the driver or a connection pool reports.
	 * @param cause an exception
	 * @return the obstacle, or {@code null} if there is none
	 */
	static @Nullable Obstacle of(@Nullable Throwable cause) {
		for (Throwable each = cause; each != null; each = each.getCause()) {
			Obstacle obstacle = (each instanceof SQLException sql) ? of(sql) : null;
			if (obstacle != null) {
				return obstacle;
			}
		}
		return null;
	}

	private static @Nullable Obstacle of(SQLException ex) {
		String state = ex.getSQLState();
		if (state == null) {
			// A connection pool without a free connection
			return (ex instanceof SQLTransientConnectionException) ? CONNECTION_LOST : null;
		}
		for (Obstacle obstacle : values()) {
			if (!isSessionTimeout(ex) && obstacle.states.matcher(state).matches()) {
				return obstacle;
			}
		}
		return null;
	}

	/**
	 * Return whether a preset of the role or of the database has ended the session.
	 */
	static boolean isSessionTimeout(SQLException ex) {
		return SESSION_TIMEOUTS.contains(String.valueOf(ex.getSQLState()));
	}

}
