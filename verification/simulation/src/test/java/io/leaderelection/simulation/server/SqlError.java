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

/**
 * An error of a statement. Without a stack trace: errors are part of normal operation
 * here.
 */
public final class SqlError extends Exception {

	/** A lock was not granted within {@code lock_timeout}. */
	public static final SqlError LOCK_NOT_AVAILABLE = new SqlError("55P03", "canceling statement due to lock timeout");

	/** The statement was cancelled on request. */
	public static final SqlError QUERY_CANCELED = new SqlError("57014", "canceling statement due to user request");

	/** The statement ran into {@code statement_timeout}. */
	public static final SqlError STATEMENT_TIMEOUT = new SqlError("57014",
			"canceling statement due to statement timeout");

	/** The request closes a circle of waiters. */
	public static final SqlError DEADLOCK = new SqlError("40P01", "deadlock detected");

	/** The transaction has failed and must be rolled back. */
	public static final SqlError FAILED_TRANSACTION = new SqlError("25P02",
			"current transaction is aborted, commands ignored until end of transaction block");

	/** A standby issues no transaction ids. */
	public static final SqlError READ_ONLY = new SqlError("25006", "cannot assign transaction IDs during recovery");

	/** A standby does not know its position in the log. */
	public static final SqlError IN_RECOVERY = new SqlError("55000", "recovery is in progress");

	/** A standby is read-only. */
	public static final SqlError STANDBY = new SqlError("0A000",
			"cannot set transaction read-write mode during recovery");

	/** The row has changed since the snapshot of the transaction. */
	public static final SqlError SERIALIZATION_FAILURE = new SqlError("40001",
			"could not serialize access due to concurrent update");

	private final String state;

	public SqlError(String state, String message) {
		super(message, null, false, false);
		this.state = state;
	}

	/**
	 * Return the SQLSTATE.
	 */
	public String state() {
		return this.state;
	}

}
