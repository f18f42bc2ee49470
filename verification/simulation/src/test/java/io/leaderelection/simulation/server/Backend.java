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

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.function.Consumer;

import io.leaderelection.simulation.server.EventQueue.Event;
import io.leaderelection.simulation.server.LockTable.Hold;
import org.jspecify.annotations.Nullable;

/**
 * A session on a simulated server: the process that serves one connection. The methods of
 * the client's side are {@link #submit}, {@link #beginRequest} and {@link #disconnect};
 * call each when its message has arrived. Most other ones are for statements.
 */
public final class Backend {

	private final SimServer server;

	private final int pid;

	private final String applicationName;

	private final String role;

	private final long start;

	private final Consumer<SessionEnd> onEnd;

	private final Timers timers;

	private final Transaction transaction;

	private final Runnable onTurn = this::turn;

	private final Queue<Request<?>> inbox = new ArrayDeque<>(2);

	private final List<Hold> holds = new ArrayList<>();

	private State state = State.IDLE;

	private @Nullable Request<?> request;

	/** The step that runs, or during which the process waits. */
	private int step;

	private int nextStep;

	/** The lock that is awaited, and what for. */
	private @Nullable Hold awaited;

	private @Nullable LockMode mode;

	private @Nullable LockScope scope;

	private boolean block;

	private boolean repeatableRead;

	private SimTable.@Nullable Snapshot snapshot;

	private @Nullable Endings endings;

	private final List<String> notices = new ArrayList<>(1);

	private @Nullable Consumer<String> listener;

	private boolean fenced;

	private boolean failed;

	private boolean commit;

	private @Nullable Runnable onCommit;

	private @Nullable SqlError error;

	/** The interrupts that the next step meets. */
	private @Nullable SqlError cancel;

	private @Nullable SessionEnd end;

	private boolean killed;

	private boolean counted;

	private boolean clientGone;

	private @Nullable Event turn;

	private boolean turnHeld;

	private int freezes;

	private long stateChange;

	private @Nullable String token;

	Backend(SimServer server, int pid, String applicationName, String role, Consumer<SessionEnd> onEnd) {
		this.server = server;
		this.pid = pid;
		this.applicationName = applicationName;
		this.role = role;
		this.start = server.clock().now();
		this.stateChange = this.start;
		this.onEnd = onEnd;
		this.timers = new Timers(server.events(), server.clock(), this);
		this.transaction = new Transaction(server.lockTable(), server.log());
		this.transaction.set(Timeout.CLIENT_CHECK, server.settings().clientCheckIntervalNanos() / 1_000_000, false);
		this.transaction.end(true);
	}

	// The client's side

	public int pid() {
		return this.pid;
	}

	public String applicationName() {
		return this.applicationName;
	}

	/**
	 * Return whether the process still exists; it may have begun to end.
	 */
	public boolean isAlive() {
		return this.state != State.ENDED;
	}

	/**
	 * Return whether the process has begun to end, and may have freed some of its locks.
	 */
	public boolean isEnding() {
		return this.state == State.ENDING || this.state == State.ENDED;
	}

	/**
	 * Receive a request. It runs when the ones before it are done. A statement takes
	 * effect whether or not its reply reaches the client. There is no reply if the
	 * session ends first.
	 * @param statement the request
	 * @param reply receives the answer when the server sends it
	 */
	public <T> void submit(Statement<T> statement, Consumer<Reply<T>> reply) {
		this.inbox.add(new Request<>(statement, reply));
		if (!isFrozen() && this.end == null && (this.state == State.IDLE || this.state == State.RECEIVING)) {
			begin();
		}
	}

	/**
	 * Receive the first message of a request of the extended protocol, and no more than
	 * that for now: until the rest arrives by {@link #submit}, no timeout of the server
	 * runs.
	 */
	public void beginRequest() {
		if (this.state == State.IDLE && this.end == null) {
			disarmIdleTimers();
			become(State.RECEIVING);
		}
	}

	/**
	 * Learn that the client has closed the connection: at once if no statement runs, else
	 * after the statement or at the next look whether the client is there.
	 */
	public void disconnect() {
		if (!this.clientGone) {
			this.clientGone = true;
			if (this.state == State.IDLE || this.state == State.RECEIVING) {
				takeTurn();
			}
		}
	}

