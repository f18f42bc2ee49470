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

package io.leaderelection.comparison;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

import io.leaderelection.benchmarks.BenchmarkServer;

/**
 * The server that the nodes of a candidate use. It ends with the driver.
 */
interface Backend extends AutoCloseable {

	int port();

	default String version() {
		return "";
	}

	/**
	 * The option of a node that says where the server is.
	 * @param node the number of the node
	 * @param port the port of the server, or of a proxy before it
	 * @param parameters parameters of the JDBC URL
	 */
	default String address(int node, int port, List<String> parameters) {
		return "address=127.0.0.1:" + port;
	}

	/**
	 * Ends the sessions of a node that leads an election.
	 */
	default void endSessions(int node, String election) throws Exception {
		throw new UnsupportedOperationException("It has no sessions");
	}

	/**
	 * What the server has counted since its start, and its {@code connections}.
	 */
	Map<String, Double> counters();

	@Override
	void close() throws IOException;

	/**
	 * A PostgreSQL. The name of an application ends with that of its node.
	 */
	final class PostgreSql implements Backend {

		private static final String COUNTERS = """
				SELECT coalesce(sum(calls) FILTER (WHERE toplevel), 0) AS statements, coalesce(sum(calls), 0) AS nested,
				  (SELECT count(*) FROM pg_stat_activity WHERE usename = 'node') AS connections,
				  pg_current_wal_lsn() - '0/0' AS wal FROM pg_stat_statements WHERE userid = 'node'::regrole""";

		private static final List<String> SCHEMA = List.of("SET ROLE node", """
				CREATE TABLE int_lock (lock_key CHAR(36) NOT NULL, region VARCHAR(100) NOT NULL, client_id CHAR(36),
				  created_date TIMESTAMP NOT NULL, expired_after TIMESTAMP NOT NULL, PRIMARY KEY (lock_key, region))""",
				"""
						CREATE TABLE shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until TIMESTAMP NOT NULL,
						  locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)""", "RESET ROLE");

		private final BenchmarkServer server;

		PostgreSql() {
			this.server = new BenchmarkServer("shared_preload_libraries=pg_stat_statements",
					"pg_stat_statements.track=all", "max_connections=200");
			this.server.createNodeRole();
			SCHEMA.forEach(this.server.jdbc()::execute);
		}

		@Override
		public int port() {
			return this.server.port();
		}

		@Override
		public String version() {
			return "PostgreSQL " + this.server.jdbc().queryForObject("SHOW server_version", String.class);
		}

		@Override
		public String address(int node, int port, List<String> parameters) {
			return "spring.datasource.url=" + this.server.url("node", port) + "&ApplicationName=node-" + node
					+ String.join("", parameters.stream().map((parameter) -> "&" + parameter).toList());
		}

		@Override
		public void endSessions(int node, String election) {
			this.server.jdbc()
				.queryForList(
						"SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
								+ "WHERE usename = 'node' AND application_name LIKE '%node-' || ?",
						String.valueOf(node));
		}

		@Override
		public Map<String, Double> counters() {
			Map<String, Double> counters = new TreeMap<>();
			this.server.jdbc()
				.queryForMap(COUNTERS)
				.forEach((name, value) -> counters.put(name, ((Number) value).doubleValue()));
			return counters;
		}

		@Override
		public void close() {
			this.server.close();
		}

	}

}
