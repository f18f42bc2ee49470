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

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;

/**
 * Runs operations in transactions of the application. A separate type, since Spring's
 * transaction support may be missing. Unlike with Spring's template, an operation may
 * throw any exception, and a rollback that fails, since the session has ended, does not
 * replace it.
 *
 * @param manager the transaction manager
 * @param definition the definition of the transactions
 */
record SpringTransactions(PlatformTransactionManager manager, TransactionDefinition definition) {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	<T extends @Nullable Object> T execute(Operation<T> operation) throws Throwable {
		TransactionStatus status = this.manager.getTransaction(this.definition);
		T result;
		try {
			result = operation.run(status);
		}
		catch (Throwable ex) {
			rollback(status);
			throw ex;
		}
		this.manager.commit(status);
		return result;
	}

	private void rollback(TransactionStatus status) {
		try {
			this.manager.rollback(status);
		}
		catch (RuntimeException ex) {
			logger.debug("A transaction could not be rolled back", ex);
		}
	}

	/**
	 * An operation in a transaction.
	 *
	 * @param <T> the type of its result
	 */
	@FunctionalInterface
	interface Operation<T extends @Nullable Object> {

		T run(TransactionStatus status) throws Throwable;

	}

}
