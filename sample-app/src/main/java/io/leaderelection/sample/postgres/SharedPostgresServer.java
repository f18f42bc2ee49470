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
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.support.JdbcUtils;
import org.springframework.util.FileSystemUtils;

/**
 * The process that owns the shared PostgreSQL, so that no node does. It ends PostgreSQL
 * and itself when it has seen no session of a node for a while, or when PostgreSQL died.
 * <p>
 * If this process was killed, the next node starts another: it takes over a PostgreSQL
 * that still answers, because other nodes may live on it, and removes one that does not.
 */
public final class SharedPostgresServer {

	private static final Log logger = LogFactory.getLog(SharedPostgresServer.class);

	private static final Duration LOCK_TIMEOUT = Duration.ofSeconds(5);

	private static final Duration STOP_TIMEOUT = Duration.ofSeconds(10);

	/**
	 * How long a running PostgreSQL may take to answer on a busy machine.
	 */
	private static final Duration ANSWER_TIMEOUT = Duration.ofSeconds(10);

	private static final int UNKNOWN = -1;

	private final ServerDirectory directory;

	private final Duration idleTimeout;

	private volatile @Nullable Connection connection;

	private volatile @Nullable ServerState state;

	private boolean stopped;

	private SharedPostgresServer(ServerDirectory directory, Duration idleTimeout) {
		this.directory = directory;
		this.idleTimeout = idleTimeout;
	}

	/**
	 * Own the PostgreSQL of a directory until no node uses it.
	 * @param args the directory and the time without sessions after which to end
	 * @throws Exception if PostgreSQL does not come up
	 */
	public static void main(String[] args) throws Exception {
		ServerDirectory directory = ServerDirectory.of(Path.of(args[0]));
		// Nodes take this lock too, for a moment, to see whether this process lives.
		try (FileChannel lock = directory.lockForOwning(LOCK_TIMEOUT)) {
			if (lock == null) {
				logger.info("Another process owns the embedded PostgreSQL");
				return;
			}
			new SharedPostgresServer(directory, Duration.parse(args[1])).run();
		}
	}

	private void run() throws Exception {
		Runtime.getRuntime().addShutdownHook(new Thread(this::stop));
		try {
			ServerState taken = takeOver();
			ServerState state = (taken != null) ? taken : start();
			this.state = state;
			this.directory.writeState(state);
			logger.info("PostgreSQL is ready at " + state.url() + ", process " + state.postgresPid());
			awaitEnd(state);
		}
		finally {
			// As long as the lock of the owner is held
			stop();
		}
	}

	/**
	 * Take over the PostgreSQL whose owner was killed.
	 * @return its state, {@code null} if there is none that answers
	 * @throws IOException if the files of the server are out of reach
	 * @throws InterruptedException if the current thread is interrupted
	 */
	private @Nullable ServerState takeOver() throws IOException, InterruptedException {
		ServerState state = this.directory.readState();
		if (state == null || !answers(state)) {
			return null;
		}
		logger.info("Taking over the PostgreSQL of process " + state.pid() + ", which is gone");
		return new ServerState(state.port(), state.password(), ProcessHandle.current().pid(), state.postgresPid());
	}

	private boolean answers(ServerState state) throws IOException, InterruptedException {
		long start = System.nanoTime();
		do {
			Connection connection = state.tryConnect();
			if (connection != null) {
				JdbcUtils.closeConnection(connection);
				return true;
			}
			Thread.sleep(100);
		}
		while (findPostgres().isPresent() && System.nanoTime() - start < ANSWER_TIMEOUT.toNanos());
		return false;
	}

	private Optional<ProcessHandle> findPostgres() throws IOException {
		return PostmasterPid.readIfPresent(this.directory.data()).flatMap(PostmasterPid::findProcess);
	}

	private ServerState start() throws IOException, SQLException {
		removeAll();
		String password = UUID.randomUUID().toString();
		int port = EmbeddedServer.start(this.directory.data(), this.directory.log(), password, Map.of()).getPort();
		ServerState state = new ServerState(port, password, ProcessHandle.current().pid(),
				PostmasterPid.read(this.directory.data()).pid());
		createDatabase(state);
		return state;
	}

