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
import java.util.List;

import io.leaderelection.simulation.server.LockTable.Hold;
import org.jspecify.annotations.Nullable;

/**
 * The transaction of a session: its transaction id, its locks, its savepoints and the
 * settings that end with it.
 */
final class Transaction {

	private static final int SETTINGS = Timeout.values().length;

	private final LockTable table;

	private final WriteAheadLog log;

	/** The settings of the session, and those that hold at present. */
	private long[] committed = new long[SETTINGS];

	private long[] ofSession = new long[SETTINGS];

	private long[] present = new long[SETTINGS];

	private final List<TransactionLock> locks = new ArrayList<>();

	private final List<Savepoint> savepoints = new ArrayList<>();

	private boolean set;

	private long id;

	private boolean durable;

	private boolean logged;

	Transaction(LockTable table, WriteAheadLog log) {
		this.table = table;
		this.log = log;
	}

	long setting(Timeout timeout) {
		return this.present[timeout.ordinal()];
	}

	void set(Timeout timeout, long millis, boolean local) {
		this.set = true;
		this.present[timeout.ordinal()] = millis;
		if (!local) {
			this.ofSession[timeout.ordinal()] = millis;
		}
	}

	void add(Hold hold, LockMode mode) {
		this.locks.add(new TransactionLock(hold, mode));
	}

	void savepoint() {
		this.savepoints.add(new Savepoint(this.locks.size(), this.ofSession.clone(), this.present.clone()));
	}

	boolean releaseSavepoint() {
		return pop() != null;
	}

	boolean rollbackToSavepoint() {
		Savepoint savepoint = pop();
		if (savepoint == null) {
			return false;
		}
		rollBack(savepoint);
		return true;
	}

	/**
	 * Undo what has happened since the innermost savepoint, which stays.
	 * @return whether there is one
	 */
	boolean abortSubtransaction() {
		if (this.savepoints.isEmpty()) {
			return false;
		}
		rollBack(this.savepoints.get(this.savepoints.size() - 1));
		return true;
	}

	private void rollBack(Savepoint savepoint) {
		while (this.locks.size() > savepoint.locks) {
			TransactionLock last = this.locks.remove(this.locks.size() - 1);
			this.table.release(last.hold, last.mode);
		}
		this.ofSession = savepoint.ofSession.clone();
		this.present = savepoint.present.clone();
	}

	private @Nullable Savepoint pop() {
		return this.savepoints.isEmpty() ? null : this.savepoints.remove(this.savepoints.size() - 1);
	}

	/**
	 * Return the id, which is assigned when it is first asked for.
	 */
	long id() throws SqlError {
		if (this.id == 0) {
			this.id = this.log.nextTransactionId();
		}
		return this.id;
	}

	/**
	 * Write a record, so that the commit waits until it is durable.
	 */
	void write() throws SqlError {
		this.log.insert(id());
		this.durable = true;
	}

	/**
	 * Write the record of the end, and make it durable if the transaction asks for it.
	 */
	void log(boolean commit) {
		if (this.id != 0 && !this.logged) {
			this.logged = true;
			this.log.insert(this.id);
			if (commit && this.durable) {
				this.log.flush();
			}
			else {
				this.log.flushLater();
			}
		}
	}

	/**
	 * Free the locks of one partition of the lock table.
	 */
	void releasePartition() {
		int partition = Integer.MAX_VALUE;
		for (TransactionLock lock : this.locks) {
			partition = Math.min(partition, lock.hold.partition());
		}
		for (int index = this.locks.size() - 1; index >= 0; index--) {
			TransactionLock lock = this.locks.get(index);
			if (lock.hold.partition() == partition) {
				this.locks.remove(index);
				this.table.release(lock.hold, lock.mode);
			}
		}
	}

	boolean hasLocks() {
		return !this.locks.isEmpty();
	}

	/**
	 * End the transaction, whose locks are free.
	 */
	void end(boolean commit) {
		if (this.set) {
			this.set = false;
			long[] settings = commit ? this.ofSession : this.committed;
			this.committed = settings.clone();
			this.ofSession = settings.clone();
			this.present = settings.clone();
		}
		this.savepoints.clear();
		this.id = 0;
		this.durable = false;
		this.logged = false;
	}

	/** A lock until the end of the transaction, once. */
	private record TransactionLock(Hold hold, LockMode mode) {
	}

	/** Where a subtransaction began. */
	private record Savepoint(int locks, long[] ofSession, long[] present) {
	}

}
