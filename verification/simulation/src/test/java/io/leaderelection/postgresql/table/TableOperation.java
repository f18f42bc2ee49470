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

/**
 * What a session does in a comparison.
 *
 * @param kind what it does
 * @param session which session
 * @param election the number of the election
 * @param token the number of the session in the table that it is about
 * @param term the number of the takeover that it is about, if it needs one
 * @param beat the new beat of a session
 * @param flag a clean release, a request that is made, a registration in all elections,
 * or a transaction with {@code REPEATABLE READ}
 */
record TableOperation(Kind kind, int session, int election, int token, int term, int beat, boolean flag) {

	@Override
	public String toString() {
		return "session " + this.session + ": " + this.kind + " election " + this.election + " token " + this.token
				+ " term " + this.term + " beat " + this.beat + " " + this.flag;
	}

	enum Kind {

		BEGIN, TRANSACTION_ID, COMMIT, ROLLBACK, INSERT, JOIN, READ, RAISE, EXPIRE, TAKE_OVER, LOCKERS, RELEASE,
		REQUEST, REGISTER, CANDIDATES, LEAVE, FENCE, IS_HELD

	}

}
