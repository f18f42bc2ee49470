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

import java.lang.reflect.UndeclaredThrowableException;

import org.jspecify.annotations.Nullable;

import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Runs operations in transactions of the application. A separate class, since Spring's
 * transaction support may be missing.
 */
final class SpringTransactions {

	private final TransactionTemplate template;

	/**
	 * Create a new {@code SpringTransactions} instance.
	 * @param manager the transaction manager
	 * @param attribute the attributes of the method's own transaction, which will join
	 * @param propagation the propagation
	 */
	SpringTransactions(PlatformTransactionManager manager, @Nullable TransactionAttribute attribute, int propagation) {
		DefaultTransactionDefinition definition = new DefaultTransactionDefinition(propagation);
		if (attribute != null) {
			// The transaction that joins has no effect on them
			definition.setIsolationLevel(attribute.getIsolationLevel());
			definition.setTimeout(attribute.getTimeout());
		}
		this.template = new TransactionTemplate(manager, definition);
	}

	<T extends @Nullable Object> T execute(Operation<T> operation) throws Throwable {
		try {
			return this.template.execute((status) -> {
				try {
					return operation.run(status);
				}
				catch (RuntimeException | Error ex) {
					throw ex;
				}
				catch (Throwable ex) {
					throw new CheckedException(ex);
				}
			});
		}
		catch (CheckedException ex) {
			throw ex.getUndeclaredThrowable();
		}
		catch (TransactionSystemException ex) {
			// The rollback fails too if the session has ended
			Throwable cause = ex.getApplicationException();
			throw (cause instanceof CheckedException checked) ? checked.getUndeclaredThrowable()
					: (cause != null) ? cause : ex;
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

	/**
	 * Carries an exception through a callback that declares none.
	 */
	@SuppressWarnings("serial")
	private static final class CheckedException extends UndeclaredThrowableException {

		CheckedException(Throwable cause) {
			super(cause);
		}

	}

}
