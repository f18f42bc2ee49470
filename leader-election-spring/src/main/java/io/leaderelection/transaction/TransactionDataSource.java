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

import javax.sql.DataSource;

import org.jspecify.annotations.Nullable;

import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.util.ClassUtils;

/**
 * Finds the {@link DataSource} to whose connection a transaction manager binds its
 * transactions.
 */
final class TransactionDataSource {

	private static final boolean ORM_PRESENT = ClassUtils.isPresent("org.springframework.orm.jpa.JpaTransactionManager",
			TransactionDataSource.class.getClassLoader());

	private TransactionDataSource() {
	}

	static @Nullable DataSource of(TransactionManager manager) {
		if (manager instanceof ResourceTransactionManager resources
				&& resources.getResourceFactory() instanceof DataSource dataSource) {
			return dataSource;
		}
		return ORM_PRESENT ? Jpa.dataSourceOf(manager) : null;
	}

	/**
	 * A separate class, since the types of JPA may be missing.
	 */
	private static final class Jpa {

		static @Nullable DataSource dataSourceOf(TransactionManager manager) {
			if (manager instanceof JpaTransactionManager jpa) {
				return jpa.getDataSource();
			}
			return HibernateTransactions.areManagedBy(manager) ? HibernateTransactions.dataSourceOf(manager) : null;
		}

	}

}
