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

import java.util.List;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

import org.jspecify.annotations.Nullable;

/**
 * A simulated PostgreSQL server, of one database. Not for use by several threads: all
 * calls, and the events of the queue, come one after the other.
 */
public final class SimServer {

	/**
	 * Create a primary that accepts connections.
	 * @param events the virtual time
	 * @param clock the wall clock of the server
	 * @param pace returns the nanoseconds until the next step of a session; 0 runs it at
	 * once, in the same event
	 * @param settings the settings
	 */
	public SimServer(EventQueue events, ServerClock clock, LongSupplier pace, ServerSettings settings) {
	}

	/**
	 * Accept a connection.
	 * @param applicationName the name of the session
	 * @param role the role
	 * @param onEnd told when the server ends the session, as soon as it tells the client,
	 * which is before it frees the first lock; in a crash, when the connection is reset
	 * @return the session, or {@code null} if the server is not running, or has no
	 * connection left
	 */
	public @Nullable Backend connect(String applicationName, String role, Consumer<SessionEnd> onEnd) {
		throw new UnsupportedOperationException();
	}

	/**
	 * End a session, as {@code pg_terminate_backend}.
	 * @return whether there is such a session
	 */
	public boolean terminate(int pid) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Cancel the statement of a session, as {@code pg_cancel_backend}. Does nothing to a
	 * session that runs none. A cancel request of a client calls this twice.
	 * @return whether there is such a session
	 */
	public boolean cancel(int pid) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Crash: all sessions, locks and transactions are gone at once, and so is every
	 * transaction id that was not durable.
	 */
	public void crash() {
	}

	/**
	 * Stop cleanly ({@code fast}): no new sessions, every session is terminated. The
	 * server has stopped when the last one has ended.
	 */
	public void stop() {
	}

	/**
	 * Start after {@link #crash} or {@link #stop}.
	 */
	public void start() {
	}

	public boolean isRunning() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Stop all processes where they are. Requests and alarms are kept for later.
	 */
	public void freeze() {
	}

	/**
	 * Let the processes go on after {@link #freeze}.
	 */
	public void thaw() {
	}

	/**
	 * Return a standby of this server, at its present position.
	 * @param clock the wall clock of the standby
	 */
	public SimServer newStandby(ServerClock clock) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Have a standby replay what this primary has made durable so far.
	 */
	public void replicateTo(SimServer standby) {
	}

	/**
	 * Make this standby a primary, on the next timeline. Its sessions and their locks
	 * stay. What it has not replayed is lost.
	 */
	public void promote() {
	}

	public ServerClock clock() {
		throw new UnsupportedOperationException();
	}

	public boolean isInRecovery() {
		throw new UnsupportedOperationException();
	}

	public long timeline() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Return the session with a process id.
	 */
	public @Nullable Backend backend(int pid) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Return {@code pg_locks}.
	 */
	public List<LockRow> locks() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Return {@code pg_stat_activity}.
	 */
	public List<Activity> activity() {
		throw new UnsupportedOperationException();
	}

}