	/**
	 * Stop this process where it is.
	 */
	public void freeze() {
		this.freezes++;
	}

	/**
	 * Let this process go on after {@link #freeze}. An alarm that came in the meantime is
	 * met before a request that did.
	 */
	public void thaw() {
		if (this.freezes == 0 || --this.freezes > 0 || this.state == State.ENDED) {
			return;
		}
		this.timers.thaw();
		if (this.turnHeld) {
			this.turnHeld = false;
			takeTurn();
		}
		else if (this.end == null && (this.state == State.IDLE || this.state == State.RECEIVING)
				&& !this.inbox.isEmpty()) {
			begin();
		}
	}

	boolean isFrozen() {
		return this.freezes > 0;
	}

	// For statements

	public SimServer server() {
		return this.server;
	}

	/**
	 * Take a lock, or wait for it before the next step.
	 */
	public void lock(LockKey key, LockMode lockMode, LockScope lockScope) throws SqlError {
		Hold hold = this.server.lockTable().acquire(this, key, lockMode, true);
		if (hold == null) {
			throw new IllegalStateException("A lock that may be waited for is not refused");
		}
		if (hold.isWaiting()) {
			this.awaited = hold;
			this.mode = lockMode;
			this.scope = lockScope;
			this.state = State.WAITING;
			this.timers.arm(Timeout.LOCK, setting(Timeout.LOCK));
		}
		else {
			own(hold, lockMode, lockScope);
		}
	}

	public boolean tryLock(LockKey key, LockMode lockMode, LockScope lockScope) throws SqlError {
		Hold hold = this.server.lockTable().acquire(this, key, lockMode, false);
		if (hold != null) {
			own(hold, lockMode, lockScope);
		}
		return hold != null;
	}

	private void own(Hold hold, LockMode lockMode, LockScope lockScope) {
		if (lockScope == LockScope.SESSION) {
			hold.countForSession(lockMode, 1);
		}
		else {
			this.transaction.add(hold, lockMode);
		}
	}

	/**
	 * Free a lock of the session.
	 * @return false, with a warning in the log of PostgreSQL, if it is not held
	 */
	public boolean unlock(LockKey key, LockMode lockMode) {
		Hold hold = this.server.lockTable().find(this, key);
		if (hold == null || hold.sessionCount(lockMode) == 0) {
			return false;
		}
		hold.countForSession(lockMode, -1);
		this.server.lockTable().release(hold, lockMode);
		return true;
	}

	public void unlockAll() {
		for (Hold hold : List.copyOf(this.holds)) {
			unlockAll(hold);
		}
	}

	private void unlockAll(Hold hold) {
		for (LockMode each : LockMode.VALUES) {
			while (hold.sessionCount(each) > 0) {
				hold.countForSession(each, -1);
				this.server.lockTable().release(hold, each);
			}
		}
	}

	/**
	 * Return whether this session holds a lock, as {@code pg_locks} shows it.
	 */
	public boolean holds(LockKey key, LockMode lockMode) {
		Hold hold = this.server.lockTable().find(this, key);
		return hold != null && hold.count(lockMode) > 0;
	}

	/**
	 * Wait before the next step.
	 */
	public void sleep(long nanos) {
		this.state = State.SLEEPING;
		cancelTurn();
		this.turn = this.server.events().schedule(nanos, this.onTurn);
	}

	/**
	 * Begin a subtransaction: a savepoint, or a block with an {@code EXCEPTION} clause.
	 */
	public void savepoint() {
		this.transaction.savepoint();
	}

	public void rollbackToSavepoint() throws SqlError {
		if (!this.transaction.rollbackToSavepoint()) {
			throw new SqlError("3B001", "savepoint does not exist");
		}
		this.failed = false;
	}

	public void releaseSavepoint() throws SqlError {
		if (!this.transaction.releaseSavepoint()) {
			throw new SqlError("3B001", "savepoint does not exist");
		}
	}

	/**
	 * {@code pg_current_xact_id()}.
	 */
	public long transactionId() throws SqlError {
		return this.transaction.id();
	}

	/**
	 * Write a record to the log, so that the commit makes the transaction durable.
	 */
	public void write() throws SqlError {
		this.transaction.write();
	}

