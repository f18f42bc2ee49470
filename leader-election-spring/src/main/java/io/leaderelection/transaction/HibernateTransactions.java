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

import java.util.Set;

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.dao.support.PersistenceExceptionTranslator;
import org.springframework.orm.jpa.vendor.HibernateJpaDialect;
import org.springframework.transaction.TransactionManager;

/**
 * The support for Hibernate's own transaction manager, by its names, since its package
 * differs between the versions of Spring Framework. Requires Spring's ORM module, but not
 * Hibernate.
 */
final class HibernateTransactions {

	private static final Set<String> MANAGERS = Set.of("org.springframework.orm.hibernate5.HibernateTransactionManager",
			"org.springframework.orm.jpa.hibernate.HibernateTransactionManager");

	private HibernateTransactions() {
	}

	static boolean areManagedBy(TransactionManager manager) {
		Class<?> type = manager.getClass();
		while (type != null && !MANAGERS.contains(type.getName())) {
			type = type.getSuperclass();
		}
		return type != null;
	}

	static @Nullable DataSource dataSourceOf(TransactionManager manager) {
		return (DataSource) PropertyAccessorFactory.forBeanPropertyAccess(manager).getPropertyValue("dataSource");
	}

	static PersistenceExceptionTranslator exceptionTranslator() {
		return new HibernateJpaDialect();
	}

}
