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

import java.time.Instant;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.transaction.TransactionFencing;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.support.DefaultTransactionDefinition;

/**
 * The fenced transactions in which the fires of a job are claimed.
 *
 * @param job the job
 * @param manager the name of their transaction manager
 * @param fencing determines whether they are fenced
 * @param joined the transactions of claims together with the work
 * @param own the transactions of other claims
 * @param reported the last fires that were reported, since they are ahead
 */
record ClaimTransactions(DurableJob job, String manager, TransactionFencing fencing, JobTransaction.Transactions joined,
		JobTransaction.Transactions own, Set<Instant> reported) {

	/**
	 * Return the transactions of a job.
	 * @throws InvalidUsageException if they cannot be fenced
	 */
	static ClaimTransactions of(DurableJob job, TransactionFencing fencing,
			ConfigurableListableBeanFactory beanFactory) {
		JobTransaction transaction = JobTransaction.of(job, beanFactory);
		transaction.checkPropagation();
		if (!fencing.isEnabled()) {
			throw new InvalidUsageException(
					job + " has a durable schedule, but transactions are not fenced (leader-election.fencing=off), "
							+ "so an earlier leader could claim a fire once more.",
					"Remove leader-election.fencing=off.");
		}
		PlatformTransactionManager manager = transaction.requiredManager();
		String name = fencing.describe()
			.keySet()
			.stream()
			.filter((candidate) -> beanFactory.containsBean(candidate) && beanFactory.getBean(candidate) == manager)
			.findFirst()
			.orElseThrow(() -> unfenced(job, manager.toString(), fencing));
		if (fencing.dataSource(name) == null) {
			throw unfenced(job, name, fencing);
		}
		return new ClaimTransactions(job, name, fencing, transaction.joined(manager),
				new JobTransaction.Transactions(manager,
						new DefaultTransactionDefinition(TransactionDefinition.PROPAGATION_REQUIRES_NEW)),
				ConcurrentHashMap.newKeySet());
	}

	/**
	 * Return their data source, which the application may replace.
	 */
	DataSource dataSource() {
		return Objects.requireNonNull(this.fencing.dataSource(this.manager));
	}

	/**
	 * Return what executes statements in them.
	 */
	JdbcTemplate jdbc() {
		return new JdbcTemplate(dataSource());
	}

	/**
	 * Determine whether they are on the election database, which may not be known before
	 * this node has reached it.
	 * @return whether it is known, and they are
	 * @throws InvalidUsageException if they are not
	 */
	boolean areOnElectionDatabase() {
		// If only some are fenced, the commit of each claim shows it
		Boolean fenced = this.fencing.coversElectionDatabase(this.manager);
		if (Boolean.FALSE.equals(fenced)) {
			throw unfenced(this.job, this.manager, this.fencing);
		}
		return fenced != null;
	}

	private static InvalidUsageException unfenced(DurableJob job, String name, TransactionFencing fencing) {
		return new InvalidUsageException(
				job + " has a durable schedule, but transactions of the transaction manager '" + name + "' are "
						+ fencing.describe(name) + ". Without a fence, an earlier leader could claim a fire once more.",
				"Use a transaction manager whose transactions are on the election database, with a role that has the "
						+ "privileges for the fence.");
	}

}