	private void createDatabase(ServerState state) throws SQLException {
		try (Connection connection = state.connect(ServerState.ADMIN);
				Statement statement = connection.createStatement()) {
			statement.execute("create role " + ServerState.USER + " login password '" + state.password() + "'");
			statement.execute("create database " + ServerState.USER + " owner " + ServerState.USER);
		}
	}

	private void awaitEnd(ServerState state) throws IOException, InterruptedException {
		long pause = Math.min(1000, this.idleTimeout.toMillis() / 5);
		long lastSeen = System.nanoTime();
		long lastAnswer = lastSeen;
		while (ProcessHandle.of(state.postgresPid()).isPresent()) {
			int sessions = countSessions(state);
			long now = System.nanoTime();
			lastSeen = (sessions != 0) ? now : lastSeen;
			lastAnswer = (sessions != UNKNOWN) ? now : lastAnswer;
			if (now - lastSeen >= this.idleTimeout.toNanos() && stopIfUnused(state)) {
				return;
			}
			if (now - lastAnswer >= ANSWER_TIMEOUT.toNanos()) {
				logger.warn("PostgreSQL does not answer, ending");
				return;
			}
			Thread.sleep(pause);
		}
		logger.info("PostgreSQL has ended");
	}

	private boolean stopIfUnused(ServerState state) throws IOException, InterruptedException {
		// A node that is about to join has this lock, and has a session before it gives
		// the lock back. One that comes later finds no server and starts another.
		try (FileChannel lock = this.directory.lockForJoining(Duration.ZERO)) {
			if (lock == null || countSessions(state) != 0) {
				return false;
			}
			logger.info("No session of a node for " + this.idleTimeout.toSeconds() + " s, ending");
			stop();
			return true;
		}
	}

	private int countSessions(ServerState state) {
		try {
			Connection connection = this.connection;
			if (connection == null) {
				connection = state.connect(ServerState.ADMIN);
				this.connection = connection;
			}
			try (Statement statement = connection.createStatement();
					ResultSet result = statement.executeQuery("select count(*) from pg_stat_activity "
							+ "where backend_type = 'client backend' and pid <> pg_backend_pid()")) {
				result.next();
				return result.getInt(1);
			}
		}
		catch (SQLException ex) {
			logger.warn("PostgreSQL does not answer: " + ex.getMessage());
			JdbcUtils.closeConnection(this.connection);
			this.connection = null;
			return UNKNOWN;
		}
	}

	private synchronized void stop() {
		if (this.stopped) {
			return;
		}
		this.stopped = true;
		try {
			this.directory.deleteState();
			ServerState state = this.state;
			if (state != null) {
				stopPostgres(state);
			}
			removeAll();
		}
		catch (IOException ex) {
			logger.warn("Could not remove all files", ex);
		}
	}

	private void stopPostgres(ServerState state) {
		JdbcUtils.closeConnection(this.connection);
		Optional<ProcessHandle> postgres = ProcessHandle.of(state.postgresPid());
		try (Connection connection = state.connect(ServerState.ADMIN);
				Statement statement = connection.createStatement()) {
			// Refuses new sessions and waits for the present ones.
			postgres.ifPresent(ProcessHandle::destroy);
			statement.execute("select pg_terminate_backend(pid) from pg_stat_activity "
					+ "where backend_type = 'client backend' and pid <> pg_backend_pid()");
		}
		catch (SQLException ex) {
			logger.debug("Could not connect to PostgreSQL to end its sessions", ex);
		}
		postgres.ifPresent(SharedPostgresServer::awaitExit);
	}

	/**
	 * Remove everything but the log: what was left behind when this process was killed or
	 * the machine switched off, and what an orderly end leaves too.
	 * @throws IOException if a file cannot be removed
	 */
	private void removeAll() throws IOException {
		this.directory.deleteState();
		Files.deleteIfExists(this.directory.passwordFile());
		findPostgres().ifPresent((postgres) -> {
			logger.info("Killing a PostgreSQL that does not answer, process " + postgres.pid());
			postgres.destroyForcibly();
			awaitExit(postgres);
		});
		FileSystemUtils.deleteRecursively(this.directory.data());
	}

	private static void awaitExit(ProcessHandle process) {
		try {
			process.onExit().get(STOP_TIMEOUT.toSeconds(), TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException ex) {
			logger.info("Process " + process.pid() + " still runs");
		}
	}

}
