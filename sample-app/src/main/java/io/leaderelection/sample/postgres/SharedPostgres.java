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

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.sql.Connection;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * A node's view of the PostgreSQL that all nodes on this machine share: joins the one
 * that runs, or starts a {@link SharedPostgresServer process} that owns a new one. Nodes
 * do so one after the other, under a file lock.
 */
class SharedPostgres {

	private static final Log logger = LogFactory.getLog(SharedPostgres.class);

	private static final Duration TIMEOUT = Duration.ofSeconds(60);

	private static final Duration PROGRESS_INTERVAL = Duration.ofSeconds(5);

	private final ServerDirectory directory;

	private final Duration idleTimeout;

	private final Duration timeout;

	SharedPostgres(ServerDirectory directory, Duration idleTimeout) {
		this(directory, idleTimeout, TIMEOUT);
	}

	SharedPostgres(ServerDirectory directory, Duration idleTimeout, Duration timeout) {
		this.directory = directory;
		this.idleTimeout = idleTimeout;
		this.timeout = timeout;
	}

	/**
	 * Join the server, which is started if there is none.
	 * @return a session on it, which keeps the server up until it is closed
	 * @throws IOException if the files of the server are out of reach
	 * @throws InterruptedException if the current thread is interrupted
	 * @throws SharedPostgresException if the server does not come up
	 */
	Session join() throws IOException, InterruptedException {
		// File locks are between processes: closing any channel of a file drops all locks
		// that the process has on it.
		synchronized (SharedPostgres.class) {
			long start = System.nanoTime();
			try (FileChannel lock = this.directory.lockForJoining(this.timeout)) {
				if (lock == null) {
					throw failure("Other nodes were still waiting for the embedded PostgreSQL", null);
				}
				return join(start);
			}
		}
	}

	private Session join(long start) throws IOException, InterruptedException {
		Process process = null;
		long reported = start;
		while (true) {
			boolean owned = (process != null && process.isAlive()) || this.directory.isOwned();
			if (!owned && process != null && process.exitValue() != 0) {
				throw failure("The process of the embedded PostgreSQL ended with exit code " + process.exitValue(),
						null);
			}
			if (!owned) {
				logger.info("No spring.datasource.url is set: starting an embedded PostgreSQL for all nodes on this "
						+ "machine, log in " + this.directory.log());
				process = startProcess();
			}
			Session session = openSession();
			if (session != null) {
				logger.info(((process != null) ? "Started" : "Joined") + " the embedded PostgreSQL at " + session.url()
						+ " in " + secondsSince(start) + " s");
				return session;
			}
			if (secondsSince(start) >= this.timeout.toSeconds()) {
				throw failure("The embedded PostgreSQL did not come up within " + this.timeout.toSeconds() + " s",
						process);
			}
			if (secondsSince(reported) >= PROGRESS_INTERVAL.toSeconds()) {
				reported = System.nanoTime();
				logger.info("Waiting for the embedded PostgreSQL, " + secondsSince(start) + " s so far");
			}
			Thread.sleep(100);
		}
	}

	private @Nullable Session openSession() throws IOException {
		// The state file may be of a server that is gone: only an answer counts.
		ServerState state = this.directory.readState();
		Connection connection = (state != null) ? state.tryConnect() : null;
		return (state != null && connection != null) ? new Session(state.url(), state.password(), connection) : null;
	}

	private Process startProcess() throws IOException {
		this.directory.limitLog();
		ProcessBuilder builder = ChildJvm
			.builder(SharedPostgresServer.class, List.of("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
					List.of(this.directory.path().toString(), this.idleTimeout.toString()))
			.directory(this.directory.path().toFile())
			.redirectErrorStream(true)
			.redirectOutput(ProcessBuilder.Redirect.appendTo(this.directory.log().toFile()));
		return builder.start();
	}

	private SharedPostgresException failure(String message, @Nullable Process process) {
		if (process != null) {
			process.destroy();
		}
		return new SharedPostgresException(message, this.directory.log());
	}

	private static long secondsSince(long start) {
		return TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start);
	}

	/**
	 * A session on the server.
	 *
	 * @param url the JDBC URL of the server
	 * @param password the password of {@link ServerState#USER}
	 * @param connection keeps the server up until it is closed
	 */
	record Session(String url, String password, Connection connection) {
	}

}