	/**
	 * Return the rows that a statement sees that begins now: those that are committed,
	 * or, with {@code REPEATABLE READ}, those that the first statement has seen.
	 */
	public SimTable.Snapshot snapshot() {
		SimTable.Snapshot seen = this.snapshot;
		if (seen == null) {
			seen = this.server.table().snapshot(this);
			this.snapshot = this.repeatableRead ? seen : null;
		}
		return seen;
	}

	/**
	 * Return how many sessions the server has ended, as this transaction has first read
	 * it, unless {@link #clearStatistics()} was called since then.
	 */
	public Endings endings() {
		Endings seen = this.endings;
		if (seen == null) {
			seen = this.server.endings();
			this.endings = seen;
		}
		return seen;
	}

	/**
	 * {@code pg_stat_clear_snapshot()}.
	 */
	public void clearStatistics() {
		this.endings = null;
	}

	/**
	 * {@code SET TRANSACTION ISOLATION LEVEL READ COMMITTED}.
	 */
	public void readCommitted() {
		this.repeatableRead = false;
		this.snapshot = null;
	}

	public boolean isRepeatableRead() {
		return this.repeatableRead;
	}

	/**
	 * The transaction has passed the fence of the table. The lock alone does not tell: a
	 * transaction that is refused may hold it, too.
	 */
	public void passFence() {
		this.fenced = true;
	}

	boolean isFenced() {
		return this.fenced;
	}

	/**
	 * {@code LISTEN}.
	 * @param consumer receives each notification when the server sends it
	 */
	public void listen(Consumer<String> consumer) {
		this.listener = consumer;
	}

	/**
	 * {@code NOTIFY}, when the transaction is committed.
	 */
	public void notifyOnCommit(String notice) {
		this.notices.add(notice);
	}

	/**
	 * A notification is lost if the session is ending or its process is stopped.
	 */
	void receive(String notice) {
		Consumer<String> consumer = this.listener;
		if (consumer != null && this.end == null && !this.clientGone && !isFrozen()) {
			consumer.accept(notice);
		}
	}

	/**
	 * Change a setting of the session, or of the transaction.
	 */
	public void set(Timeout timeout, long millis, boolean local) {
		this.transaction.set(timeout, millis, local);
	}

	/**
	 * Return a setting, in milliseconds; 0 is off.
	 */
	public long setting(Timeout timeout) {
		return this.transaction.setting(timeout);
	}

	public @Nullable String token() {
		return this.token;
	}

	public void setToken(String newToken) {
		this.token = newToken;
	}

	void beginBlock(boolean withRepeatableRead) {
		this.block = true;
		this.repeatableRead = withRepeatableRead;
	}

	/**
	 * End the transaction block with this statement.
	 * @return whether it is committed
	 */
	boolean endBlock(boolean commitBlock, @Nullable Runnable whenCommitted) {
		this.commit = commitBlock && !this.failed;
		this.block = false;
		this.failed = false;
		this.onCommit = whenCommitted;
		return this.commit;
	}

	// Interrupts

	void terminate(SessionEnd reason) {
		this.killed |= reason.cause() == SessionEnd.Cause.KILLED;
		if (this.end == null) {
			this.end = reason;
			interrupt();
		}
	}

	void cancel(SqlError reason) {
		if (this.cancel == null && this.state.isRunning()) {
			this.cancel = reason;
			interrupt();
		}
	}

	void timedOut(Timeout timeout) {
		switch (timeout) {
			case LOCK -> cancel(SqlError.LOCK_NOT_AVAILABLE);
			case STATEMENT -> cancel(SqlError.STATEMENT_TIMEOUT);
			case IDLE_SESSION -> terminate(SessionEnd.IDLE_SESSION_TIMEOUT);
			case IDLE_IN_TRANSACTION -> terminate(SessionEnd.IDLE_IN_TRANSACTION_TIMEOUT);
			case CLIENT_CHECK -> {
				if (this.clientGone) {
					terminate(SessionEnd.CLIENT_LOST);
				}
				else if (this.state.isRunning()) {
					this.timers.arm(timeout, setting(timeout));
				}
			}
		}
	}

	/**
	 * Have the process look at its interrupts soon. One that works does so by itself.
	 */
	private void interrupt() {
		if (this.state == State.SLEEPING) {
			cancelTurn();
		}
		takeTurn();
	}

