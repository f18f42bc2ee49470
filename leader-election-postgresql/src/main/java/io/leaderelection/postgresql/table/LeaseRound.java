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

package io.leaderelection.postgresql.table;

import java.util.Map;
import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * What a round of a node has found. All elections of the node read it.
 *
 * @param token the session that it has renewed
 * @param started when it began
 * @param reply when its answer was read
 * @param renewed whether it has raised the beat of the session
 * @param timeline the timeline of the server
 * @param rows the rows of the elections, by their keys
 */
record LeaseRound(UUID token, long started, long reply, boolean renewed, long timeline, Map<String, LeaseRow> rows) {

	/**
	 * Return the row of an election, or that which would be inserted.
	 */
	LeaseRow rowOrMissing(String election) {
		return this.rows.getOrDefault(election, LeaseRow.missing(election));
	}

	@Nullable LeaseRow row(String election) {
		return this.rows.get(election);
	}

}
