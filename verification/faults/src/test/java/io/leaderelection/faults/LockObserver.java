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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.faults.LockSample.Key;
import io.leaderelection.faults.LockSample.Lock;
import io.leaderelection.faults.LockSample.Session;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.PostgreSqlServer;

/**
 * Asks the server over and over who holds what. After any fault of the server it goes on
 * when that is back.
 */
final class LockObserver implements AutoCloseable {

	private static final long INTERVAL = 20_000_000;

	/** What the names of sessions begin with, with either store. */
	private static final Pattern SESSION = Pattern.compile("^leader-election (default|table) ");

	private static final long CLEAN = 0xFFFFFFFFL;

	private final PostgreSqlServer server;

	private final ElectionKeys keys;

	private final List<LockSample> samples = new ArrayList<>();

	private final Thread thread;

	private volatile boolean closed;

	LockObserver(PostgreSqlServer server, String group) {
		this.server = server;
		this.keys = ElectionKeys.derive(group, "default");
		this.thread = Daemon.start("lock observer", this::run);
	}

	List<LockSample> samples() {
		synchronized (this.samples) {
			return List.copyOf(this.samples);
		}
	}

	Optional<LockSample> last() {
		synchronized (this.samples) {
			return this.samples.isEmpty() ? Optional.empty() : Optional.of(this.samples.get(this.samples.size() - 1));
		}
	}

	private void run() {
		while (!this.closed) {
			try (Connection connection = connect(); Statement statement = connection.createStatement()) {
				while (!this.closed) {
					LockSample sample = sample(statement);
					synchronized (this.samples) {
						this.samples.add(sample);
					}
					LockSupport.parkNanos(INTERVAL);
				}
			}
			catch (SQLException ex) {
				// The server is away, which a test may want: without answers there are no
				// samples
				LockSupport.parkNanos(5 * INTERVAL);
			}
		}
	}

	private Connection connect() throws SQLException {
		Properties properties = new Properties();
		properties.setProperty("socketTimeout", "5");
		properties.setProperty("connectTimeout", "5");
		return this.server.connect(properties);
	}

	LockSample sample(Statement statement) throws SQLException {
		List<Lock> locks = new ArrayList<>();
		List<Session> sessions = new ArrayList<>();
		long before = System.nanoTime();
		try (ResultSet rows = statement.executeQuery(query())) {
			while (rows.next()) {
				String node = node(rows.getString("application_name"));
				int pid = rows.getInt("pid");
				if (rows.getString("part").equals("session")) {
					sessions.add(new Session(node, pid, rows.getBoolean("granted"), rows.getDouble("age")));
					continue;
				}
				Key key = key(rows.getLong("key"), rows.getInt("objsubid"), rows.getLong("objid"));
				locks.add(new Lock(node, pid, key, rows.getLong("objid"), rows.getBoolean("granted"),
						rows.getBoolean("idle")));
			}
		}
		return new LockSample(before, System.nanoTime(), List.copyOf(locks), List.copyOf(sessions));
	}

	private String query() {
		return """
				SELECT 'lock' AS part, locks.pid, application_name, granted, objsubid, objid::bigint AS objid,
				  CASE WHEN objsubid = 1 THEN (classid::bigint << 32) | objid::bigint ELSE 0 END AS key, 0 AS age,
				  coalesce(wait_event = 'ClientRead', false) AS idle
				FROM pg_locks AS locks LEFT JOIN pg_stat_activity AS activity ON activity.pid = locks.pid
				WHERE locktype = 'advisory' AND (
				  (objsubid = 1 AND (classid::bigint << 32) | objid::bigint IN (%d, %d, %d))
				  OR (objsubid = 2 AND classid = %d AND mode = 'ExclusiveLock'))
				UNION ALL
				SELECT 'session', pid, application_name, state = 'idle', 0, 0, 0,
				  coalesce(extract(epoch FROM clock_timestamp() - xact_start), 0), false
				FROM pg_stat_activity WHERE application_name ~ '%s' AND backend_type = 'client backend'
				""".formatted(this.keys.main(), this.keys.fence(), this.keys.candidate(),
				this.keys.termClass() & 0xFFFFFFFFL, SESSION);
	}

	private Key key(long key, int parts, long object) {
		if (parts == 2) {
			return (object == CLEAN) ? Key.CLEAN : Key.TERM;
		}
		if (key == this.keys.main()) {
			return Key.MAIN;
		}
		return (key == this.keys.fence()) ? Key.FENCE : Key.CANDIDATE;
	}

	private static String node(String applicationName) {
		Matcher session = SESSION.matcher((applicationName != null) ? applicationName : "");
		return session.find() ? applicationName.substring(session.end()) : "";
	}

	@Override
	public void close() {
		this.closed = true;
		try {
			this.thread.join(10_000);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

}
