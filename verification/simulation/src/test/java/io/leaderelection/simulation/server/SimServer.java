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

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.LongSupplier;

import org.jspecify.annotations.Nullable;

/**
 * A simulated PostgreSQL server, of one database. Not for use by several threads: all
 * calls, and the events of the queue, come one after the other.
 */
public final class SimServer {

	private final EventQueue events;

	private final ServerClock clock;

	private final LongSupplier pace;

	private final ServerSettings settings;

	private final long systemIdentifier;

	private final LockTable lockTable;

	private final SimTable table = new SimTable();

	private final WriteAheadLog log;

	private final Map<Integer, Backend> backends = new LinkedHashMap<>();

	private Endings endings = Endings.NONE;

	private int lastPid;

	private boolean running = true;

	private boolean frozen;

	private long timeline = 1;

	private long startedAt;

	/**
	 * Create a primary that accepts connections.
	 * @param events the virtual time
	 * @param clock the wall clock of the server
	 * @param pace returns the nanoseconds until the next step of a session; 0 runs it at
	 * once, in the same event
	 * @param settings the settings
	 */
	public SimServer(EventQueue events, ServerClock clock, LongSupplier pace, ServerSettings settings) {
		this(events, clock, pace, settings, 1);
	}

	/**
	 * Create a primary of another cluster.
	 * @param events the virtual time
	 * @param clock the wall clock of the server
	 * @param pace as above
	 * @param settings the settings
	 * @param systemIdentifier identifies the cluster
	 */
	public SimServer(EventQueue events, ServerClock clock, LongSupplier pace, ServerSettings settings,
			long systemIdentifier) {
		this.events = events;
		this.clock = clock;
		this.pace = pace;
		this.settings = settings;
		this.systemIdentifier = systemIdentifier;
		this.lockTable = new LockTable(settings);
		this.log = new WriteAheadLog(events, settings.walWriterDelayNanos(), this.table::flush);
		this.lastPid = settings.firstPid();
		this.startedAt = events.time();
	}

	/**
	 * Accept a connection. A server that is frozen accepts it, but answers nothing.
	 * @param applicationName the name of the session
	 * @param role the role
	 * @param onEnd told when the server ends the session, as soon as it tells the client,
	 * which is before it frees the first lock; in a crash, when the connection is reset
	 * @return the session, or {@code null} if the server is not running, or has no
	 * connection left
	 */
	public @Nullable Backend connect(String applicationName, String role, Consumer<SessionEnd> onEnd) {
		if (!this.running || this.backends.size() >= this.settings.maxConnections()) {
			return null;
		}
		Backend backend = new Backend(this, ++this.lastPid, applicationName, role, onEnd);
		this.backends.put(backend.pid(), backend);
		if (this.frozen) {
			backend.freeze();
		}
		return backend;
	}

	/**
	 * Count the end of a session, which still exists.
	 */
	void count(SessionEnd.Cause cause) {
		this.endings = this.endings.and(cause);
	}

	/**
	 * Return how many sessions the server has ended.
	 */
	public Endings endings() {
		return this.endings;
	}

	/**
	 * Count from zero again, as after {@code pg_stat_reset}.
	 */
	public void resetStatistics() {
		this.endings = new Endings(0, 0, this.clock.now());
	}

	void ended(Backend backend) {
		this.backends.remove(backend.pid());
		if (!this.running && this.backends.isEmpty()) {
			this.log.shutDown();
		}
	}

	/**
	 * End a session, as {@code pg_terminate_backend}.
	 * @return whether there is such a session
	 */
	public boolean terminate(int pid) {
		Backend backend = this.backends.get(pid);
		if (backend != null) {
			backend.terminate(SessionEnd.TERMINATED);
		}
		return backend != null;
	}

	/**
	 * Terminate those of some sessions that have been in the middle of a request for so
	 * long.
	 */
	public void terminateStuck(Collection<Integer> pids, long millis) {
		long latest = this.clock.now() - millis * 1_000_000;
		activity().stream()
			.filter((session) -> session.receiving() && session.stateChange() < latest && pids.contains(session.pid()))
			.forEach((session) -> terminate(session.pid()));
	}

	/**
	 * Cancel the statement of a session, as {@code pg_cancel_backend}. Does nothing to a
	 * session that runs none. The server may signal a session twice for one cancel
	 * request of a client.
	 * @return whether there is such a session
	 */
	public boolean cancel(int pid) {
		Backend backend = this.backends.get(pid);
		if (backend != null) {
			backend.cancel(SqlError.QUERY_CANCELED);
		}
		return backend != null;
	}

	/**
	 * Crash: all sessions, locks and transactions are gone at once, and so is every
	 * transaction id that was not durable.
	 */
	public void crash() {
		this.running = false;
		this.frozen = false;
		List<Backend> killed = new ArrayList<>(this.backends.values());
		this.backends.clear();
		this.endings = Endings.NONE;
		this.lockTable.clear();
		this.table.crash();
		if (!isInRecovery()) {
			this.log.crash();
		}
		killed.forEach(Backend::kill);
	}

