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
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.jspecify.annotations.Nullable;

/**
 * An election on PostgreSQL.
 */
final class RealElection extends ComparedElection {

	private final ElectionKeys keys;

	private final PostgreSqlServer server;

	private final Platform platform;

	private final Connection observer;

	RealElection(ElectionKeys keys, int standbys, int[] priorities, PostgreSqlServer server, Platform platform)
			throws SQLException {
		super(keys, standbys, priorities);
		this.keys = keys;
		this.server = server;
		this.platform = platform;
		this.observer = server.connect();
		countFrom(Long.parseLong(Objects.requireNonNull(query("SELECT pg_snapshot_xmax(pg_current_snapshot())"))));
	}

	@Override
	AdvisoryLockStore store(ElectionSettings settings) {
		ConnectionSource source = (driverSettings) -> {
			driverSettings.setProperty("user", this.server.username());
			driverSettings.setProperty("password", this.server.password());
			return DriverManager.getConnection(this.server.jdbcUrl(), driverSettings);
		};
		return new AdvisoryLockStore(settings, this.keys, 0, false, source, null, this.platform);
	}

	@Override
	Connection connect() throws SQLException {
		Connection connection = this.server.connect();
		connection.setAutoCommit(false);
		return connection;
	}

	@Override
	void terminate(int pid) throws SQLException {
		query("SELECT pg_terminate_backend(" + pid + ") FROM pg_stat_get_activity(" + pid + ")");
	}

	@Override
	void cancel(int pid) throws SQLException {
		query("SELECT pg_cancel_backend(" + pid + ")");
	}

	@Override
	void expire(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute("SET idle_session_timeout = 1");
		}
	}

	@Override
	void resetStatistics() throws SQLException {
		query("SELECT pg_stat_reset()");
	}

	@Override
	void proceed(int busy) {
		Thread.onSpinWait();
	}

	@Override
	Set<Integer> waiting() throws SQLException {
		return pids("SELECT pid FROM pg_locks WHERE NOT granted");
	}

	@Override
	Set<Integer> present() throws SQLException {
		return pids("SELECT pid FROM pg_stat_get_activity(NULL)");
	}

	private Set<Integer> pids(String sql) throws SQLException {
		Set<Integer> pids = new HashSet<>();
		try (Statement statement = this.observer.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
			while (rows.next()) {
				pids.add(rows.getInt(1));
			}
		}
		return pids;
	}

	private @Nullable String query(String sql) throws SQLException {
		try (Statement statement = this.observer.createStatement(); ResultSet row = statement.executeQuery(sql)) {
			return row.next() ? row.getString(1) : null;
		}
	}

	@Override
	SortedSet<String> locks() throws SQLException {
		TreeSet<String> locks = new TreeSet<>();
		try (Statement statement = this.observer.createStatement(); ResultSet row = statement.executeQuery("""
				SELECT pid, objsubid, classid::bigint, objid::bigint, mode, granted
				FROM pg_locks WHERE locktype = 'advisory'
				""")) {
			while (row.next()) {
				locks.add(describe(row.getInt(1), row.getInt(2), (int) row.getLong(3), (int) row.getLong(4),
						row.getString(5).equals("ShareLock"), row.getBoolean(6)));
			}
		}
		return locks;
	}

	@Override
	void end() throws SQLException {
		this.observer.close();
	}

}
