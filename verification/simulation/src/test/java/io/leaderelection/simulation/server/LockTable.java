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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import org.jspecify.annotations.Nullable;

/**
 * The lock manager, as {@code lock.c} and {@code proc.c} of PostgreSQL have it: who holds
 * which lock, who waits in which order, and who is granted a lock when another one is
 * freed.
 */
final class LockTable {

	private static final int PARTITIONS = 16;

	private final Map<LockKey, Lock> locks = new LinkedHashMap<>();

	private final boolean tryLockMayJumpQueue;

	private final int partitionSeed;

	LockTable(ServerSettings settings) {
		this.tryLockMayJumpQueue = settings.tryLockMayJumpQueue();
		this.partitionSeed = settings.partitionSeed();
	}

	/**
	 * Take a lock or enter its queue.
	 * @param wait whether to wait
	 * @return the lock of the session if it was granted or is awaited, or {@code null} if
	 * it was refused
	 * @throws SqlError if the wait would never end
	 */
	@Nullable Hold acquire(Backend backend, LockKey key, LockMode mode, boolean wait) throws SqlError {
		Lock lock = this.locks.computeIfAbsent(key, (created) -> new Lock(created, partition(created)));
		Hold hold = lock.holdOf(backend);
		if (hold == null) {
			hold = new Hold(lock, backend);
			lock.holds.add(hold);
			backend.holds().add(hold);
		}
		if (hold.counts[mode.ordinal()] > 0) {
			hold.counts[mode.ordinal()]++;
			return hold;
		}
		if (!lock.isAwaited(mode) && lock.isFree(hold, mode)) {
			lock.grant(hold, mode);
			return hold;
		}
		if (!wait && !this.tryLockMayJumpQueue) {
			discard(hold);
			return null;
		}
		int place = placeInQueue(hold, mode, wait);
		if (place == Lock.NO_WAIT) {
			lock.grant(hold, mode);
			return hold;
		}
		if (!wait) {
			discard(hold);
			return null;
		}
		hold.awaited = mode;
		lock.queue.add(place, hold);
		return hold;
	}

	/**
	 * Return the place in the queue: the last one, or, for a session that already holds
	 * the lock in another mode, the one before the first waiter that waits for it.
	 */
	private int placeInQueue(Hold hold, LockMode mode, boolean wait) throws SqlError {
		Lock lock = hold.lock;
		if (hold.isHeld()) {
			boolean conflictAhead = false;
			for (int place = 0; place < lock.queue.size(); place++) {
				Hold waiter = lock.queue.get(place);
				if (hold.conflictsWith(waiter.awaited())) {
					if (waiter.conflictsWith(mode)) {
						discard(hold);
						if (wait) {
							throw SqlError.DEADLOCK;
						}
						return lock.queue.size();
					}
					return (!conflictAhead && lock.isFree(hold, mode)) ? Lock.NO_WAIT : place;
				}
				conflictAhead |= mode.conflictsWith(waiter.awaited());
			}
		}
		return lock.queue.size();
	}

	/**
	 * Free a lock once; others may hold it and the session may hold it more than once.
	 */
	void release(Hold hold, LockMode mode) {
		if (--hold.counts[mode.ordinal()] == 0) {
			Lock lock = hold.lock;
			lock.granted[mode.ordinal()]--;
			boolean awaited = lock.isAwaited(mode);
			discard(hold);
			if (awaited) {
				lock.wakeUp();
			}
		}
	}

	/**
	 * Leave the queue.
	 */
	void leaveQueue(Hold hold) {
		hold.lock.queue.remove(hold);
		hold.awaited = null;
		discard(hold);
		hold.lock.wakeUp();
	}

	private void discard(Hold hold) {
		if (hold.isHeld() || hold.awaited != null) {
			return;
		}
		hold.lock.holds.remove(hold);
		hold.backend.holds().remove(hold);
		if (hold.lock.holds.isEmpty()) {
			this.locks.remove(hold.lock.key);
		}
	}

	@Nullable Hold find(Backend backend, LockKey key) {
		Lock lock = this.locks.get(key);
		return (lock != null) ? lock.holdOf(backend) : null;
	}

	void clear() {
		this.locks.clear();
	}

