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

package io.leaderelection.schedule;

/**
 * When a fire is recorded as done, and therefore how often its work may run.
 *
 * @since 0.1.0
 */
public enum Claim {

	/**
	 * Together with the work, in one fenced transaction: exactly once for what the work
	 * writes to the election database in that transaction. If the work fails or the node
	 * crashes, the transaction is rolled back, and the fire is still due.
	 * <p>
	 * The transaction is open while the method runs, and holds a connection of the pool
	 * for that time. {@code @Transactional} on the method joins it. Mails, HTTP requests
	 * and writes to other databases are not part of it, and may be repeated.
	 */
	IN_TRANSACTION,

	/**
	 * Before the work, in a transaction of its own: at most once. If the work fails or
	 * the node crashes, the fire is not repeated.
	 */
	BEFORE,

	/**
	 * After the work, in a transaction of its own: at least once. If the work fails or
	 * the node crashes, the fire is still due, and its work may run again. No transaction
	 * is open while the work runs.
	 */
	AFTER

}
