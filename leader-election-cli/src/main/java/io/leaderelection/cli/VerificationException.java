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

import io.leaderelection.engine.ElectionStatus;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;
import org.jspecify.annotations.Nullable;

/**
 * Elections do not hold, or whether they do could not be determined. The message says
 * what to do.
 */
final class VerificationException extends Exception {

	private static final String REPEAT = "Run the command again. If the result is the same, run it with --debug and report the output.";

	private final String check;

	private final @Nullable String action;

	/**
	 * Create a new {@code VerificationException} instance for a proven failure.
	 * @param check the check that failed
	 * @param message the problem, and what to do
	 * @param cause the cause, if any
	 */
	VerificationException(String check, String message, @Nullable Throwable cause) {
		this(check, message, cause, null);
	}

	private VerificationException(String check, String message, @Nullable Throwable cause, @Nullable String action) {
		super(message, cause);
		this.check = check;
		this.action = action;
	}

	/**
	 * Return an exception for a check without a result.
	 * @param check the check
	 * @param message the problem
	 * @param cause the cause, if any
	 */
	static VerificationException undetermined(String check, String message, @Nullable Throwable cause) {
		Obstacle obstacle = Obstacle.of(cause);
		return new VerificationException(check, message, cause, (obstacle != null) ? obstacle.action() : REPEAT);
	}

	/**
	 * Return an exception for a check without a result, since the connection was lost.
	 * @param cause the failure of a check
	 */
	static VerificationException connectionLost(VerificationException cause) {
		return new VerificationException(cause.check, "The connection to the server was lost: " + cause.getMessage(),
				cause, Obstacle.CONNECTION_LOST.action());
	}

	/**
	 * Return an exception with the words of the library, if the cause has them. It proves
	 * nothing if there is an {@link Obstacle}, or if neither the library nor the server
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
				return of(check, String.valueOf(each.getMessage()), "", each);
			}
		}
		return undetermined(check, String.valueOf(cause), cause);
	}

	/**
	 * Return an exception that proves nothing if there is an {@link Obstacle}.
	 * @param check the check that failed
	 * @param message the problem
	 * @param action what to do if there is no obstacle
	 * @param cause what the library or the driver has thrown
	 */
	static VerificationException of(String check, String message, String action, Throwable cause) {
		return (Obstacle.of(cause) != null) ? undetermined(check, message, cause)
				: new VerificationException(check, message + action, cause);
	}

	/**
	 * Return an exception that proves nothing if a node has no session because the server
	 * is full.
	 * @param check the check that failed
	 * @param message the problem
	 * @param status the status of the node
	 */
	static VerificationException of(String check, String message, ElectionStatus status) {
		boolean temporary = status.problem() != null && status.problem().contains(Obstacle.NO_FREE_CONNECTION);
		return new VerificationException(check, message, null, temporary ? Obstacle.NO_SESSION.action() : null);
	}

	String check() {
		return this.check;
	}

	/**
	 * Return whether elections do not hold. Otherwise, this was not determined.
	 */
	boolean isProven() {
		return this.action == null;
	}

	/**
	 * Return what to do if this was not determined.
	 */
	@Nullable String action() {
		return this.action;
	}

}