	/**
	 * Stop cleanly ({@code fast}): no new sessions, every session is terminated. The
	 * server has stopped when the last one has ended.
	 */
	public void stop() {
		if (!this.running) {
			return;
		}
		this.running = false;
		if (this.backends.isEmpty()) {
			this.log.shutDown();
		}
		new ArrayList<>(this.backends.values()).forEach((backend) -> backend.terminate(SessionEnd.SHUTDOWN));
	}

	/**
	 * Start after {@link #crash} or {@link #stop}, which must be over.
	 */
	public void start() {
		if (!isStopped()) {
			throw new IllegalStateException("The server has not stopped");
		}
		this.running = true;
		this.startedAt = this.events.time();
	}

	/**
	 * Return whether the server accepts connections.
	 */
	public boolean isRunning() {
		return this.running;
	}

	/**
	 * Return whether the server can be started.
	 */
	public boolean isStopped() {
		return !this.running && this.backends.isEmpty();
	}

	/**
	 * Stop all processes where they are. Requests and alarms are kept for later.
	 */
	public void freeze() {
		if (!this.frozen) {
			this.frozen = true;
			this.backends.values().forEach(Backend::freeze);
		}
	}

	/**
	 * Let the processes go on after {@link #freeze}.
	 */
	public void thaw() {
		if (this.frozen) {
			this.frozen = false;
			new ArrayList<>(this.backends.values()).forEach(Backend::thaw);
		}
	}

	/**
	 * Return a standby of this server, at its present position.
	 * @param standbyClock the wall clock of the standby
	 */
	public SimServer newStandby(ServerClock standbyClock) {
		SimServer standby = new SimServer(this.events, standbyClock, this.pace, this.settings, this.systemIdentifier);
		// Not at the same moment
		standby.startedAt++;
		replicateTo(standby);
		return standby;
	}

	/**
	 * Have a standby replay what this primary has made durable so far.
	 */
	public void replicateTo(SimServer standby) {
		standby.log.replay(this.log);
		standby.table.replay(this.table);
		standby.timeline = this.timeline;
	}

	/**
	 * Make this standby a primary, on the next timeline. Its sessions and their locks
	 * stay. What it has not replayed is lost.
	 */
	public void promote() {
		if (!isInRecovery()) {
			throw new IllegalStateException("The server is not a standby");
		}
		this.log.promote();
		this.timeline++;
	}

	public ServerClock clock() {
		return this.clock;
	}

	/**
	 * Return the identifier of the cluster, which a standby shares.
	 */
	public long systemIdentifier() {
		return this.systemIdentifier;
	}

	public boolean isInRecovery() {
		return this.log.isInRecovery();
	}

	/**
	 * Return the version that the server says it has.
	 */
	public int version() {
		return this.settings.version();
	}

	/**
	 * Return when the server was started.
	 */
	public long startedAt() {
		return this.startedAt;
	}

	/**
	 * Return the timeline, which a standby does not tell its sessions.
	 */
	public long timeline() {
		return this.timeline;
	}

	/**
	 * Return the transaction id after the last one, as a snapshot has it.
	 */
	public long nextTransactionId() {
		return this.log.peek();
	}

	/**
	 * Return the session with a process id.
	 */
	public @Nullable Backend backend(int pid) {
		return this.backends.get(pid);
	}

	/**
	 * Return {@code pg_locks}.
	 */
	public List<LockRow> locks() {
		List<LockRow> rows = new ArrayList<>();
		visitLocks((key, mode, pid, granted) -> rows.add(new LockRow(key, mode, pid, granted)));
		return rows;
	}

	/**
	 * Visit the rows of {@code pg_locks}, in no particular order.
	 */
	public void visitLocks(LockVisitor visitor) {
		this.lockTable.visit(visitor);
	}

	/**
	 * Return {@code pg_stat_activity}.
	 */
	public List<Activity> activity() {
		List<Activity> rows = new ArrayList<>(this.backends.size());
		this.backends.values().forEach((backend) -> rows.add(backend.activity()));
		return rows;
	}

	/**
	 * Return the tables of the store {@code table}.
	 */
	public SimTable table() {
		return this.table;
	}

	/**
	 * Delete the rows of all nodes by hand, but those that are locked.
	 */
	public void deleteNodes() {
		if (this.running && !isInRecovery()) {
			this.table.nodes().deleteUnlocked();
			this.log.flush();
		}
	}

	/**
	 * Return the sessions with transactions that have passed the fence of the table.
	 */
	public List<Integer> fenced() {
		return this.backends.values().stream().filter(Backend::isFenced).map(Backend::pid).toList();
	}

	/**
	 * Send a notification to all sessions that listen.
	 */
	void notifyListeners(String notice) {
		this.backends.values().forEach((backend) -> backend.receive(notice));
	}

	EventQueue events() {
		return this.events;
	}

	long pace() {
		return this.pace.getAsLong();
	}

	ServerSettings settings() {
		return this.settings;
	}

	LockTable lockTable() {
		return this.lockTable;
	}

	WriteAheadLog log() {
		return this.log;
	}

}
