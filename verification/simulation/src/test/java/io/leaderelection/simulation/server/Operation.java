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

package io.leaderelection.simulation.server;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;

import io.leaderelection.simulation.ComparedServer;

/**
 * What a session does in a comparison.
 *
 * @param kind what it does
 * @param session which one
 * @param key the key, if it needs one
 * @param mode the mode, if it needs one
 * @param scope the scope, if it needs one
 */
record Operation(Kind kind, int session, LockKey key, LockMode mode, LockScope scope) {

	/** Counts the sessions that the server has ended. */
	private static final String ENDINGS = """
			SELECT pg_stat_get_db_sessions_killed(oid), pg_stat_get_db_sessions_fatal(oid)
			FROM pg_database WHERE datname = current_database()""";

	/**
	 * Return an operation without a lock, of the only session.
	 */
	static Operation of(Kind kind) {
		return new Operation(kind, 0, LockKey.of(0), LockMode.SHARE, LockScope.SESSION);
	}

	private boolean isTransactionId() {
		return this.kind == Kind.TRANSACTION_ID || this.kind == Kind.DURABLE_TRANSACTION_ID;
	}

	/**
	 * Return the statement for PostgreSQL.
	 */
	String sql() {
		return switch (this.kind) {
			case BEGIN -> "BEGIN";
			case COMMIT -> "COMMIT";
			case ROLLBACK -> "ROLLBACK";
			case SAVEPOINT -> "SAVEPOINT here";
			case ROLLBACK_TO -> "ROLLBACK TO here; RELEASE here";
			case RELEASE -> "RELEASE here";
			case LOCK -> "SELECT pg_advisory_%slock%s(%s)".formatted(prefix(), suffix(), arguments());
			case TRY_LOCK -> "SELECT pg_try_advisory_%slock%s(%s)".formatted(prefix(), suffix(), arguments());
			case UNLOCK -> "SELECT pg_advisory_unlock%s(%s)".formatted(suffix(), arguments());
			case UNLOCK_ALL -> "SELECT pg_advisory_unlock_all()";
			case TRANSACTION_ID -> "SELECT pg_current_xact_id()";
			case ENDINGS -> ENDINGS;
			case CLEAR_STATISTICS -> "SELECT pg_stat_clear_snapshot()";
			case DURABLE_TRANSACTION_ID ->
				"SELECT pg_current_xact_id() FROM pg_logical_emit_message(true, 'comparison', '')";
			default -> throw new IllegalStateException(toString());
		};
	}

	/**
	 * Return the statement for the simulated server.
	 */
	Statement<?> statement() {
		return switch (this.kind) {
			case BEGIN -> Statements.begin();
			case COMMIT -> Statements.commit(null);
			case ROLLBACK -> Statements.rollback();
			case SAVEPOINT -> Statements.savepoint();
			case ROLLBACK_TO -> Statements.rollbackToSavepoint();
			case RELEASE -> Statements.releaseSavepoint();
			case LOCK -> Statements.lock(this.key, this.mode, this.scope);
			case TRY_LOCK -> Statements.tryLock(this.key, this.mode, this.scope);
			case UNLOCK -> Statements.unlock(this.key, this.mode);
			case UNLOCK_ALL -> Statements.unlockAll();
			case ENDINGS -> Statements.endings();
			case CLEAR_STATISTICS -> Statements.clearStatistics();
			case TRANSACTION_ID -> Statements.transactionId(false);
			case DURABLE_TRANSACTION_ID -> Statements.transactionId(true);
			default -> throw new IllegalStateException(toString());
		};
	}

	/**
	 * Return whether the result of the statement is compared.
	 */
	private boolean hasResult() {
		return switch (this.kind) {
			case TRY_LOCK, UNLOCK, TRANSACTION_ID, DURABLE_TRANSACTION_ID, ENDINGS -> true;
			default -> false;
		};
	}

	/**
	 * Run on a server.
	 * @param base the transaction id that counts as 0
	 * @return its result, {@code done}, an SQLSTATE, or {@code ended} with the session
	 */
	String execute(ComparedServer server, Connection connection, long base) {
		try (java.sql.Statement statement = connection.createStatement()) {
			statement.execute(server.text(sql(), this::statement));
			if (!hasResult()) {
				return "done";
			}
			try (ResultSet row = statement.getResultSet()) {
				row.next();
				if (this.kind == Kind.ENDINGS) {
					return server.endings(row.getLong(1), row.getLong(2));
				}
				return isTransactionId() ? Long.toString(row.getLong(1) - base) : Boolean.toString(row.getBoolean(1));
			}
		}
		catch (SQLException ex) {
			String state = String.valueOf(ex.getSQLState());
			if (state.startsWith("08") || state.startsWith("57P") || state.equals("25P03")) {
				return "ended";
			}
			// The driver complains about a commit that rolls back
			return (this.kind == Kind.COMMIT && state.equals("25P02")) ? "done" : state;
		}
	}

	/**
	 * Set a timeout of a session.
	 */
	static void set(ComparedServer server, Connection connection, Timeout timeout, long millis) throws SQLException {
		try (java.sql.Statement statement = connection.createStatement()) {
			statement.execute(server.text("SET " + timeout.setting() + " = " + millis,
					() -> Statements.set(timeout, millis, false)));
		}
	}

	private String prefix() {
		return (this.scope == LockScope.TRANSACTION) ? "xact_" : "";
	}

	private String suffix() {
		return (this.mode == LockMode.SHARE) ? "_shared" : "";
	}

	private String arguments() {
		return (this.key.parts() == 2) ? this.key.high() + ", " + this.key.low()
				: Long.toString(((long) this.key.high() << 32) | Integer.toUnsignedLong(this.key.low()));
	}

	@Override
	public String toString() {
		String lock = switch (this.kind) {
			case LOCK, TRY_LOCK, UNLOCK -> " " + this.key + " " + this.mode + " " + this.scope;
			default -> "";
		};
		return "session " + this.session + ": " + this.kind + lock;
	}

	enum Kind {

		CONNECT, DISCONNECT, TERMINATE, CANCEL, BEGIN, COMMIT, ROLLBACK, SAVEPOINT, ROLLBACK_TO, RELEASE, LOCK,
		TRY_LOCK, UNLOCK, UNLOCK_ALL, TRANSACTION_ID, DURABLE_TRANSACTION_ID, ENDINGS, CLEAR_STATISTICS

	}

}
