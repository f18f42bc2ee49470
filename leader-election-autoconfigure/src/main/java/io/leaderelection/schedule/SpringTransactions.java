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
import java.util.Collection;
import java.util.Set;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.annotation.BeanFactoryAnnotationUtils;
import org.springframework.beans.factory.config.ConfigurableBeanFactory;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.beans.factory.config.EmbeddedValueResolver;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.TransactionSystemException;
import org.springframework.transaction.annotation.AnnotationTransactionAttributeSource;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.interceptor.TransactionInterceptor;
import org.springframework.transaction.support.DefaultTransactionDefinition;
import org.springframework.transaction.support.TransactionTemplate;
import org.springframework.util.StringUtils;

/**
 * Runs operations in transactions of the application. A separate class, since Spring's
 * transaction support may be missing.
 */
final class SpringTransactions {

	private static final Set<Integer> JOINING = Set.of(TransactionDefinition.PROPAGATION_REQUIRED,
			TransactionDefinition.PROPAGATION_SUPPORTS, TransactionDefinition.PROPAGATION_MANDATORY);

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

	/**
	 * Return the attributes of {@code @Transactional}, or {@code null} without it.
	 */
	static @Nullable TransactionAttribute attribute(DurableJob job, ConfigurableBeanFactory beanFactory) {
		AnnotationTransactionAttributeSource attributes = new AnnotationTransactionAttributeSource(false);
		attributes.setEmbeddedValueResolver(new EmbeddedValueResolver(beanFactory));
		try {
			return attributes.getTransactionAttribute(job.method(), job.type());
		}
		catch (IllegalArgumentException ex) {
			throw new InvalidDurableScheduleException(
					job + " has a durable schedule, but its @Transactional is not valid: " + ex.getMessage(),
					"Correct @Transactional.");
		}
	}

	/**
	 * Return the transaction manager of a method as Spring determines it, or {@code null}
	 * if there is none, or more than one.
	 * @throws NoSuchBeanDefinitionException if the one that {@code @Transactional} names
	 * does not exist
	 */
	static @Nullable PlatformTransactionManager manager(DurableJob job, @Nullable TransactionAttribute attribute,
			ListableBeanFactory beanFactory) {
		if (attribute != null) {
			if (StringUtils.hasText(attribute.getQualifier())) {
				return qualified(beanFactory, attribute.getQualifier());
			}
			String ofType = BeanFactoryAnnotationUtils.getQualifierValue(job.type());
			if (StringUtils.hasText(ofType)) {
				try {
					return qualified(beanFactory, ofType);
				}
				catch (NoSuchBeanDefinitionException ex) {
					// It qualifies the bean itself
				}
			}
			TransactionInterceptor interceptor = beanFactory.getBeanProvider(TransactionInterceptor.class)
				.getIfUnique();
			if (interceptor != null
					&& interceptor.getTransactionManager() instanceof PlatformTransactionManager manager) {
				return manager;
			}
		}
		return beanFactory.getBeanProvider(PlatformTransactionManager.class).getIfUnique();
	}

	private static PlatformTransactionManager qualified(ListableBeanFactory beanFactory, String qualifier) {
		return BeanFactoryAnnotationUtils.qualifiedBeanOfType(beanFactory, PlatformTransactionManager.class, qualifier);
	}

	/**
	 * Return the transactions of the application for a method, or {@code null} if it has
	 * no single transaction manager.
	 */
	static @Nullable SpringTransactions unfenced(DurableJob job, ConfigurableListableBeanFactory beanFactory) {
		TransactionAttribute attribute = attribute(job, beanFactory);
		PlatformTransactionManager manager = manager(job, attribute, beanFactory);
		return (manager != null)
				? new SpringTransactions(manager, attribute, TransactionDefinition.PROPAGATION_REQUIRED) : null;
	}

	/**
	 * Fail if a method runs in another transaction than that of its claim, or could be
	 * rolled back without it.
	 */
	static void checkPropagation(Collection<DurableJob> jobs, ConfigurableBeanFactory beanFactory) {
		for (DurableJob job : jobs) {
			TransactionAttribute attribute = attribute(job, beanFactory);
			if (job.claim() == Claim.IN_TRANSACTION && attribute != null
					&& !JOINING.contains(attribute.getPropagationBehavior())) {
				throw new InvalidDurableScheduleException(job
						+ " has a durable schedule with claim = IN_TRANSACTION, but its @Transactional does not join the transaction of the claim.",
						"Use the propagation REQUIRED, or claim = BEFORE or AFTER.");
			}
		}
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
