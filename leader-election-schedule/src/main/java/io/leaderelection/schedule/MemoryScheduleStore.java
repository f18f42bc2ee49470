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

import java.util.Collection;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;

import io.leaderelection.Leadership;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.transaction.PlatformTransactionManager;

/**
 * {@link ScheduleStore} of a node without an election database. With
 * {@link Claim#IN_TRANSACTION}, the method still runs in a transaction if there is a
 * transaction manager.
 */
final class MemoryScheduleStore extends ScheduleStore {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	private final Map<DurableJob, JobRecord> records = new ConcurrentHashMap<>();

	private final AtomicBoolean reported = new AtomicBoolean();

	private final ConfigurableListableBeanFactory beanFactory;

	MemoryScheduleStore(ConfigurableListableBeanFactory beanFactory) {
		this.beanFactory = beanFactory;
	}

	@Override
	void check(Collection<DurableJob> jobs) {
		if (this.reported.compareAndSet(false, true)) {
			logger.info("Durable schedules are kept in memory, since there is no election database: "
					+ "fires at which this application does not run are lost");
		}
	}

	@Override
	void execute(DurableJob job, Leadership leadership, boolean own, Operation operation) throws Throwable {
		MemoryRow row = new MemoryRow(job);
		if (own || !TRANSACTIONS_PRESENT || !executeInTransaction(job, row, operation)) {
			operation.run(row);
		}
		row.commit();
	}

	private boolean executeInTransaction(DurableJob job, MemoryRow row, Operation operation) throws Throwable {
		JobTransaction transaction = JobTransaction.of(job, this.beanFactory);
		PlatformTransactionManager manager = transaction.manager();
		if (manager == null) {
			return false;
		}
		transaction.joined(manager).execute((status) -> {
			operation.run(row);
			// Something may fail after the commit
			JobTransaction.onCommit(row::commit);
		});
		return true;
	}

	@Override
	void clear() {
		this.records.clear();
	}

	/**
	 * A record whose change takes effect at the end of the transaction.
	 */
	private final class MemoryRow implements Row {

		private final DurableJob job;

		private @Nullable JobRecord replacement;

		MemoryRow(DurableJob job) {
			this.job = job;
		}

		@Override
		public JobRecord lock(JobRecord initial) {
			JobRecord existing = MemoryScheduleStore.this.records.putIfAbsent(this.job, initial);
			return (existing != null) ? existing : initial;
		}

		@Override
		public void save(JobRecord replacement) {
			this.replacement = replacement;
		}

		void commit() {
			if (this.replacement != null) {
				// A run of an earlier term may end late
				MemoryScheduleStore.this.records.merge(this.job, this.replacement,
						(present, later) -> later.lastFire().isBefore(present.lastFire()) ? present : later);
			}
		}

	}

}
