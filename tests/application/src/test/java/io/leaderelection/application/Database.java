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

package io.leaderelection.application;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;

/**
 * The PostgreSQL that all tests share. It ends with the JVM.
 */
final class Database {

	private static final EmbeddedPostgres server = start();

	private Database() {
	}

	static int port() {
		return server.getPort();
	}

	static String url() {
		return url(port(), "postgres");
	}

	static String url(int port, String database) {
		return "jdbc:postgresql://localhost:" + port + "/" + database + "?user=postgres&password=postgres";
	}

	static void execute(String sql) {
		try (Connection connection = server.getPostgresDatabase().getConnection();
				Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static EmbeddedPostgres start() {
		try {
			return EmbeddedPostgres.builder()
				.setServerConfig("fsync", "off")
				.setPGStartupWait(Duration.ofSeconds(60))
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
