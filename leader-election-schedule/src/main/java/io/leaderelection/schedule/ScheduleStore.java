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

import java.time.Duration;
import java.time.Instant;
import java.util.Collection;
import java.util.function.UnaryOperator;

import io.leaderelection.Leadership;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.transaction.TransactionFencing;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;

/**
 * Where fires are recorded. Internal.
 */
public abstract class ScheduleStore {

	static final boolean TRANSACTIONS_PRESENT = ClassUtils
		.isPresent("org.springframework.transaction.PlatformTransactionManager", ScheduleStore.class.getClassLoader());

	/**
	 * Return a store in memory, for a node without an election database.
	 * @param beanFactory the factory of the transaction managers
	 * @return the store
	 */
	public static ScheduleStore inMemory(ConfigurableListableBeanFactory beanFactory) {
		return new MemoryScheduleStore(beanFactory);
	}

	/**
	 * Return a store in a table of the election database.
	 * @param settings the settings
	 * @param fencing the transaction managers and their coverage
	 * @param beanFactory the factory of the transaction managers
	 * @param electionKeys returns the key of an election, which its nodes share
	 * @return the store
	 */
	public static ScheduleStore jdbc(TableSettings settings, TransactionFencing fencing,
			ConfigurableListableBeanFactory beanFactory, UnaryOperator<String> electionKeys) {
		return new JdbcScheduleStore(settings, fencing, beanFactory, electionKeys);
	}

	/**
	 * Check that fires of jobs can be recorded. May block for as long as a pool blocks.
	 * @param jobs the jobs, at least one
	 * @throws InvalidUsageException if they cannot
	 * @throws RuntimeException if this cannot be determined now
	 */
	abstract void check(Collection<DurableJob> jobs);

	/**
	 * Run an operation in a transaction that commits only in the term of a leadership. If
	 * the operation has not changed the record, the transaction is rolled back.
	 * @param job the job
	 * @param leadership the leadership
	 * @param own whether the transaction must not be that of the caller
	 * @param operation the operation; the transaction is rolled back if it fails
	 * @throws PartlyCommittedException if a part of it was committed and it has failed
	 * @throws Throwable the failure of the operation or of the store
	 */
	abstract void execute(DurableJob job, Leadership leadership, boolean own, Operation operation) throws Throwable;

	/**
	 * Fail if the caller of a job has a transaction on the current thread: a fire would
	 * be done before that transaction commits, or although it does not.
	 * @param job the job
	 */
	void checkCaller(DurableJob job) {
		Assert.state(!TRANSACTIONS_PRESENT || !TransactionSynchronizationManager.isActualTransactionActive(),
				() -> job + " has a durable schedule, so it must not be called in a transaction");
	}

	/**
	 * Return what to do if a run has failed since it was too long, and would be again.
	 * @param job the job
	 * @param lasted how long it has lasted
	 * @param failure the failure of the run or of its transaction
	 */
	@Nullable String timeout(DurableJob job, Duration lasted, Throwable failure) {
		return null;
	}

	/**
	 * Remove records that are kept in memory.
	 */
	void clear() {
	}

	/**
	 * An operation in a transaction.
	 */
	@FunctionalInterface
	interface Operation {

		void run(Row row) throws Throwable;

	}

	/**
	 * The record of a job in a transaction.
	 */
	interface Row {

		/**
		 * Lock the record until the end of the transaction, and create it if necessary.
		 * @param initial the new record
		 * @return the record; the same instance as the given one if it has been created
		 */
		JobRecord lock(JobRecord initial);

		/**
		 * Fail if the clock of the jobs is wrong, and report a record, which has been
		 * locked, if it is ahead of it.
		 */
		default void check(JobRecord record, Instant now) {
		}

		/**
		 * Replace the record.
		 * @throws IllegalStateException if it could not be replaced, or is not locked any
		 * longer
		 */
		void save(JobRecord replacement);

	}

	/**
	 * A part of the work of a run has been committed without its record.
	 */
	@SuppressWarnings("serial")
	static final class PartlyCommittedException extends IllegalStateException {

		PartlyCommittedException(String message, Throwable cause) {
			super(message, cause);
		}

	}

	/**
	 * The settings of a store in a table.
	 *
	 * @param leaseTable the name of the lease table, with or without a schema
	 * @param create whether to create a missing table
	 * @param longestIdle how long the transaction of a claim may be idle
	 * @param longestSkew how far the clock of the jobs may be from that of the database
	 */
	public record TableSettings(String leaseTable, boolean create, Duration longestIdle, Duration longestSkew) {

	}

}
