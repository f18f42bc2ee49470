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
 * The transaction ids of a server, and what of them is in its write-ahead log. A crash
 * forgets the ids of which no durable record tells, and they are issued again.
 */
final class WriteAheadLog {

	static final long FIRST = 700;

	private final EventQueue events;

	private final long writerDelayNanos;

	private final Runnable onFlush;

	private long next = FIRST;

	/** The last ids that records tell of: in memory and durable. */
	private long inserted = FIRST - 1;

	private long flushed = FIRST - 1;

	private boolean inRecovery;

	private EventQueue.Event writer;

	/**
	 * Create a log.
	 * @param onFlush called when everything becomes durable that is committed
	 */
	WriteAheadLog(EventQueue events, long writerDelayNanos, Runnable onFlush) {
		this.events = events;
		this.writerDelayNanos = writerDelayNanos;
		this.onFlush = onFlush;
	}

	boolean isInRecovery() {
		return this.inRecovery;
	}

	/**
	 * Return the transaction id that the next transaction gets.
	 */
	long peek() {
		return this.next;
	}

	long nextTransactionId() throws SqlError {
		if (this.inRecovery) {
			throw SqlError.READ_ONLY;
		}
		return this.next++;
	}

	void insert(long transactionId) {
		this.inserted = Math.max(this.inserted, transactionId);
	}

	void flush() {
		this.flushed = this.inserted;
		this.onFlush.run();
	}

	/**
	 * Have the writer flush what has been inserted.
	 */
	void flushLater() {
		if (this.writer == null) {
			this.writer = this.events.schedule(this.writerDelayNanos, () -> {
				this.writer = null;
				flush();
			});
		}
	}

	void crash() {
		stopWriter();
		this.inserted = this.flushed;
		this.next = this.flushed + 1;
	}

	/**
	 * Stop cleanly, with a checkpoint that keeps the next transaction id.
	 */
	void shutDown() {
		stopWriter();
		this.inserted = this.next - 1;
		flush();
	}

	private void stopWriter() {
		if (this.writer != null) {
			this.writer.cancel();
			this.writer = null;
		}
	}

	/**
	 * Replay what another server has made durable.
	 */
	void replay(WriteAheadLog primary) {
		this.inRecovery = true;
		this.flushed = primary.flushed;
		this.inserted = this.flushed;
		this.next = this.flushed + 1;
	}

	void promote() {
		this.inRecovery = false;
	}

}
