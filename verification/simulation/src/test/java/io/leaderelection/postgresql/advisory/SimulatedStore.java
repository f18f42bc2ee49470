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

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.ServerInspection;
import org.jspecify.annotations.Nullable;

/**
 * {@link AdvisoryLockStore} with texts that stand for the programs of its statements.
 */
final class SimulatedStore extends AdvisoryLockStore {

	private final ElectionKeys keys;

	private final AdvisoryLockPrograms programs;

	private final Platform platform;

	SimulatedStore(ElectionKeys keys, AdvisoryLockPrograms programs, ElectionSettings settings, ConnectionSource source,
			@Nullable TableRow row, Platform platform) {
		super(settings, keys, 0, false, source, row, platform);
		this.keys = keys;
		this.programs = programs;
		this.platform = platform;
	}

	@Override
	AdvisoryLockSql sql(ServerInspection server) {
		return this.programs;
	}

	@Override
	ResignationRequest newRequest(Connection connection, Term term, String cause) {
		return new ResignationRequest(connection, this.keys, "", term, cause, this.platform) {

			@Override
			String settings() {
				return SimulatedStore.this.programs.requestSettings();
			}

			@Override
			String request() {
				return SimulatedStore.this.programs.requestResignation(term);
			}

			@Override
			String hasEnded() {
				return SimulatedStore.this.programs.hasEnded(term);
			}

		};
	}

}
