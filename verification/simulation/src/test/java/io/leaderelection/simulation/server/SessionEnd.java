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
 * Why a session ended, as its client learns it.
 */
public enum SessionEnd {

	/** {@code pg_terminate_backend}: SQLSTATE 57P01. */
	TERMINATED(Cause.KILLED),

	/** The server was stopped: SQLSTATE 57P01. */
	SHUTDOWN(Cause.KILLED),

	/** The client was silent: SQLSTATE 57P05. */
	IDLE_SESSION_TIMEOUT(Cause.FATAL),

	/** The client was silent in a transaction: SQLSTATE 25P03. */
	IDLE_IN_TRANSACTION_TIMEOUT(Cause.FATAL),

	/** The server crashed, and its counters with it: the connection is reset. */
	CRASH(Cause.KILLED),

	/** The client has left or closed the connection, so nobody reads this. */
	CLIENT_GONE(Cause.CLIENT),

	/** The server has noticed during a statement that the client has left. */
	CLIENT_LOST(Cause.FATAL);

	private final Cause cause;

	SessionEnd(Cause cause) {
		this.cause = cause;
	}

	Cause cause() {
		return this.cause;
	}

	/**
	 * Return whether the session ended because its client was gone.
	 */
	public boolean isByClient() {
		return this == CLIENT_GONE || this == CLIENT_LOST;
	}

	/**
	 * As what the end of a session is counted.
	 */
	enum Cause {

		KILLED, FATAL,

		/** Not counted among those that the server ends. */
		CLIENT

	}

}