	private void cancelTurn() {
		if (this.turn != null) {
			this.turn.cancel();
			this.turn = null;
		}
	}

	/**
	 * Learn that the awaited lock is granted. Until the process has its turn, it may
	 * still be cancelled.
	 */
	void granted() {
		if (this.state == State.WAITING) {
			takeTurn();
		}
	}

	/**
	 * The server has crashed.
	 */
	void kill() {
		this.timers.disarmAll();
		cancelTurn();
		boolean told = this.state == State.ENDING;
		become(State.ENDED);
		this.inbox.clear();
		this.holds.clear();
		if (!told) {
			this.onEnd.accept(SessionEnd.CRASH);
		}
	}

	// The process

	private void takeTurn() {
		if (this.turn == null) {
			this.turn = this.server.events().schedule(this.server.pace(), this.onTurn);
		}
	}

	/**
	 * Work until there is something to wait for, or another process has its turn.
	 */
	private void turn() {
		this.turn = null;
		if (isFrozen()) {
			this.turnHeld = true;
			return;
		}
		while (advance()) {
			long pause = this.server.pace();
			if (pause > 0 && this.turn == null) {
				this.turn = this.server.events().schedule(pause, this.onTurn);
				return;
			}
		}
	}

	/**
	 * Do one step.
	 * @return whether the process goes on working
	 */
	private boolean advance() {
		return switch (this.state) {
			case IDLE, RECEIVING -> {
				if (this.end == null && this.clientGone) {
					this.end = SessionEnd.CLIENT_GONE;
				}
				yield this.end != null && leave();
			}
			case WAITING, SLEEPING, STEPPING -> (this.end != null) ? leave() : step();
			case RELEASING -> {
				this.transaction.releasePartition();
				if (!this.transaction.hasLocks()) {
					this.transaction.end(this.commit);
					become(State.REPLYING);
				}
				yield true;
			}
			case REPLYING -> {
				reply();
				yield false;
			}
			case ENDING -> die();
			case ENDED -> false;
		};
	}

	private void begin() {
		disarmIdleTimers();
		this.request = this.inbox.remove();
		this.step = 0;
		this.nextStep = 0;
		this.cancel = null;
		this.error = null;
		this.onCommit = null;
		this.commit = !this.failed;
		become(State.STEPPING);
		this.timers.arm(Timeout.STATEMENT, setting(Timeout.STATEMENT));
		this.timers.arm(Timeout.CLIENT_CHECK, setting(Timeout.CLIENT_CHECK));
		takeTurn();
	}

	private void disarmIdleTimers() {
		this.timers.disarm(Timeout.IDLE_SESSION);
		this.timers.disarm(Timeout.IDLE_IN_TRANSACTION);
	}

	private boolean step() {
		SqlError problem = this.cancel;
		if (this.state == State.WAITING) {
			if (problem == null && this.awaited.isWaiting()) {
				return false;
			}
			endWait();
		}
		else if (this.state == State.STEPPING) {
			this.step = this.nextStep;
		}
		this.state = State.STEPPING;
		this.cancel = null;
		Statement<?> statement = this.request.statement;
		if (problem == null && this.nextStep == Statement.END) {
			endStatement();
			return true;
		}
		try {
			if (problem == null) {
				this.step = this.nextStep;
				try {
					if (this.failed && !statement.endsTransaction()) {
						throw SqlError.FAILED_TRANSACTION;
					}
					this.nextStep = statement.step(this.step, this);
				}
				catch (SqlError ex) {
					problem = ex;
				}
			}
			if (problem != null) {
				this.nextStep = statement.handle(this.step, problem, this);
			}
		}
		catch (SqlError ex) {
			fail(ex);
			return true;
		}
		return this.state == State.STEPPING;
	}

	/**
	 * Leave the queue, or keep the lock: it may have been granted together with the
	 * interrupt.
	 */
	private void endWait() {
		this.timers.disarm(Timeout.LOCK);
		Hold hold = this.awaited;
		this.awaited = null;
		if (hold.isWaiting()) {
			this.server.lockTable().leaveQueue(hold);
		}
		else {
			own(hold, this.mode, this.scope);
		}
	}

	private void endStatement() {
		if (this.block) {
			become(State.REPLYING);
			return;
		}
		endTransaction(this.commit);
		if (this.commit && this.onCommit != null) {
			this.onCommit.run();
		}
		become(State.RELEASING);
	}

