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

package io.leaderelection.sample.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;

/**
 * What nodes need to know of the server, as its process writes it down.
 *
 * @param port the port of PostgreSQL
 * @param password the password of all its users
 * @param pid the id of the process that owns the server
 * @param postgresPid the id of PostgreSQL's own process
 */
record ServerState(int port, String password, long pid, long postgresPid) {

	/**
	 * The user of the nodes, and the name of its database.
	 */
	static final String USER = "sample";

	/**
	 * The superuser, and the name of its database.
	 */
	static final String ADMIN = "postgres";

	private static final Log logger = LogFactory.getLog(ServerState.class);

	private static final int TIMEOUT_SECONDS = 3;

	static @Nullable ServerState from(Properties properties) {
		try {
			return new ServerState(Integer.parseInt(properties.getProperty("port")), properties.getProperty("password"),
					Long.parseLong(properties.getProperty("pid")),
					Long.parseLong(properties.getProperty("postgres-pid")));
		}
		catch (NumberFormatException ex) {
			// Not a state file of this version: treated as absent.
			return null;
		}
	}

	Properties toProperties() {
		Properties properties = new Properties();
		properties.setProperty("port", Integer.toString(this.port));
		properties.setProperty("password", this.password);
		properties.setProperty("pid", Long.toString(this.pid));
		properties.setProperty("postgres-pid", Long.toString(this.postgresPid));
		return properties;
	}

	String url() {
		return url(USER);
	}

	private String url(String database) {
		return "jdbc:postgresql://localhost:" + this.port + "/" + database;
	}

	/**
	 * Connect as a node does, which shows whether the server is there: no other server at
	 * that port knows the password.
	 * @return a connection, {@code null} if the server does not answer
	 */
	@Nullable Connection tryConnect() {
		try {
			return connect(USER);
		}
		catch (SQLException ex) {
			logger.debug("No answer from " + url(), ex);
			return null;
		}
	}

	Connection connect(String user) throws SQLException {
		PGSimpleDataSource dataSource = new PGSimpleDataSource();
		dataSource.setUrl(url(user));
		dataSource.setUser(user);
		dataSource.setPassword(this.password);
		dataSource.setApplicationName("leader-election-sample");
		dataSource.setConnectTimeout(TIMEOUT_SECONDS);
		dataSource.setSocketTimeout(TIMEOUT_SECONDS);
		dataSource.setLoginTimeout(TIMEOUT_SECONDS);
		return dataSource.getConnection();
	}

}
