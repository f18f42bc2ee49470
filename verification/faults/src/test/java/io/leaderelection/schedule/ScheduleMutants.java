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
import java.util.Collection;

import io.leaderelection.Leadership;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * Stores of durable schedules with a seeded mistake in what they record.
 */
public final class ScheduleMutants {

	private ScheduleMutants() {
	}

	public static ScheduleStore create(Mutant mutant, ScheduleStore store) {
		return new MutantStore(mutant, store);
	}

	/**
	 * Moves the record at the beginning of each term. It still locks and fences.
	 */
	private static final class MutantStore extends ScheduleStore {

		private final Mutant mutant;

		private final ScheduleStore store;

		private volatile @Nullable Leadership moved;

		MutantStore(Mutant mutant, ScheduleStore store) {
			this.mutant = mutant;
			this.store = store;
		}

		@Override
		void check(Collection<DurableJob> jobs) {
			this.store.check(jobs);
		}

		@Override
		void execute(DurableJob job, Leadership leadership, boolean own, Operation operation) throws Throwable {
			this.store.execute(job, leadership, own, (row) -> operation.run(new MutantRow(row, leadership)));
		}

		@Override
		void checkCaller(DurableJob job) {
			this.store.checkCaller(job);
		}

		@Override
		@Nullable String timeout(DurableJob job, Duration lasted, Throwable failure) {
			return this.store.timeout(job, lasted, failure);
		}

		/**
		 * A record that is moved until it has been replaced.
		 */
		private final class MutantRow implements Row {

			private final Row row;

			private final Leadership leadership;

			MutantRow(Row row, Leadership leadership) {
				this.row = row;
				this.leadership = leadership;
			}

			@Override
			public JobRecord lock(JobRecord initial) {
				JobRecord found = this.row.lock(initial);
				if (found == initial || MutantStore.this.moved == this.leadership) {
					return found;
				}
				// A new job begins at the grant, by the clock of its node
				boolean later = initial.lastFire().isAfter(found.lastFire());
				return switch (MutantStore.this.mutant) {
					case NO_CLAIM -> later ? found : found.withLastFire(initial.lastFire());
					case NO_CATCH_UP -> later ? found.withLastFire(initial.lastFire()) : found;
					default -> found;
				};
			}

			@Override
			public void save(JobRecord replacement) {
				this.row.save(replacement);
				MutantStore.this.moved = this.leadership;
			}

		}

	}

}
