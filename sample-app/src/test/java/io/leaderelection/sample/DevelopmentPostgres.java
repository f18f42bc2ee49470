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

package io.leaderelection.sample;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.apache.commons.logging.LogFactory;

import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.util.Assert;

/**
 * A PostgreSQL for all instances that are started in this directory. It is a process of
 * its own, which no instance ends. It ends 20 seconds after the last one.
 */
final class DevelopmentPostgres {

	private static final Path DIRECTORY = Path.of("target", "postgres").toAbsolutePath();

	private static final File LOG = DIRECTORY.resolve("server.log").toFile();

	private static final File LOCK = DIRECTORY.resolve("lock").toFile();

	// URL and process id, removed before the server ends. Its time is the last use.
	private static final File STATE = DIRECTORY.resolve("state").toFile();

	private DevelopmentPostgres() {
	}

	/** Return the URL of the server, which is started if there is none. */
	static String join() throws IOException, InterruptedException {
		Files.createDirectories(DIRECTORY);
		try (RandomAccessFile file = new RandomAccessFile(LOCK, "rw"); FileLock lock = file.getChannel().lock()) {
			if (!isRunning()) {
				STATE.delete();
				Process process = start();
				while (!isRunning()) {
					Assert.state(process.isAlive(), () -> "PostgreSQL does not start, see " + LOG);
					Thread.sleep(100);
				}
			}
			STATE.setLastModified(System.currentTimeMillis());
			String url = state().get(0);
			LogFactory.getLog(DevelopmentPostgres.class).info("PostgreSQL runs: --spring.datasource.url=" + url);
			return url;
		}
	}

	private static boolean isRunning() throws IOException {
		try (Connection connection = DriverManager.getConnection(state().get(0))) {
			return ProcessHandle.of(Long.parseLong(state().get(1))).isPresent();
		}
		catch (SQLException ex) {
			return false;
		}
	}

	private static List<String> state() throws IOException {
		return STATE.exists() ? Files.readAllLines(STATE.toPath()) : List.of("", "0");
	}

	private static Process start() throws IOException {
		// Neither Ctrl-C nor the end of the terminal ends the process
		List<String> command = new ArrayList<>((File.separatorChar != '/') ? List.of()
				: List.of("/bin/sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"));
		command.addAll(List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx64m", "-cp",
				System.getProperty("java.class.path"), TestSampleApplication.class.getName(), "serve"));
		return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(LOG).start();
	}

	static void hold() throws Exception {
		try (Connection connection = DriverManager.getConnection(join())) {
			while (connection.isValid(10)) {
				Thread.sleep(1000);
			}
		}
		throw new IllegalStateException("PostgreSQL has ended, see " + LOG);
	}

	static void serve() throws Exception {
		String password = UUID.randomUUID().toString();
		// Only its owner can read a temporary file
		Path file = Files.writeString(Files.createTempFile(DIRECTORY, "postgres", ".tmp"), password);
		file.toFile().deleteOnExit();
		// All users can reach the port. A "locale" is any option of initdb.
		try (EmbeddedPostgres server = EmbeddedPostgres.builder()
			.setLocaleConfig("auth", "scram-sha-256")
			.setLocaleConfig("pwfile", file.toString())
			.setConnectConfig("password", password)
			.setOutputRedirector(ProcessBuilder.Redirect.INHERIT)
			.setErrorRedirector(ProcessBuilder.Redirect.INHERIT)
			.setPGStartupWait(Duration.ofMinutes(1))
			.start()) {
			String url = server.getJdbcUrl("postgres", "postgres") + "&password=" + password;
			Files.write(file, List.of(url, Long.toString(ProcessHandle.current().pid())));
			Files.move(file, STATE.toPath()); // fails if another server was faster
			JdbcTemplate jdbc = new JdbcTemplate(server.getPostgresDatabase(Map.of("password", password)));
			while (isUsed(jdbc)) {
				Thread.sleep(1000);
			}
		}
	}

	private static boolean isUsed(JdbcTemplate jdbc) throws IOException {
		try (RandomAccessFile file = new RandomAccessFile(LOCK, "rw"); FileLock lock = file.getChannel().lock()) {
			boolean current = state().get(1).equals(Long.toString(ProcessHandle.current().pid()));
			String sessions = "select count(*) from pg_stat_activity where backend_type = 'client backend'";
			if (current && jdbc.queryForObject(sessions, Integer.class) > 1) {
				STATE.setLastModified(System.currentTimeMillis());
			}
			return current && (STATE.lastModified() > System.currentTimeMillis() - 20_000 || !STATE.delete());
		}
	}

}