	/**
	 * Commit or roll back. The rows are visible to others from now on, and not locked any
	 * longer; the other locks are freed later.
	 */
	private void endTransaction(boolean commitTransaction) {
		this.server.table().end(this, commitTransaction);
		this.transaction.log(commitTransaction);
		this.snapshot = null;
		this.endings = null;
		this.repeatableRead = false;
		this.fenced = false;
		List<String> sent = List.copyOf(this.notices);
		this.notices.clear();
		if (commitTransaction) {
			sent.forEach(this.server::notifyListeners);
		}
	}

	private void fail(SqlError problem) {
		this.error = problem;
		this.commit = false;
		if (this.block && this.transaction.abortSubtransaction()) {
			this.failed = true;
			become(State.REPLYING);
			return;
		}
		this.failed = this.block;
		endTransaction(false);
		become(State.RELEASING);
	}

	private void reply() {
		this.timers.disarm(Timeout.STATEMENT);
		this.timers.disarm(Timeout.CLIENT_CHECK);
		Request<?> done = this.request;
		SqlError problem = this.error;
		this.request = null;
		this.cancel = null;
		become(State.IDLE);
		if (this.end != null || this.clientGone) {
			takeTurn();
		}
		else if (!this.inbox.isEmpty()) {
			begin();
		}
		else {
			Timeout idle = this.block ? Timeout.IDLE_IN_TRANSACTION : Timeout.IDLE_SESSION;
			this.timers.arm(idle, setting(idle));
		}
		if (!this.clientGone) {
			done.reply(problem);
		}
	}

	/**
	 * Begin to end: tell the client, and then free the locks.
	 */
	private boolean leave() {
		this.timers.disarmAll();
		if (this.state == State.WAITING) {
			endWait();
		}
		this.inbox.clear();
		endTransaction(false);
		become(State.ENDING);
		this.onEnd.accept(this.end);
		return true;
	}

	/**
	 * Free the locks of one partition of the lock table: first those of the transaction,
	 * then those of the session. Then count the end, and only then be gone.
	 */
	private boolean die() {
		if (this.transaction.hasLocks()) {
			this.transaction.releasePartition();
			return true;
		}
		if (!this.holds.isEmpty()) {
			int partition = Integer.MAX_VALUE;
			for (Hold hold : this.holds) {
				partition = Math.min(partition, hold.partition());
			}
			for (int index = this.holds.size() - 1; index >= 0; index--) {
				if (this.holds.get(index).partition() == partition) {
					unlockAll(this.holds.get(index));
				}
			}
			return true;
		}
		if (!this.counted) {
			this.counted = true;
			this.server.count(this.killed ? SessionEnd.Cause.KILLED : this.end.cause());
			return true;
		}
		become(State.ENDED);
		this.server.ended(this);
		return false;
	}

	private void become(State next) {
		boolean wasActive = this.state != State.IDLE;
		this.state = next;
		if (wasActive != (next != State.IDLE)) {
			this.stateChange = this.server.clock().now();
		}
	}

	List<Hold> holds() {
		return this.holds;
	}

	Activity activity() {
		return new Activity(this.pid, this.applicationName, this.role, this.start, this.state != State.IDLE,
				this.state == State.RECEIVING, this.stateChange);
	}

	private enum State {

		/** Waits for a request. */
		IDLE,

		/** Has a part of a request. */
		RECEIVING,

		/** Waits for a lock. */
		WAITING,

		SLEEPING,

		/** Runs a statement. */
		STEPPING,

		/** Ends the transaction. */
		RELEASING,

		/** Is about to reply. */
		REPLYING,

		/** Frees its locks and counts the session, since it ends. */
		ENDING,

		ENDED;

		/**
		 * Return whether a statement can be cancelled.
		 */
		boolean isRunning() {
			return this == WAITING || this == SLEEPING || this == STEPPING;
		}

	}

	/**
	 * A request of the client.
	 */
	private record Request<T>(Statement<T> statement, Consumer<Reply<T>> reply) {

		void reply(@Nullable SqlError error) {
			this.reply.accept(new Reply<>((error != null) ? null : this.statement.result(), error));
		}

		@Override
		public Consumer<Reply<T>> reply() {
			return this.reply;
		}

	}

}
