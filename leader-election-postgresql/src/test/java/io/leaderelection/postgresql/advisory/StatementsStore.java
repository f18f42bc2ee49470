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

import java.util.function.BiFunction;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.ServerInspection;

/**
 * A store with statements that a test changes.
 */
class StatementsStore extends AdvisoryLockStore {

	private final ElectionKeys keys;

	private final BiFunction<ElectionKeys, ServerInspection, AdvisoryLockSql> statements;

	StatementsStore(ElectionSettings settings, ElectionKeys keys, ConnectionSource source,
			BiFunction<ElectionKeys, ServerInspection, AdvisoryLockSql> statements) {
		super(settings, keys, 0, false, source, null);
		this.keys = keys;
		this.statements = statements;
	}

	@Override
	AdvisoryLockSql sql(ServerInspection server) {
		return this.statements.apply(this.keys, server);
	}

}