	void visit(LockVisitor visitor) {
		for (Lock lock : this.locks.values()) {
			for (Hold hold : lock.holds) {
				for (LockMode mode : LockMode.VALUES) {
					if (hold.counts[mode.ordinal()] > 0) {
						visitor.visit(lock.key, mode, hold.backend.pid(), true);
					}
				}
				if (hold.awaited != null) {
					visitor.visit(lock.key, hold.awaited, hold.backend.pid(), false);
				}
			}
		}
	}

	/**
	 * Return the partition of the table that a lock is in. The locks of one partition are
	 * freed together.
	 */
	private int partition(LockKey key) {
		int hash = (key.hashCode() ^ this.partitionSeed) * 0x9E3779B9;
		return (hash ^ (hash >>> 15)) & (PARTITIONS - 1);
	}

	/**
	 * A lock that some session holds or waits for.
	 */
	private static final class Lock {

		private static final int NO_WAIT = -1;

		private final LockKey key;

		private final int partition;

		private final List<Hold> holds = new ArrayList<>(4);

		private final List<Hold> queue = new ArrayList<>(4);

		/** How many sessions hold it in each mode. */
		private final int[] granted = new int[LockMode.VALUES.length];

		private Lock(LockKey key, int partition) {
			this.key = key;
			this.partition = partition;
		}

		private @Nullable Hold holdOf(Backend backend) {
			for (Hold hold : this.holds) {
				if (hold.backend == backend) {
					return hold;
				}
			}
			return null;
		}

		/**
		 * Return whether someone waits in a mode that conflicts.
		 */
		private boolean isAwaited(LockMode mode) {
			for (Hold waiter : this.queue) {
				if (mode.conflictsWith(waiter.awaited())) {
					return true;
				}
			}
			return false;
		}

		/**
		 * Return whether no other session holds it in a mode that conflicts.
		 */
		private boolean isFree(Hold hold, LockMode mode) {
			for (LockMode other : LockMode.VALUES) {
				int own = (hold.counts[other.ordinal()] > 0) ? 1 : 0;
				if (mode.conflictsWith(other) && this.granted[other.ordinal()] > own) {
					return false;
				}
			}
			return true;
		}

		private void grant(Hold hold, LockMode mode) {
			this.granted[mode.ordinal()]++;
			hold.counts[mode.ordinal()] = 1;
		}

		/**
		 * Grant the lock to every waiter that conflicts neither with a holder nor with a
		 * waiter ahead of it.
		 */
		private void wakeUp() {
			boolean sharedAhead = false;
			boolean exclusiveAhead = false;
			for (int place = 0; place < this.queue.size();) {
				Hold waiter = this.queue.get(place);
				LockMode mode = waiter.awaited();
				boolean ahead = exclusiveAhead || (mode == LockMode.EXCLUSIVE && sharedAhead);
				if (!ahead && isFree(waiter, mode)) {
					this.queue.remove(place);
					waiter.awaited = null;
					grant(waiter, mode);
					waiter.backend.granted();
				}
				else {
					sharedAhead |= mode == LockMode.SHARE;
					exclusiveAhead |= mode == LockMode.EXCLUSIVE;
					place++;
				}
			}
		}

	}

	/**
	 * What one session has of one lock.
	 */
	static final class Hold {

		private final Lock lock;

		private final Backend backend;

		/** How often it is held in each mode. */
		private final int[] counts = new int[LockMode.VALUES.length];

		/** How often of those for the session. */
		private final int[] sessionCounts = new int[LockMode.VALUES.length];

		private @Nullable LockMode awaited;

		private Hold(Lock lock, Backend backend) {
			this.lock = lock;
			this.backend = backend;
		}

		boolean isWaiting() {
			return this.awaited != null;
		}

		private boolean isHeld() {
			return this.counts[0] > 0 || this.counts[1] > 0;
		}

		private LockMode awaited() {
			if (this.awaited == null) {
				throw new IllegalStateException();
			}
			return this.awaited;
		}

		private boolean conflictsWith(LockMode mode) {
			for (LockMode held : LockMode.VALUES) {
				if (this.counts[held.ordinal()] > 0 && mode.conflictsWith(held)) {
					return true;
				}
			}
			return false;
		}

		int partition() {
			return this.lock.partition;
		}

		LockKey key() {
			return this.lock.key;
		}

		int count(LockMode mode) {
			return this.counts[mode.ordinal()];
		}

		int sessionCount(LockMode mode) {
			return this.sessionCounts[mode.ordinal()];
		}

		void countForSession(LockMode mode, int change) {
			this.sessionCounts[mode.ordinal()] += change;
		}

	}

}
