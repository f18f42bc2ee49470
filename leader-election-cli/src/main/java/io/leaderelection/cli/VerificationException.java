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
import java.util.Set;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import org.jspecify.annotations.Nullable;

/**
 * Elections do not hold, or whether they do could not be determined. The message says
 * what to do.
 */
final class VerificationException extends Exception {

	/**
	 * The server has ended the session, or its first statement, after the login:
	 * {@code idle_session_timeout}, {@code statement_timeout} and
	 * {@code transaction_timeout}.
	 */
	private static final Set<String> TIMEOUTS = Set.of("57P05", "57014", "25P04");

	private final String check;

	private final boolean proven;

	/**
	 * Create a new {@code VerificationException} instance for a proven failure.
	 * @param check the check that failed
	 * @param message the problem, and what to do
	 * @param cause the cause, if any
	 */
	VerificationException(String check, String message, @Nullable Throwable cause) {
		this(check, message, cause, true);
	}

	private VerificationException(String check, String message, @Nullable Throwable cause, boolean proven) {
		super(message, cause);
		this.check = check;
		this.proven = proven;
	}

	/**
	 * Return an exception for a check without a result.
	 * @param check the check
	 * @param message the problem
	 * @param cause the cause, if any
	 */
	static VerificationException undetermined(String check, String message, @Nullable Throwable cause) {
		return new VerificationException(check, message, cause, false);
	}

	/**
	 * Return an exception with the words of the library, if the cause has them. It proves
	 * nothing if the connection was lost, or if neither the library nor the server
	 * complains.
	 * @param check the check that failed
	 * @param cause what the library or the driver has thrown
	 */
	static VerificationException of(String check, Throwable cause) {
		for (Throwable each = cause; each != null; each = each.getCause()) {
			if (each instanceof UnusableStoreException unusable) {
				return new VerificationException(check, unusable.getMessage() + " " + unusable.getAction(), cause);
			}
			if (each instanceof SessionException || each instanceof SQLException) {
				return of(check, String.valueOf(each.getMessage()), each);
			}
		}
		return undetermined(check, String.valueOf(cause), cause);
	}

	/**
	 * Return an exception that proves nothing if the connection was lost.
	 * @param check the check that failed
	 * @param message the problem, and what to do
	 * @param cause what the library or the driver has thrown
	 */
	static VerificationException of(String check, String message, Throwable cause) {
		return new VerificationException(check, message, cause, !isConnectionLost(cause));
	}

	private static boolean isConnectionLost(Throwable cause) {
		for (Throwable each = cause; each != null; each = each.getCause()) {
			if (each instanceof SQLException sql && !isTimeout(sql)
					&& String.valueOf(sql.getSQLState()).matches("(08|57P).*")) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Return whether a preset of the role or of the database has ended the session or a
	 * statement.
	 */
	static boolean isTimeout(SQLException ex) {
		return TIMEOUTS.contains(String.valueOf(ex.getSQLState()));
	}

	String check() {
		return this.check;
	}

	/**
	 * Return whether elections do not hold. Otherwise, this was not determined.
	 */
	boolean isProven() {
		return this.proven;
	}

}
