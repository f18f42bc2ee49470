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
import java.util.Properties;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * Starts the parts of the demo one after the other, and stops them.
 */
final class Launcher {

	private static final int NODES_SECONDS = 120;

	private final RunDirectory directory;

	private final DemoServer server;

	private @Nullable PostgresProcess postgres;

	private @Nullable DemoDatabase database;

	private @Nullable Cluster cluster;

	private volatile boolean stopped;

	Launcher(RunDirectory directory, DemoServer server) {
		this.directory = directory;
		this.server = server;
	}

	/**
	 * Start everything, unless it is being stopped.
	 */
	void start(int nodes, Expectation.Settings settings) throws IOException {
		try {
			startParts(nodes, settings);
		}
		catch (IOException | RuntimeException ex) {
			// A failure while everything is being stopped is expected
			if (!this.stopped) {
				throw ex;
			}
		}
	}

	private void startParts(int nodes, Expectation.Settings settings) throws IOException {
		say("Starting PostgreSQL. The first start unpacks its binaries, which takes a few seconds longer");
		Properties connection = startPostgres();
		say("PostgreSQL is ready on port " + connection.getProperty("port"));
		Cluster cluster = startCluster(connection, settings);
		say("Starting " + nodes + ((nodes != 1) ? " nodes" : " node") + ", store " + settings.store() + ", lease "
				+ settings.lease().toMillis() / 1000.0 + " s, logs in " + this.directory.path());
		for (int i = 0; i < nodes; i++) {
			cluster.add();
		}
		cluster.nodes().forEach(this::awaitNode);
		this.server.start(cluster);
		say("\nOpen " + this.server.url() + "\n\nCtrl-C stops all processes and removes their files.");
	}

	private Properties startPostgres() throws IOException {
		PostgresProcess postgres = forkPostgres();
		Properties connection = postgres.awaitConnection();
		postgres.onExit(this::postgresEnded);
		return connection;
	}

	private synchronized PostgresProcess forkPostgres() throws IOException {
		if (this.stopped) {
			throw new DemoException("Stopped");
		}
		PostgresProcess postgres = PostgresProcess.fork(this.directory);
		this.postgres = postgres;
		return postgres;
	}

	private void postgresEnded() {
		if (this.stopped) {
			return;
		}
		System.err
			.println("\nPostgreSQL has ended. The end of its log:\n\n" + this.directory.tail(RunDirectory.POSTGRES));
		System.exit(1);
	}

	private synchronized Cluster startCluster(Properties connection, Expectation.Settings settings) {
		if (this.stopped) {
			throw new DemoException("Stopped");
		}
		DemoDatabase database = new DemoDatabase(connection);
		database.createTables();
		this.database = database;
		NodeCommand command = new NodeCommand(this.directory, connection, settings);
		Cluster cluster = new Cluster(this.directory, command, database, new RowCounter(new DemoDatabase(connection)));
		this.cluster = cluster;
		return cluster.start();
	}

	private void awaitNode(NodeProcess node) {
		long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(NODES_SECONDS);
		while (node.state() == ProcessState.STARTING && System.nanoTime() < deadline) {
			Background.pause(50);
		}
		if (node.state() == ProcessState.DEAD || node.state() == ProcessState.STARTING) {
			throw new DemoException(
					node.name() + " did not start. The end of its log:\n\n" + this.directory.tail(node.name()));
		}
		say(node.name() + " runs, process " + node.pid() + ", " + node.url());
	}

	/**
	 * Stop everything that was started, and remove it.
	 */
	void stop() {
		this.stopped = true;
		say("\nStopping the demo");
		this.server.stop();
		boolean clean;
		synchronized (this) {
			stopParts();
			clean = killWhatIsLeft();
		}
		this.directory.delete();
		say(clean ? "Stopped, nothing is left" : "Stopped");
	}

	private void stopParts() {
		try {
			if (this.cluster != null) {
				this.cluster.close();
			}
			if (this.database != null) {
				this.database.close();
			}
			if (this.postgres != null) {
				this.postgres.stop();
			}
		}
		catch (IOException | InterruptedException | RuntimeException ex) {
			System.err.println("Could not stop everything in order: " + ex);
		}
	}

	private boolean killWhatIsLeft() {
		try {
			this.directory.killAllBut(RunDirectory.LAUNCHER);
			this.directory.postmaster().ifPresent(ChildProcess::kill);
			return true;
		}
		catch (IOException ex) {
			System.err.println("Could not determine what is left: " + ex);
			return false;
		}
	}

	static void say(String text) {
		System.out.println(text);
	}

}
