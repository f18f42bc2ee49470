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

package io.leaderelection.simulation;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import java.util.function.Supplier;

import io.leaderelection.simulation.server.LockKey;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.LockVisitor;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.testsupport.PostgreSqlServer;

/**
 * A real {@link ComparedServer}, which all tests of a process share. Nothing on it takes
 * transaction ids or ends waits but the tests.
 */
public final class RealServer implements ComparedServer {

	/** The server. */
	public static final PostgreSqlServer SERVER = PostgreSqlServer.start("autovacuum=off", "deadlock_timeout=1h",
			"wal_writer_delay=10s");

	/** The settings with which the simulated server is of the same version. */
	public static final ServerSettings SETTINGS = ServerSettings.DEFAULTS.withVersion(SERVER.version());

	private Connection observer;

	private long killed;

	private long fatal;

	public RealServer() throws SQLException {
		this.observer = SERVER.connect();
		this.killed = number("pg_stat_get_db_sessions_killed");
		this.fatal = number("pg_stat_get_db_sessions_fatal");
	}

	@Override
	public Connection connect(Properties driverSettings) throws SQLException {
		driverSettings.setProperty("preferQueryMode", "simple");
		return SERVER.connect(driverSettings);
	}

	@Override
	public String text(String sql, Supplier<Statement<?>> program) {
		return sql;
	}

	@Override
	public void proceed(int busy) {
		Thread.onSpinWait();
	}

	@Override
	public void terminate(int pid) throws SQLException {
		query("SELECT pg_terminate_backend(" + pid + ") FROM pg_stat_get_activity(" + pid + ")", (row) -> {
		});
	}

	@Override
	public void cancel(int pid) throws SQLException {
		query("SELECT pg_cancel_backend(" + pid + ")", (row) -> {
		});
	}

	@Override
	public void expire(Connection connection) throws SQLException {
		try (java.sql.Statement statement = connection.createStatement()) {
			statement.execute("SET idle_session_timeout = 1");
		}
	}

	@Override
	public void resetStatistics() throws SQLException {
		query("SELECT pg_stat_reset()", (row) -> {
		});
		this.killed = 0;
		this.fatal = 0;
	}

	@Override
	public Set<Integer> waiting() throws SQLException {
		return pids("SELECT pid FROM pg_locks WHERE NOT granted");
	}

	@Override
	public Set<Integer> present() throws SQLException {
		return pids("SELECT pid FROM pg_stat_get_activity(NULL)");
	}

	private Set<Integer> pids(String sql) throws SQLException {
		Set<Integer> pids = new HashSet<>();
		query(sql, (row) -> pids.add(row.getInt(1)));
		return pids;
	}

	@Override
	public void visitLocks(LockVisitor visitor) throws SQLException {
		query("""
				SELECT pid, objsubid, classid::bigint, objid::bigint, mode, granted
				FROM pg_locks WHERE locktype = 'advisory'
				""",
				(row) -> visitor.visit(new LockKey(row.getInt(2), (int) row.getLong(3), (int) row.getLong(4)),
						row.getString(5).equals("ShareLock") ? LockMode.SHARE : LockMode.EXCLUSIVE, row.getInt(1),
						row.getBoolean(6)));
	}

	@Override
	public String endings() throws SQLException {
		return endings(number("pg_stat_get_db_sessions_killed"), number("pg_stat_get_db_sessions_fatal"));
	}

	@Override
	public String endings(long killedNow, long fatalNow) {
		return (killedNow - this.killed) + " killed, " + (fatalNow - this.fatal) + " fatal";
	}

	@Override
	public void signal(int pid, boolean stop) {
		SERVER.signalBackend(pid, stop ? "STOP" : "CONT");
	}

	@Override
	public void elapse(long millis, int busy) throws InterruptedException {
		Thread.sleep(millis);
	}

	@Override
	public void crash() throws SQLException {
		SERVER.stop("immediate");
		SERVER.startAgain();
		this.observer = SERVER.connect();
	}

	private long number(String counter) throws SQLException {
		long[] number = new long[1];
		query("SELECT " + counter + "(oid) FROM pg_database WHERE datname = current_database()",
				(row) -> number[0] = row.getLong(1));
		return number[0];
	}

	@Override
	public long nextTransactionId() throws SQLException {
		long[] number = new long[1];
		query("SELECT pg_snapshot_xmax(pg_current_snapshot())::text", (row) -> number[0] = row.getLong(1));
		return number[0];
	}

	private void query(String sql, RowReader reader) throws SQLException {
		try (java.sql.Statement statement = this.observer.createStatement();
				ResultSet rows = statement.executeQuery(sql)) {
			while (rows.next()) {
				reader.read(rows);
			}
		}
	}

	@Override
	public void close() throws SQLException {
		this.observer.close();
	}

	@FunctionalInterface
	private interface RowReader {

		void read(ResultSet row) throws SQLException;

	}

}
