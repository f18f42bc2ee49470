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

package io.leaderelection.faults;

import java.time.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.LeaderElector;
import io.leaderelection.Term;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.schedule.FireTime;
import io.leaderelection.schedule.MisfirePolicy;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * A durable schedule that fires every second and writes the nominal time of each fire in
 * the transaction that claims it.
 */
@Configuration(proxyBeanMethods = false)
@ConditionalOnProperty("faults.fires.clock-offset")
class FireJob {

	static final String TABLE = "CREATE TABLE fires (second bigint, node text, term text)";

	@Bean
	Job fireJob(JdbcTransactionManager writes, LeaderElector elector, DurableSchedules schedules,
			@Value("${faults.fires.clock-offset}") Duration offset) {
		schedules.setClock(Clock.offset(Clock.systemUTC(), offset));
		Job job = new Job(new JdbcTemplate(writes.getDataSource()), elector);
		// After the fence, whose listener is there from the start
		writes.addListener(job);
		return job;
	}

	/**
	 * The job. Can be held in its middle, or between fence and commit.
	 */
	static class Job implements TransactionExecutionListener {

		private final JdbcTemplate jdbc;

		private final LeaderElector elector;

		private final ThreadLocal<Run> current = new ThreadLocal<>();

		private volatile Hold requested = new Hold(null, new CountDownLatch(0));

		Job(JdbcTemplate jdbc, LeaderElector elector) {
			this.jdbc = jdbc;
			this.elector = elector;
		}

		@LeaderOnly
		@DurableSchedule(name = "fires", misfire = MisfirePolicy.RUN_ALL, limit = 10_000)
		@Scheduled(cron = "* * * * * *")
		void write() {
			long second = FireTime.current().getNominalTime().getEpochSecond();
			Term term = this.elector.getWorkLeadership().getTerm();
			TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

				@Override
				public void afterCompletion(int status) {
					Job.this.current.remove();
					Recorder.record((status == STATUS_COMMITTED) ? Kind.FIRED : Kind.NOT_FIRED, term,
							Long.toString(second));
				}

			});
			int pid = this.jdbc.queryForObject("INSERT INTO fires VALUES (?, ?, ?) RETURNING pg_backend_pid()",
					Integer.class, second, this.elector.getNodeId(), term.toString());
			this.current.set(new Run(second, term, pid));
			reached(Place.RUN);
		}

		@Override
		public void beforeCommit(TransactionExecution transaction) {
			// Otherwise the transaction is not that of a fire
			if (this.current.get() != null) {
				reached(Place.COMMIT);
			}
		}

		private void reached(Place place) {
			Hold hold = this.requested;
			if (hold.place() == place && hold.released().getCount() > 0) {
				Run run = this.current.get();
				Recorder.record(Kind.HELD, run.term(), run.second() + " " + run.pid());
				while (hold.released().getCount() > 0) {
					LockSupport.parkNanos(1_000_000);
					Thread.interrupted();
				}
			}
		}

		/**
		 * Return the commands to hold the next fire at a place, and to release it.
		 */
		Map<String, Runnable> commands() {
			Map<String, Runnable> commands = new HashMap<>();
			for (Place place : Place.values()) {
				commands.put("hold " + place, () -> this.requested = new Hold(place, new CountDownLatch(1)));
			}
			commands.put("release fire", () -> this.requested.released().countDown());
			return commands;
		}

	}

	/**
	 * Where a fire is held.
	 */
	enum Place {

		/** In the method, after it has written. */
		RUN,

		/** Between fence and commit. */
		COMMIT

	}

	private record Hold(@Nullable Place place, CountDownLatch released) {

	}

	private record Run(long second, Term term, int pid) {

	}

}
