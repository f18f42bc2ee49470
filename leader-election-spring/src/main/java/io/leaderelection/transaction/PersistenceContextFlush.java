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

package io.leaderelection.transaction;

import jakarta.persistence.EntityManager;
import org.hibernate.FlushMode;
import org.hibernate.Session;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.support.DataAccessUtils;
import org.springframework.dao.support.PersistenceExceptionTranslator;
import org.springframework.orm.jpa.EntityManagerHolder;
import org.springframework.orm.jpa.JpaSystemException;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.TransactionException;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.ClassUtils;

/**
 * Flushes the pending changes of the {@link EntityManager} of a transaction. Without this
 * flush, JPA writes them during the commit and therefore after the fence, where a long
 * flush would delay the next grant instead of being refused.
 */
@FunctionalInterface
interface PersistenceContextFlush {

	/**
	 * Flush the {@link EntityManager} that the transaction manager has bound to the
	 * current thread, if its commit would do so.
	 * @param transaction the transaction that is about to be committed
	 * @throws RuntimeException if the flush fails, but never a
	 * {@link TransactionException}
	 */
	void flush(TransactionExecution transaction);

	/**
	 * Return the flush for the transactions of a transaction manager.
	 * @param manager the transaction manager
	 * @return the flush, which does nothing for transaction managers without JPA
	 */
	static PersistenceContextFlush of(TransactionManager manager) {
		boolean present = isPresent("org.springframework.orm.jpa.JpaTransactionManager")
				&& isPresent("jakarta.persistence.EntityManager");
		PersistenceContextFlush flush = present ? Jpa.of(manager) : null;
		return (flush != null) ? flush : (transaction) -> {
		};
	}

	private static boolean isPresent(String className) {
		return ClassUtils.isPresent(className, PersistenceContextFlush.class.getClassLoader());
	}

	/** A separate class, since the types of JPA may be missing. */
	final class Jpa implements PersistenceContextFlush {

		private final ResourceTransactionManager manager;

		private final PersistenceExceptionTranslator translator;

		private final boolean hibernatePresent = isPresent("org.hibernate.Session");

		Jpa(ResourceTransactionManager manager, PersistenceExceptionTranslator translator) {
			this.manager = manager;
			this.translator = translator;
		}

		static @Nullable PersistenceContextFlush of(TransactionManager manager) {
			if (HibernateTransactions.areManagedBy(manager)) {
				return new Jpa((ResourceTransactionManager) manager, HibernateTransactions.exceptionTranslator());
			}
			return (manager instanceof JpaTransactionManager jpa) ? new Jpa(jpa, jpa.getJpaDialect()) : null;
		}

		@Override
		public void flush(TransactionExecution transaction) {
			// The commit of a transaction that is marked for rollback writes nothing
			if (!transaction.isRollbackOnly() && TransactionSynchronizationManager
				.getResource(this.manager.getResourceFactory()) instanceof EntityManagerHolder holder) {
				EntityManager entityManager = holder.getEntityManager();
				if (entityManager.isOpen() && entityManager.isJoinedToTransaction()
						&& isFlushedByCommit(entityManager, transaction)) {
					flush(entityManager);
				}
			}
		}

		private boolean isFlushedByCommit(EntityManager entityManager, TransactionExecution transaction) {
			Object delegate = this.hibernatePresent ? entityManager.getDelegate() : null;
			return (delegate != null && Hibernate.isSession(delegate)) ? Hibernate.isFlushedByCommit(delegate)
					: !transaction.isReadOnly();
		}

		private void flush(EntityManager entityManager) {
			try {
				entityManager.flush();
			}
			catch (TransactionException ex) {
				// Thrown by a callback of an entity. It would prevent the rollback
				throw new JpaSystemException(ex);
			}
			catch (RuntimeException ex) {
				throw DataAccessUtils.translateIfNecessary(ex, this.translator);
			}
		}

	}

	/** A separate class, since there are other providers. */
	final class Hibernate {

		private Hibernate() {
		}

		static boolean isSession(Object delegate) {
			return delegate instanceof Session;
		}

		static boolean isFlushedByCommit(Object delegate) {
			return ((Session) delegate).getHibernateFlushMode() != FlushMode.MANUAL;
		}

	}

}
