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

package io.leaderelection.engine;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * A session without a store.
 */
final class LocalSession implements StoreSession {

	private static final AtomicLong terms = new AtomicLong(System.currentTimeMillis());

	/** An abort is part of a transition, which ends every wait. */
	private static final Duration PROBE_INTERVAL = Duration.ofSeconds(1);

	private final BooleanSupplier wins;

	private final @Nullable Holder other;

	private final Semaphore wakeUps = new Semaphore(0);

	private volatile boolean aborted;

	/**
	 * Create a new {@code LocalSession} instance.
	 * @param wins whether this session wins; evaluated again after {@link #wake()}
	 * @param other the leader while this session does not win, or {@code null}
	 */
	LocalSession(BooleanSupplier wins, @Nullable Holder other) {
		this.wins = wins;
		this.other = other;
	}

	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		if (!this.wins.getAsBoolean()) {
			await(timeout);
		}
		return this.wins.getAsBoolean()
				? new Acquisition.Won(new Term(0, 0, terms.incrementAndGet()), Acquisition.Ending.CLEAN, true)
				: new Acquisition.Held(this.other);
	}

	@Override
	public View observe() {
		return new View(this.other, List.of(), null);
	}

	@Override
	public Confirmation confirm(boolean whole) throws SessionException {
		probe(Duration.ZERO);
		return new Confirmation(null, false, null);
	}

	@Override
	public @Nullable String passBarrier(Duration timeout) {
		return null;
	}

	private void await(Duration timeout) throws SessionException {
		try {
			if (!this.aborted && this.wakeUps.tryAcquire(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
				this.wakeUps.drainPermits();
			}
		}
		catch (InterruptedException ex) {
			throw new SessionException("Interrupted", ex);
		}
		probe(Duration.ZERO);
	}

	@Override
	public Duration probe(Duration longest) throws SessionException {
		if (this.aborted) {
			throw new SessionException("Aborted", null);
		}
		return PROBE_INTERVAL;
	}

	@Override
	public void wake() {
		this.wakeUps.release();
	}

	@Override
	public boolean release(boolean clean) {
		return false;
	}

	@Override
	public void close() {
	}

	@Override
	public void abort() {
		this.aborted = true;
		wake();
	}

}
