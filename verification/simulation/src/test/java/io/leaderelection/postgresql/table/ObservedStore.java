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

package io.leaderelection.postgresql.table;

import java.time.Duration;
import java.util.List;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.simulation.Node;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that tell their node what they do.
 *
 * @param node the node
 * @param store the store
 */
record ObservedStore(Node node, ElectionStore store) implements ElectionStore {

	@Override
	public StoreSession open() throws SessionException {
		return new ObservedSession(this.node, this.store.open());
	}

	@Override
	public void abandon() {
		this.store.abandon();
	}

	@Override
	public void resigned() {
		this.store.resigned();
	}

	@Override
	public void requestResignation(Term term, String cause, Duration limit) throws SessionException {
		this.store.requestResignation(term, cause, limit);
	}

	@Override
	public String name() {
		return this.store.name();
	}

	@Override
	public TransactionFence fence() {
		return this.store.fence();
	}

	private record ObservedSession(Node node, StoreSession session) implements StoreSession {

		@Override
		public boolean becomeCandidate() throws SessionException {
			return this.session.becomeCandidate();
		}

		@Override
		public void withdraw() throws SessionException {
			this.session.withdraw();
		}

		@Override
		public Acquisition acquire(Duration timeout) throws SessionException {
			Acquisition acquisition = this.session.acquire(timeout);
			if (acquisition instanceof Acquisition.Won won) {
				this.node.won(won.term());
			}
			else {
				this.node.held();
			}
			return acquisition;
		}

		@Override
		public boolean isStandby() {
			return this.session.isStandby();
		}

		@Override
		public View observe() throws SessionException {
			return this.session.observe();
		}

		@Override
		public Confirmation confirm() throws SessionException {
			Confirmation confirmation = this.session.confirm();
			this.node.confirmed();
			return confirmation;
		}

		@Override
		public List<Candidate> candidates() throws SessionException {
			return this.session.candidates();
		}

		@Override
		public @Nullable String name() {
			return this.session.name();
		}

		@Override
		public @Nullable String passBarrier(Duration timeout) throws SessionException {
			return this.session.passBarrier(timeout);
		}

		@Override
		public Duration probe(Duration longest) throws SessionException {
			this.node.step();
			return this.session.probe(longest);
		}

		@Override
		public void wake() {
			this.session.wake();
		}

		@Override
		public boolean release(boolean clean) throws SessionException {
			this.node.releases(clean);
			return this.session.release(clean);
		}

		@Override
		public void close() {
			this.session.close();
		}

		@Override
		public void abort() {
			this.session.abort();
		}

	}

}
