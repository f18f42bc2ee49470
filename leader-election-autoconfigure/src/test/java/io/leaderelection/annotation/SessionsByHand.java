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
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.engine.ElectionSession;
import io.leaderelection.engine.ElectionSessions;
import io.leaderelection.engine.LocalSessions;
import io.leaderelection.engine.SessionException;
import org.jspecify.annotations.Nullable;

/**
 * Sessions of a node that leads when a test says so.
 */
final class SessionsByHand implements ElectionSessions {

	private volatile boolean leads;

	private final List<ElectionSession> opened = new CopyOnWriteArrayList<>();

	SessionsByHand(boolean leads) {
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
		this.opened.forEach(ElectionSession::abort);
	}

	@Override
	public ElectionSession open() throws SessionException {
		ElectionSession session = new Session(LocalSessions.always().open());
		this.opened.add(session);
		return session;
	}

	private final class Session implements ElectionSession {

		private final ElectionSession local;

		private Session(ElectionSession local) {
			this.local = local;
		}

		@Override
		public Acquisition acquire(Duration timeout) throws SessionException {
			if (SessionsByHand.this.leads) {
				return this.local.acquire(timeout);
			}
			LockSupport.parkNanos(Math.min(TimeUnit.MILLISECONDS.toNanos(10), timeout.toNanos()));
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
			return this.local.probe(longest);
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
