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

package io.leaderelection.postgresql.advisory;

import java.sql.Connection;
import java.util.Collection;
import java.util.List;
import java.util.Map;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.simulation.Texts;
import org.jspecify.annotations.Nullable;

/**
 * {@link AdvisoryLockStore} with texts that stand for the programs of its statements.
 */
final class SimulatedStore extends AdvisoryLockStore {

	private final ElectionKeys keys;

	private final AdvisoryLockPrograms programs;

	private final Texts texts;

	private final Platform platform;

	SimulatedStore(ElectionKeys keys, AdvisoryLockPrograms programs, Texts texts, ElectionSettings settings,
			ConnectionSource source, @Nullable TableRow row, Platform platform) {
		super(settings, keys, 0, false, source, row, platform);
		this.keys = keys;
		this.programs = programs;
		this.texts = texts;
		this.platform = platform;
	}

	@Override
	AdvisoryLockSql sql(ServerInspection server) {
		return new SimulatedSql(server);
	}

	@Override
	ResignationRequest newRequest(Connection connection, Term term, String cause) {
		return new ResignationRequest(connection, this.keys, "", term, cause, this.platform) {

			@Override
			String settings() {
				return SimulatedStore.this.texts.add(SimulatedStore.this.programs::requestSettings);
			}

			@Override
			String request() {
				return SimulatedStore.this.texts.add(() -> SimulatedStore.this.programs.requestResignation(term));
			}

			@Override
			String hasEnded() {
				return SimulatedStore.this.texts.add(() -> SimulatedStore.this.programs.hasEnded(term));
			}

		};
	}

	private final class SimulatedSql extends AdvisoryLockSql {

		private final AdvisoryLockPrograms programs = SimulatedStore.this.programs;

		private final Texts texts = SimulatedStore.this.texts;

		SimulatedSql(ServerInspection server) {
			super(SimulatedStore.this.keys, server);
		}

		@Override
		String settings(Map<String, String> settings) {
			return this.texts.add(() -> this.programs.settings(settings));
		}

		@Override
		String becomeCandidate(List<Integer> seats) {
			return this.texts.add(() -> this.programs.becomeCandidate(seats));
		}

		@Override
		String publish(NodeProfile profile, boolean fast) {
			return this.texts.add(() -> this.programs.publish(Profiles.key(profile, fast)));
		}

		@Override
		String withdraw() {
			return this.texts.add(this.programs::withdraw);
		}

		@Override
		String watch(List<Integer> seats) {
			return this.texts.add(() -> this.programs.watch(seats));
		}

		@Override
		String isUnchanged(List<Integer> seats, Term term) {
			return this.texts.add(() -> this.programs.isUnchanged(seats, term));
		}

		@Override
		String acquire(long waitMillis, boolean observe, int seat, int priority, @Nullable Predecessor predecessor) {
			return this.texts.add(() -> this.programs.acquire(waitMillis, observe, seat, priority, predecessor));
		}

		@Override
		String holdsAny() {
			return this.texts.add(this.programs::holdsAny);
		}

		@Override
		String observe() {
			return this.texts.add(this.programs::observe);
		}

		@Override
		String describe(Collection<Integer> pids) {
			return this.texts.add(() -> this.programs.describe(pids));
		}

		@Override
		String nameSessions(Collection<Integer> pids) {
			return this.texts.add(() -> this.programs.nameSessions(pids));
		}

		@Override
		String confirm(Term term, long number) {
			return this.texts.add(() -> this.programs.confirm(term, number));
		}

		@Override
		String passBarrier(long waitMillis, long leaseMillis) {
			return this.texts.add(() -> this.programs.passBarrier(waitMillis, leaseMillis));
		}

		@Override
		String release(Term term, boolean clean, long idleMillis, long waitMillis) {
			return this.texts.add(() -> this.programs.release(term, clean, idleMillis, waitMillis));
		}

	}

}
