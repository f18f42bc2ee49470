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

package io.leaderelection;

import java.time.Instant;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;

import org.jspecify.annotations.Nullable;

/**
 * The leader of an election as a node knows it. On a follower, this is an observation: it
 * may be some seconds old, and the node may lead no longer.
 *
 * @param nodeId the id of the node; on other nodes it may be shortened in the middle,
 * with '_' for spaces and some other characters, and then contains a hash of the whole id
 * @param term its term, or {@code null} if it is not known
 * @param since since when it leads, or {@code null} if this is not known: by the clock of
 * the node itself if it leads, otherwise by that of the database, with less precision
 * @param metadata what the node publishes about itself by
 * {@code leader-election.metadata}, for instance its URL, sorted by name; empty if it
 * publishes nothing
 * @param databaseRole the role with which another node has logged in to the database;
 * {@code null} if it is not known, and for this node. The database has verified it, but
 * neither the id nor the metadata of the node
 * @since 0.1.0
 * @see LeaderElector#getLeader()
 */
public record Leader(String nodeId, @Nullable Term term, @Nullable Instant since, Map<String, String> metadata,
		@Nullable String databaseRole) {

	public Leader {
		metadata = Collections.unmodifiableMap(new TreeMap<>(Map.copyOf(metadata)));
	}

}
