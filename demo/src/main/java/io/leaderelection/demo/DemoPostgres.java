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

package io.leaderelection.demo;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.jspecify.annotations.Nullable;

/**
 * The process that owns the PostgreSQL of the demo. It ends when the launcher closes its
 * input, which also happens if the launcher is killed: then it kills the nodes that are
 * left (a frozen one cannot end by itself), stops PostgreSQL and, if the launcher is
 * gone, removes all files.
 */
public final class DemoPostgres {

	static final String USER = "sample";

	private final RunDirectory directory;

	private @Nullable EmbeddedPostgres postgres;

	private volatile boolean orderly = true;

	private volatile boolean stopping;

	private DemoPostgres(RunDirectory directory) {
		this.directory = directory;
	}

	/**
	 * Own the PostgreSQL of a run.
	 * @param args the directory of the run
	 * @throws Exception if PostgreSQL does not start
	 */
	public static void main(String[] args) throws Exception {
		DemoPostgres server = new DemoPostgres(new RunDirectory(Path.of(args[0])));
		Runtime.getRuntime().addShutdownHook(new Thread(server::stop));
		server.start();
		server.orderly = System.in.read() != -1;
		System.exit(0);
	}

	private synchronized void start() throws IOException, SQLException {
		String password = UUID.randomUUID().toString();
		// The time of each commit shows whether a row was written too late
		EmbeddedPostgres postgres = EmbeddedServer.start(this.directory.data(),
				this.directory.log(RunDirectory.POSTGRES), password, Map.of("track_commit_timestamp", "on"));
		this.postgres = postgres;
		try (Connection connection = postgres.getPostgresDatabase(Map.of("password", password)).getConnection();
				Statement statement = connection.createStatement()) {
			statement.execute("create role " + USER + " login password '" + password + "'");
			statement.execute("create database " + USER + " owner " + USER);
		}
		Properties connection = new Properties();
		connection.setProperty("port", String.valueOf(postgres.getPort()));
		connection.setProperty("password", password);
		this.directory.postmaster()
			.ifPresent((postmaster) -> postmaster.handle().onExit().thenRun(this::postmasterEnded));
		this.directory.writeConnection(connection);
	}

	private void postmasterEnded() {
		if (!this.stopping) {
			System.exit(1);
		}
	}

	private void stop() {
		this.stopping = true;
		synchronized (this) {
			try {
				this.directory.killAllBut(RunDirectory.LAUNCHER, RunDirectory.POSTGRES);
			}
			catch (IOException ex) {
				ex.printStackTrace();
			}
			finally {
				stopPostgres();
			}
		}
	}

	private void stopPostgres() {
		try {
			if (this.postgres != null) {
				this.postgres.close();
			}
		}
		catch (IOException ex) {
			ex.printStackTrace();
		}
		// A launcher that lives may want to read the logs, and removes the files itself
		if (!this.orderly) {
			this.directory.delete();
		}
	}

}
