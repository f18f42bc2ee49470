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

package io.leaderelection.postgresql;

/**
 * What a session does in a comparison.
 *
 * @param kind what it does
 * @param session which session
 * @param election the number of the election
 * @param term the number of the takeover that it is about, if it needs one
 * @param number a small number: the beat of a renewal
 * @param flag a clean release, a request that is made, or a transaction with
 * {@code REPEATABLE READ}
 */
record TableOperation(Kind kind, int session, int election, int term, int number, boolean flag) {

	@Override
	public String toString() {
		return "session " + this.session + ": " + this.kind + " election " + this.election + " term " + this.term + " "
				+ this.number + " " + this.flag;
	}

	enum Kind {

		BEGIN, TRANSACTION_ID, COMMIT, ROLLBACK, INSERT, READ, RENEW, TAKE_OVER, PASS_BARRIER, LOCKERS, RELEASE,
		REQUEST, CANDIDATES, WITHDRAW, FENCE, IS_HELD

	}

}
