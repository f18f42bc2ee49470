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

import java.util.ArrayList;
import java.util.List;

import io.leaderelection.Leadership;
import org.jspecify.annotations.Nullable;

import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The terms whose work took part in one transaction. Kept among its synchronizations, so
 * that it is suspended, resumed and forgotten with the transaction.
 */
final class BoundTerms implements TransactionSynchronization {

	private final List<Leadership> leaderships = new ArrayList<>(1);

	/**
	 * Bind the current transaction to a term, if there is a transaction.
	 */
	static void bind(Leadership leadership) {
		if (!TransactionSynchronizationManager.isActualTransactionActive()
				|| !TransactionSynchronizationManager.isSynchronizationActive()) {
			return;
		}
		BoundTerms bound = current();
		if (bound == null) {
			bound = new BoundTerms();
			TransactionSynchronizationManager.registerSynchronization(bound);
		}
		if (!bound.leaderships.contains(leadership)) {
			bound.leaderships.add(leadership);
		}
	}

	/**
	 * Return the terms that the current transaction is bound to.
	 */
	static List<Leadership> ofCurrentTransaction() {
		BoundTerms bound = current();
		return (bound != null) ? bound.leaderships : List.of();
	}

	private static @Nullable BoundTerms current() {
		if (TransactionSynchronizationManager.isSynchronizationActive()) {
			for (TransactionSynchronization candidate : TransactionSynchronizationManager.getSynchronizations()) {
				if (candidate instanceof BoundTerms bound) {
					return bound;
				}
			}
		}
		return null;
	}

}
