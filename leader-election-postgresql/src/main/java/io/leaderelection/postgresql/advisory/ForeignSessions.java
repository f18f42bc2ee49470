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
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.stream.Collectors;

import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.Jdbc.RowMapper;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Foreign sessions hold a lock of the election but are not nodes of it. A session that
 * ends frees its locks one by one, so a session counts as foreign only if two successive
 * observations with some time between them have shown it. Also reads the names of
 * sessions.
 */
final class ForeignSessions {

	private static final Log logger = LogFactory.getLog(ForeignSessions.class);

	private static final long SHORTEST_TIME = TimeUnit.MILLISECONDS.toNanos(200);

	/** When they were first observed. */
	private Map<Integer, Long> suspects = Map.of();

	private Set<Integer> confirmed = Set.of();

	private final Map<Integer, String> descriptions = new HashMap<>();

	private final AdvisoryLockSql sql;

	private final Platform platform;

	/** Whether names may not be read. */
	private boolean denied;

	/**
	 * Create a new {@code ForeignSessions} instance.
	 * @param sql the statements of the session
	 * @param platform the clock
	 */
	ForeignSessions(AdvisoryLockSql sql, Platform platform) {
		this.sql = sql;
		this.platform = platform;
	}

	/**
	 * Determine the foreign sessions.
	 * @param holders the process ids of sessions that hold a lock
	 * @param nodes the nodes of the same observation
	 * @return the process ids of the foreign sessions
	 */
	Set<Integer> observe(Collection<Integer> holders, Nodes nodes) {
		long now = this.platform.nanoTime();
		Map<Integer, Long> before = this.suspects;
		this.suspects = holders.stream()
			.filter((pid) -> !nodes.contains(pid))
			.distinct()
			.collect(Collectors.toUnmodifiableMap(Function.identity(), (pid) -> before.getOrDefault(pid, now)));
		this.confirmed = this.suspects.keySet()
			.stream()
			.filter((pid) -> now - before.getOrDefault(pid, now) >= SHORTEST_TIME)
			.collect(Collectors.toUnmodifiableSet());
		this.descriptions.keySet().retainAll(this.suspects.keySet());
		return this.confirmed;
	}

	/**
	 * Return whether the next observation may show another foreign session.
	 */
	boolean isUndecided() {
		return this.confirmed.size() < this.suspects.size();
	}

	/**
	 * Return the description of a session if it is known, without a round trip.
	 */
	@Nullable String known(int pid) {
		return this.descriptions.get(pid);
	}

	/**
	 * Return the description of a session, which takes a round trip the first time.
	 * @param connection the session that runs the query
	 * @param pid the process id
	 */
	String describe(Connection connection, int pid) throws SQLException {
		String description = this.descriptions.get(pid);
		if (description == null) {
			description = lookUp(connection, pid);
			this.descriptions.put(pid, description);
		}
		return description;
	}

	private String lookUp(Connection connection, int pid) throws SQLException {
		String words = read(connection, pid, Jdbc::describeSession);
		return (words != null) ? words : unnamed(pid);
	}

	/**
	 * Read what names a session.
	 * @param connection the session that runs the query
	 * @param pid the process id
	 * @param mapper maps a row of {@link AdvisoryLockSql#nameSessions}
	 * @return the result, or {@code null} if the session has ended or its name may not be
	 * read
	 */
	@Nullable String read(Connection connection, int pid, RowMapper<String> mapper) throws SQLException {
		if (this.denied) {
			return null;
		}
		try {
			List<String> names = Jdbc.rows(connection, this.sql.comment() + this.sql.nameSessions(List.of(pid)),
					mapper);
			return names.isEmpty() ? null : names.get(0);
		}
		catch (SQLException ex) {
			Jdbc.throwIfInterrupted(connection, ex);
			logger.debug("The session with pid " + pid + " has no name", ex);
			this.denied = Jdbc.isDenied(ex);
			return null;
		}
	}

	String unnamed(int pid) {
		return "session with pid " + pid + (this.denied ? " (its name requires EXECUTE on pg_stat_get_activity)" : "");
	}

}
