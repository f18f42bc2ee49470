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
import java.util.Objects;

import io.leaderelection.benchmarks.BenchmarkServer;

/**
 * The server that the nodes of a candidate use. It ends with the driver.
 */
interface Backend extends AutoCloseable {

	int port();

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
	void close();

	/**
	 * A PostgreSQL. The name of an application ends with that of its node.
	 */
	final class PostgreSql implements Backend {

		private static final String NODES = "FROM %s WHERE %s <> 'postgres'::regrole";

		private static final List<String> SCHEMA = List.of("CREATE EXTENSION pg_stat_statements", """
				CREATE TABLE int_lock (lock_key CHAR(36) NOT NULL, region VARCHAR(100) NOT NULL, client_id CHAR(36),
				  created_date TIMESTAMP NOT NULL, expired_after TIMESTAMP NOT NULL, PRIMARY KEY (lock_key, region))""",
				"""
						CREATE TABLE shedlock (name VARCHAR(64) NOT NULL PRIMARY KEY, lock_until TIMESTAMP NOT NULL,
						  locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL)""");

		private final BenchmarkServer server;

		PostgreSql() throws IOException {
			this.server = new BenchmarkServer(
					Map.of("shared_preload_libraries", "pg_stat_statements", "max_connections", "200"));
			SCHEMA.forEach(this.server.jdbc()::execute);
			this.server.jdbc().execute("CREATE ROLE node LOGIN SUPERUSER");
		}

		@Override
		public int port() {
			return this.server.port();
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
			return Map.of("statements", query("sum(calls) " + NODES.formatted("pg_stat_statements", "userid")),
					"connections", query("count(*) " + NODES.formatted("pg_stat_activity", "usesysid")), "walBytes",
					query("pg_current_wal_lsn() - '0/0'"));
		}

		private double query(String expression) {
			return Objects.requireNonNullElse(this.server.jdbc().queryForObject("SELECT " + expression, Double.class),
					0.0);
		}

		@Override
		public void close() {
			this.server.close();
		}

	}

}
