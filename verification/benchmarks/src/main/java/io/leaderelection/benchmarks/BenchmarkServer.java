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

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Collectors;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.util.FileSystemUtils;

/**
 * An embedded PostgreSQL that flushes what it commits, as real ones do, and ends with
 * this process however that ends.
 */
public final class BenchmarkServer implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	/**
	 * The session that so many others wait for. Nothing but the election uses advisory
	 * locks on this server.
	 */
	private static final String WAITED_FOR = """
			SELECT held.pid
			FROM pg_locks AS held JOIN pg_locks AS waiting USING (locktype, database, classid, objid, objsubid)
			WHERE locktype = 'advisory' AND objsubid = 1 AND held.granted AND NOT waiting.granted
			  AND (SELECT count(DISTINCT pid) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted) = ?""";

	private final Path directory;

	private final EmbeddedPostgres server;

	private final Process guard;

	private final SingleConnectionDataSource connection;

	private final JdbcTemplate jdbc;

	public BenchmarkServer(Map<String, String> settings) throws IOException {
		this.directory = Files.createTempDirectory("leader-election-benchmark");
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setDataDirectory(this.directory.resolve("data"))
			.setServerConfig("fsync", "on")
			.setServerConfig("synchronous_commit", "on")
			.setServerConfig("full_page_writes", "on")
			.setPGStartupWait(LIMIT);
		settings.forEach(builder::setServerConfig);
		this.server = builder.start();
		this.guard = guard();
		this.connection = new SingleConnectionDataSource(url(), true);
		this.jdbc = new JdbcTemplate(this.connection);
	}

	/**
	 * A shell that ends the server when this process is gone, and with it the pipe.
	 */
	private Process guard() throws IOException {
		String pid = Files.readAllLines(this.directory.resolve("data").resolve("postmaster.pid")).get(0).trim();
		return new ProcessBuilder("sh", "-c",
				"trap '' INT HUP TERM; read -r end || { kill -INT \"$1\"; "
						+ "while kill -0 \"$1\"; do sleep 0.1; done; rm -rf \"$2\"; }",
				"sh", pid, this.directory.toString())
			.redirectOutput(ProcessBuilder.Redirect.DISCARD)
			.redirectError(ProcessBuilder.Redirect.DISCARD)
			.start();
	}

	String url() {
		return url("postgres");
	}

	public int port() {
		return this.server.getPort();
	}

	/**
	 * Where a role finds the server at another port.
	 * @param role the role
	 * @param port the port of a proxy
	 * @return the JDBC URL
	 */
	public String url(String role, int port) {
		return url(role).replace(":" + port() + "/", ":" + port + "/");
	}

	String url(String role) {
		return this.server.getJdbcUrl(role, "postgres");
	}

	/**
	 * The connection of the benchmark itself.
	 * @return the connection, of a superuser
	 */
	public JdbcTemplate jdbc() {
		return this.jdbc;
	}

	/**
	 * Waits until one session holds the lock of the election and so many others wait for
	 * it.
	 * @return the process of the session that holds it
	 */
	int awaitCandidates(int count) throws InterruptedException {
		long start = System.nanoTime();
		while (System.nanoTime() - start < LIMIT.toNanos()) {
			List<Integer> holders = this.jdbc.queryForList(WAITED_FOR, Integer.class, count);
			if (holders.size() == 1) {
				return holders.get(0);
			}
			Thread.sleep(20);
		}
		throw new IllegalStateException("There are not " + count + " candidates");
	}

	/**
	 * Waits until all nodes are candidates of an election in the lease table that one of
	 * them leads.
	 */
	void awaitCandidates(Collection<String> nodes) throws InterruptedException {
		String names = nodes.stream().collect(Collectors.joining("', '", "'", "'"));
		String count = "SELECT (SELECT count(DISTINCT node) FROM leader_election_candidate JOIN leader_election_node "
				+ "USING (token) WHERE candidate AND node IN (" + names + ")) + (SELECT count(*) FROM leader_election "
				+ "JOIN leader_election_node ON token = owner WHERE node IN (" + names + "))";
		long start = System.nanoTime();
		while (System.nanoTime() - start < LIMIT.toNanos()) {
			if (Objects.equals(this.jdbc.queryForObject(count, Integer.class), nodes.size() + 1)) {
				return;
			}
			Thread.sleep(20);
		}
		throw new IllegalStateException("Not all are candidates: " + names);
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
		try (OutputStream input = this.guard.getOutputStream()) {
			this.server.close();
			input.write('\n');
			FileSystemUtils.deleteRecursively(this.directory);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
