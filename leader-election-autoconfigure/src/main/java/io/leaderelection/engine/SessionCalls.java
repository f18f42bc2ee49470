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

import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * The calls of one election thread to its store, each with a deadline that the watchdog
 * sees to: a driver may wait for ever on half a message.
 */
final class SessionCalls {

	static final long NO_DEADLINE = TimeUnit.HOURS.toNanos(1);

	private final TimeSource time;

	private final Watchdog watchdog;

	private volatile @Nullable Call current;

	SessionCalls(TimeSource time, Watchdog watchdog) {
		this.time = time;
		this.watchdog = watchdog;
	}

	/**
	 * Make a call on the current thread.
	 * @param limit how long it may take, in nanoseconds
	 * @param onOverrun ends it when it takes longer; run by the watchdog at most once
	 * @param call the call
	 */
	<T extends @Nullable Object> T make(long limit, Runnable onOverrun, SessionCall<T> call) throws SessionException {
		this.current = new Call(this.time.nanoTime() + limit, onOverrun);
		this.watchdog.lookWithin(limit);
		try {
			return call.run();
		}
		finally {
			this.current = null;
		}
	}

	/**
	 * End a call that takes too long.
	 * @return when to look again, in nanoseconds from now
	 */
	long check(long now) {
		Call call = this.current;
		if (call == null || call.ended) {
			return NO_DEADLINE;
		}
		long remaining = call.deadline - now;
		if (remaining > 0) {
			return remaining;
		}
		call.ended = true;
		call.onOverrun.run();
		return NO_DEADLINE;
	}

	/**
	 * A call to the store.
	 *
	 * @param <T> the type of its result
	 */
	@FunctionalInterface
	interface SessionCall<T extends @Nullable Object> {

		T run() throws SessionException;

	}

	/**
	 * A call in progress.
	 */
	private static final class Call {

		private final long deadline;

		private final Runnable onOverrun;

		private volatile boolean ended;

		Call(long deadline, Runnable onOverrun) {
			this.deadline = deadline;
			this.onOverrun = onOverrun;
		}

	}

}
