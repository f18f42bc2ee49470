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

package io.leaderelection.simulation;

import java.time.Duration;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import org.jspecify.annotations.Nullable;

/**
 * Sessions of another election, without a store and other nodes.
 */
final class LocalStore implements ElectionStore {

	private long terms;

	@Override
	public StoreSession open() {
		return new LocalSession(new Term(0, 0, ++this.terms));
	}

	private static final class LocalSession implements StoreSession {

		private final Term term;

		private boolean aborted;

		LocalSession(Term term) {
			this.term = term;
		}

		@Override
		public Acquisition acquire(Duration timeout) {
			return new Acquisition.Won(this.term, Acquisition.Ending.CLEAN, true);
		}

		@Override
		public View observe() {
			return new View(null, List.of(), null);
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

		@Override
		public Duration probe(Duration longest) throws SessionException {
			if (this.aborted) {
				throw new SessionException("Aborted", null);
			}
			return Duration.ofSeconds(1);
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
		}

	}

}
