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

package io.leaderelection.benchmarks;

import java.time.Duration;
import java.util.Collection;
import java.util.Objects;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * A PostgreSQL that flushes what it commits, as real ones do.
 */
public final class BenchmarkServer implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(120);

	/**
	 * The session that so many others wait for. Nothing but the election uses advisory
	 * locks on this server.
	 */
	private static final String WAITED_FOR = """
			SELECT held.pid
			FROM pg_locks AS held JOIN pg_locks AS waiting USING (locktype, database, classid, objid, objsubid)
			WHERE locktype = 'advisory' AND objsubid = 1 AND held.granted AND NOT waiting.granted
			  AND (SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) = ?""";

	/** Of the times in {@code /proc}. */
	private static final double MILLISECONDS_IN_TICK = 10;

	private final PostgreSqlServer server;

	private final SingleConnectionDataSource connection;

	private final JdbcTemplate jdbc;

	/**
	 * Start a server.
	 * @param settings further settings, in the form {@code name=value}
	 */
	public BenchmarkServer(String... settings) {
		this.server = PostgreSqlServer
			.start(Stream.concat(Stream.of("fsync=on"), Stream.of(settings)).toArray(String[]::new));
		this.connection = new SingleConnectionDataSource(url(), true);
		this.jdbc = new JdbcTemplate(this.connection);
	}

	String url() {
		return url(this.server.username());
	}

	String url(String role) {
		return url(role, port());
	}

	/**
	 * Where a role finds the server at another port.
	 * @param role the role
	 * @param port the port of a proxy
	 * @return the JDBC URL
	 */
	public String url(String role, int port) {
		return this.server.jdbcUrl(port) + "?user=" + role + "&password=" + this.server.password();
	}

	public int port() {
		return this.server.port();
	}

	/**
	 * Creates the role of the nodes, which may create tables and whose statements the
	 * server counts.
	 */
	public void createNodeRole() {
		this.jdbc.execute("CREATE EXTENSION pg_stat_statements");
		this.server.createRole("node");
		this.jdbc.execute("GRANT CREATE ON SCHEMA public TO node");
	}

	/**
	 * The connection of the benchmark itself.
	 * @return the connection, of a superuser
	 */
	public JdbcTemplate jdbc() {
		return this.jdbc;
	}

	/**
	 * Return the processor time of all processes of the server in milliseconds, those
	 * that have ended included, but for the one of this connection. Needs {@code /proc}.
	 */
	double processorTime() {
		long own = Objects.requireNonNull(this.jdbc.queryForObject("SELECT pg_backend_pid()", Long.class));
		long server = Objects.requireNonNull(this.jdbc
			.queryForObject("SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::bigint", Long.class));
		long ticks = Stream
			.concat(Stream.of(server),
					ProcessHandle.of(server).stream().flatMap(ProcessHandle::children).map(ProcessHandle::pid))
			.filter((process) -> process != own)
			.mapToLong(BenchmarkServer::ticks)
			.sum();
		return ticks * MILLISECONDS_IN_TICK;
	}

	/** Of a process and of its children that have ended. */
	private static long ticks(long process) {
		String[] stat = Machine.read(process, "stat").replaceFirst("^.*\\) ", "").split(" ");
		return (stat.length > 14) ? Stream.of(stat).skip(11).limit(4).mapToLong(Long::parseLong).sum() : 0;
	}

	/**
	 * Waits until one session holds the lock of the election and so many others wait for
	 * it.
	 * @return the process of the session that holds it
	 */
	int awaitCandidates(int count) {
		return await()
			.until(() -> this.jdbc.queryForList(WAITED_FOR, Integer.class, count), (holders) -> holders.size() == 1)
			.get(0);
	}

	/**
	 * Waits until all nodes are candidates of an election in the lease table that one of
	 * them leads.
	 */
	void awaitCandidates(Collection<String> nodes) {
		String names = nodes.stream().collect(Collectors.joining("', '", "'", "'"));
		String count = "SELECT (SELECT count(DISTINCT node) FROM leader_election_candidate JOIN leader_election_node "
				+ "USING (token) WHERE candidate AND node IN (" + names + ")) + (SELECT count(*) FROM leader_election "
				+ "JOIN leader_election_node ON token = owner WHERE node IN (" + names + "))";
		await().until(() -> Objects.equals(this.jdbc.queryForObject(count, Integer.class), nodes.size() + 1));
	}

	static ConditionFactory await() {
		return Awaitility.await().atMost(LIMIT).pollInterval(Duration.ofMillis(20));
	}

	/**
	 * Ends a session, if there is one with this process.
	 */
	void terminate(int pid) {
		this.jdbc.queryForList("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = ?", pid);
	}

	@Override
	public void close() {
		this.connection.destroy();
		this.server.close();
	}

}
