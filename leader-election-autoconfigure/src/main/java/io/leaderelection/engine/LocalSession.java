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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;

import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * A session without a store.
 */
final class LocalSession implements ElectionSession {

	private static final AtomicLong terms = new AtomicLong(System.currentTimeMillis());

	private final BooleanSupplier wins;

	private final @Nullable Leader other;

	private final Semaphore cancelled = new Semaphore(0);

	private final CountDownLatch aborted = new CountDownLatch(1);

	/**
	 * Create a new {@code LocalSession} instance.
	 * @param wins whether this session wins; asked again after {@link #cancel()}
	 * @param other who leads while it does not
	 */
	LocalSession(BooleanSupplier wins, @Nullable Leader other) {
		this.wins = wins;
		this.other = other;
	}

	@Override
	public Acquisition acquire(Duration timeout) throws SessionException {
		if (this.wins.getAsBoolean()) {
			return new Acquisition.Won(new Term(0, 0, terms.incrementAndGet()), true);
		}
		try {
			this.cancelled.tryAcquire(timeout.toNanos(), TimeUnit.NANOSECONDS);
		}
		catch (InterruptedException ex) {
			throw new SessionException("Interrupted", ex);
		}
		return new Acquisition.Held(this.other);
	}

	@Override
	public View observe() {
		return new View(this.other, List.of());
	}

	@Override
	public Confirmation confirm() throws SessionException {
		park(Duration.ZERO);
		return new Confirmation(null, false);
	}

	@Override
	public @Nullable String passBarrier(Duration timeout) {
		return null;
	}

	@Override
	public void park(Duration timeout) throws SessionException {
		try {
			if (this.aborted.await(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
				throw new SessionException("Aborted", null);
			}
		}
		catch (InterruptedException ex) {
			throw new SessionException("Interrupted", ex);
		}
	}

	@Override
	public void release(boolean clean) {
	}

	@Override
	public void close() {
	}

	@Override
	public void cancel() {
		this.cancelled.release();
	}

	@Override
	public void abort() {
		this.aborted.countDown();
		cancel();
	}

}
