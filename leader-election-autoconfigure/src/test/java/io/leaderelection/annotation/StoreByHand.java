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

package io.leaderelection.annotation;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.LocalStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import org.jspecify.annotations.Nullable;

/**
 * Sessions of a node that leads when a test says so.
 */
final class StoreByHand implements ElectionStore {

	/** How late a node notices a change, as with the advisory lock. */
	private static final Duration INTERVAL = Duration.ofMillis(10);

	private volatile boolean leads;

	private final List<StoreSession> opened = new CopyOnWriteArrayList<>();

	StoreByHand(boolean leads) {
		this.leads = leads;
	}

	void grant() {
		this.leads = true;
	}

	/**
	 * End all sessions, as a server would.
	 */
	void lose() {
		this.leads = false;
		this.opened.forEach(StoreSession::abort);
	}

	@Override
	public StoreSession open() throws SessionException {
		StoreSession session = new Session(LocalStore.always().open());
		this.opened.add(session);
		return session;
	}

	private final class Session implements StoreSession {

		private final StoreSession local;

		private Session(StoreSession local) {
			this.local = local;
		}

		@Override
		public Acquisition acquire(Duration timeout) throws SessionException {
			if (StoreByHand.this.leads) {
				return this.local.acquire(timeout);
			}
			LockSupport.parkNanos(Math.min(INTERVAL.toNanos(), timeout.toNanos()));
			probe(Duration.ZERO);
			return new Acquisition.Held(View.NONE);
		}

		@Override
		public View observe() throws SessionException {
			return this.local.observe();
		}

		@Override
		public Confirmation confirm() throws SessionException {
			return this.local.confirm();
		}

		@Override
		public @Nullable String passBarrier(Duration timeout) throws SessionException {
			return this.local.passBarrier(timeout);
		}

		@Override
		public Duration probe(Duration longest) throws SessionException {
			this.local.probe(longest);
			return INTERVAL;
		}

		@Override
		public boolean release(boolean clean) throws SessionException {
			return this.local.release(clean);
		}

		@Override
		public void close() {
			this.local.close();
		}

		@Override
		public void abort() {
			this.local.abort();
		}

	}

}
