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

package io.leaderelection.postgresql.advisory;

/**
 * What a node or the transaction of a leader does in a comparison.
 *
 * @param kind what it does
 * @param session which session; those of transactions have numbers of their own
 * @param term the number of the term that it is about, if it needs one
 * @param patient whether it waits for as long as a wait may take, or not at all
 */
record ElectionOperation(Kind kind, int session, int term, boolean patient) {

	/**
	 * Return whether it ends a session in which a node may have won.
	 */
	boolean endsSession() {
		return this.kind == Kind.CLOSE || this.kind == Kind.TERMINATE || this.kind == Kind.EXPIRE;
	}

	boolean mayWait() {
		return this.patient && (this.kind == Kind.ACQUIRE || this.kind == Kind.PASS_BARRIER);
	}

	@Override
	public String toString() {
		return "session " + this.session + ": " + this.kind + switch (this.kind) {
			case ACQUIRE, PASS_BARRIER -> this.patient ? " patiently" : "";
			case RELEASE -> this.patient ? " cleanly" : "";
			case REQUEST, FENCE -> " term " + this.term;
			default -> "";
		};
	}

	enum Kind {

		OPEN, WATCH, CLOSE, TERMINATE, EXPIRE, RESET_STATISTICS, CANCEL, BECOME_CANDIDATE, WITHDRAW, ACQUIRE, OBSERVE,
		REQUEST, CONFIRM, PASS_BARRIER, RELEASE, BEGIN, FENCE, COMMIT, ROLLBACK

	}

}
