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

import java.util.Set;

import io.leaderelection.annotation.InvalidUsageException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionStatus;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * The transaction of the method of a job, as Spring determines it.
 *
 * @param job the job
 * @param attribute the attributes of {@code @Transactional}, or {@code null} without it
 * @param beanFactory the factory of the transaction managers
 */
record JobTransaction(DurableJob job, @Nullable TransactionAttribute attribute,
		ConfigurableListableBeanFactory beanFactory) {

	private static final Set<Integer> JOINING = Set.of(TransactionDefinition.PROPAGATION_REQUIRED,
			TransactionDefinition.PROPAGATION_SUPPORTS, TransactionDefinition.PROPAGATION_MANDATORY);

	static JobTransaction of(DurableJob job, ConfigurableListableBeanFactory beanFactory) {
		AnnotationTransactionAttributeSource attributes = new AnnotationTransactionAttributeSource(false);
		attributes.setEmbeddedValueResolver(new EmbeddedValueResolver(beanFactory));
		try {
			return new JobTransaction(job, attributes.getTransactionAttribute(job.method(), job.type()), beanFactory);
		}
		catch (IllegalArgumentException ex) {
			throw invalid(job, "its @Transactional is not valid: " + ex.getMessage(), "Correct @Transactional.");
		}
	}

	/**
	 * Fail if the method runs in another transaction than that of its claim, or could be
	 * rolled back without it.
	 */
	void checkPropagation() {
		if (this.job.claim() == Claim.IN_TRANSACTION && this.attribute != null
				&& !JOINING.contains(this.attribute.getPropagationBehavior())) {
			throw new InvalidUsageException(this.job
					+ " has a durable schedule with claim = IN_TRANSACTION, but its @Transactional does not join the transaction of the claim.",
					"Use the propagation REQUIRED, or claim = BEFORE or AFTER.");
		}
	}

	/**
	 * Return the transactions that the method joins.
	 * @param manager their transaction manager
	 */
	Transactions joined(PlatformTransactionManager manager) {
		DefaultTransactionDefinition definition = new DefaultTransactionDefinition();
		if (this.attribute != null) {
			// The transaction that joins has no effect on them
			definition.setIsolationLevel(this.attribute.getIsolationLevel());
			definition.setTimeout(this.attribute.getTimeout());
		}
		return new Transactions(manager, definition);
	}

	/**
	 * Return the transaction manager, or {@code null} if there is none, or more than one.
	 * @throws InvalidUsageException if the one that {@code @Transactional} names does not
	 * exist
	 */
	@Nullable PlatformTransactionManager manager() {
		if (this.attribute != null) {
			boolean named = StringUtils.hasText(this.attribute.getQualifier());
			String qualifier = named ? this.attribute.getQualifier()
					: BeanFactoryAnnotationUtils.getQualifierValue(this.job.type());
			if (StringUtils.hasText(qualifier)) {
				try {
					return BeanFactoryAnnotationUtils.qualifiedBeanOfType(this.beanFactory,
							PlatformTransactionManager.class, qualifier);
				}
				catch (NoSuchBeanDefinitionException ex) {
					if (named) {
						throw invalid(this.job, "there is no transaction manager '" + qualifier + "'.",
								"Correct the name in @Transactional.");
					}
					// Otherwise it qualifies the bean itself
				}
			}
			TransactionInterceptor interceptor = this.beanFactory.getBeanProvider(TransactionInterceptor.class)
				.getIfUnique();
			if (interceptor != null
					&& interceptor.getTransactionManager() instanceof PlatformTransactionManager manager) {
				return manager;
			}
		}
		return this.beanFactory.getBeanProvider(PlatformTransactionManager.class).getIfUnique();
	}

	/**
	 * Return the transaction manager.
	 * @throws InvalidUsageException if there is none, or more than one
	 */
	PlatformTransactionManager requiredManager() {
		PlatformTransactionManager manager = manager();
		if (manager != null) {
			return manager;
		}
		String[] names = this.beanFactory.getBeanNamesForType(PlatformTransactionManager.class);
		if (names.length == 0) {
			throw invalid(this.job,
					"the application has no transaction manager, in whose transactions fires are claimed.",
					"Define a JdbcTransactionManager for the election database.");
		}
		throw invalid(this.job, "several transaction managers could claim its fires: " + String.join(", ", names) + ".",
				"Mark one as primary, or name it in @Transactional on the method.");
	}

	/**
	 * Call an action if the transaction of the current thread is committed.
	 */
	static void onCommit(Runnable action) {
		if (TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCompletion(int status) {
					if (status == STATUS_COMMITTED) {
						action.run();
					}
				}

			});
		}
	}

	private static InvalidUsageException invalid(DurableJob job, String reason, String action) {
		return new InvalidUsageException(job + " has a durable schedule, but " + reason, action);
	}

	/**
	 * Runs operations in transactions of the application. Unlike with Spring's template,
	 * an operation may throw any exception, and a rollback that fails, since the session
	 * has ended, does not replace it.
	 *
	 * @param manager the transaction manager
	 * @param definition the definition of the transactions
	 */
	record Transactions(PlatformTransactionManager manager, TransactionDefinition definition) {

		private static final Log logger = LogFactory.getLog(DurableSchedule.class);

		/**
		 * Return after how many seconds a transaction times out, negative if it does not.
		 */
		int timeout() {
			int timeout = this.definition.getTimeout();
			return (timeout < 0 && this.manager instanceof AbstractPlatformTransactionManager base)
					? base.getDefaultTimeout() : timeout;
		}

		void execute(Operation operation) throws Throwable {
			TransactionStatus status = this.manager.getTransaction(this.definition);
			try {
				// Not known before without synchronizations
				Assert.state(!(status instanceof DefaultTransactionStatus known) || known.isNewTransaction(),
						"A durable schedule must not be called in a transaction");
				operation.run(status);
			}
			catch (Throwable ex) {
				rollback(status);
				throw ex;
			}
			this.manager.commit(status);
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
		 */
		@FunctionalInterface
		interface Operation {

			void run(TransactionStatus status) throws Throwable;

		}

	}

}
