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

import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;

import org.jspecify.annotations.Nullable;

/**
 * The nodes of an election by the process ids of their sessions. A node holds a share of
 * the candidate key or of the observer key. Nodes cannot be recognized by their database
 * role: with credentials that are issued per process, each node has a different one.
 *
 * @param candidates the candidates
 * @param observers the nodes that are not candidates
 */
record Nodes(List<Integer> candidates, List<Integer> observers) {

	static final Nodes NONE = new Nodes(List.of(), List.of());

	/**
	 * Return the nodes in a row with both lists.
	 */
	static Nodes of(ResultSet row) throws SQLException {
		return new Nodes(pids(row.getString("candidates")), pids(row.getString("observers")));
	}

	/**
	 * Return process ids that are separated by commas.
	 */
	static List<Integer> pids(@Nullable String text) {
		return (text != null) ? Arrays.stream(text.split(",")).map(Integer::valueOf).toList() : List.of();
	}

	boolean contains(int pid) {
		return this.candidates.contains(pid) || this.observers.contains(pid);
	}

}
