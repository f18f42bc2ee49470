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

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;

/**
 * A request that a leader ends its term: a session that shares the request key of the
 * term as long as the term lasts, but not for ever. Its statements begin with a comment,
 * which the leader finds in {@code pg_stat_activity}. It polls with statements that do
 * not wait, since the server may log waits.
 */
class ResignationRequest {

	private static final long POLL_INTERVAL = TimeUnit.MILLISECONDS.toNanos(50);

	/** A leader that looks for requests holds their key for a moment. */
	private static final long LONGEST_SHARE = TimeUnit.SECONDS.toNanos(1);

	/** The server ends a session that is silent for this long. */
	private static final long IDLE_MILLIS = 10_000;

	/** The server shows so many characters of a message and some more. */
	private static final int LONGEST_COMMENT = 800;

	private static final String CAUSE = "cause";

	private final Connection connection;

	private final ElectionKeys keys;

	/** The name of the session, by which the leader recognizes the node. */
	private final String name;

	private final Term term;

	private final String comment;

	private final Platform platform;

	ResignationRequest(Connection connection, ElectionKeys keys, String name, Term term, String cause,
			Platform platform) {
		this.platform = platform;
		this.connection = connection;
		this.keys = keys;
		this.name = name;
		this.term = term;
		this.comment = comment(cause);
	}

	private static String comment(String cause) {
		String comment = SessionComment.of(Map.of(CAUSE, cause));
		return (comment.length() <= LONGEST_COMMENT) ? comment : comment(cause.substring(0, cause.length() / 2));
	}

	/**
	 * Run until the term has ended or the limit has passed.
	 */
	void run(Duration limit) throws SQLException {
		long deadline = this.platform.nanoTime() + limit.toNanos();
		Jdbc.query(this.connection, settings(), (row) -> {
			if (row.getBoolean("in_recovery")) {
				throw new SQLException("The server is a standby");
			}
			return true;
		});
		long shareUntil = this.platform.nanoTime() + LONGEST_SHARE;
		boolean shared = false;
		while (deadline - this.platform.nanoTime() > 0 && !Thread.interrupted()
				&& !Jdbc.query(this.connection, hasEnded(), (row) -> row.getBoolean(1))) {
			shared = shared || share();
			if (!shared && shareUntil - this.platform.nanoTime() <= 0) {
				throw new SQLException("Another session holds a lock of the request");
			}
			this.platform.park(this, POLL_INTERVAL);
		}
	}

	/**
	 * The server ends the session soon if this process stops. PostgreSQL's driver 42.7.5
	 * does not put the name into the startup message.
	 */
	String settings() {
		return """
				SELECT pg_catalog.pg_is_in_recovery() AS in_recovery,
				  pg_catalog.set_config('idle_session_timeout', '%1$s', false),
				  pg_catalog.set_config('statement_timeout', '%1$s', false),
				  pg_catalog.set_config('application_name', '%2$s', false)
				""".formatted(IDLE_MILLIS, this.name);
	}

	/**
	 * Share the key of the request, as a node, until the session ends.
	 * @return whether no other session prevents this
	 */
	boolean share() throws SQLException {
		return Jdbc.query(this.connection, request(), (row) -> row.getBoolean(1));
	}

	String request() {
		return """
				%sSELECT CASE WHEN pg_catalog.pg_try_advisory_lock_shared(%s, %s)
				  THEN pg_catalog.pg_try_advisory_lock_shared(%s, %s) ELSE false END
				""".formatted(this.comment, this.keys.observerClass(), ElectionKeys.OBSERVER, this.keys.requestClass(),
				termObject());
	}

	/**
	 * Return a query for whether the key of the term is free. Its share ends with the
	 * statement, and is no sign of a term.
	 */
	String hasEnded() {
		return "%sSELECT pg_catalog.pg_try_advisory_xact_lock_shared(%s, %s)".formatted(this.comment,
				this.keys.termClass(), termObject());
	}

	private int termObject() {
		return ElectionKeys.termObject(this.term.timeline(), this.term.transactionId());
	}

	/**
	 * Return the node and the cause of a request, as far as they can be read.
	 * @param row a row of {@link AdvisoryLockSql#nameSessions} for the session that
	 * requests
	 */
	static String describe(ResultSet row, SessionNames names) throws SQLException {
		String cause = SessionComment.values(row.getString("query")).get(CAUSE);
		String node = "node '" + names.nodeOf(String.valueOf(row.getString("application_name"))) + "'";
		return (cause != null) ? node + " (" + cause + ")" : node;
	}

}
