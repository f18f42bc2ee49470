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

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A hand-over that was requested by the application. Leader work or a listener that waits
 * for this future, or for a stage that depends on it, would wait for itself. It is
 * therefore excluded from the drain from then on. A wait for a combination of futures
 * cannot be recognized.
 *
 * @param <T> the type of the result
 */
final class Resignation<T> extends CompletableFuture<T> {

	private final Runnable detachment;

	/**
	 * Create a new {@code Resignation} instance.
	 * @param detachment excludes the current thread from the drain
	 */
	Resignation(Runnable detachment) {
		this.detachment = detachment;
	}

	@Override
	public <U> CompletableFuture<U> newIncompleteFuture() {
		return new Resignation<>(this.detachment);
	}

	@Override
	public T get() throws InterruptedException, ExecutionException {
		detachCaller();
		return super.get();
	}

	@Override
	public T get(long timeout, TimeUnit unit) throws InterruptedException, ExecutionException, TimeoutException {
		detachCaller();
		return super.get(timeout, unit);
	}

	@Override
	public T join() {
		detachCaller();
		return super.join();
	}

	private void detachCaller() {
		if (!isDone()) {
			this.detachment.run();
		}
	}

}
