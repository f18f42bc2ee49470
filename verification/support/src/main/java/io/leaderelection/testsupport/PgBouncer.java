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

package io.leaderelection.testsupport;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;

/**
 * A PgBouncer in front of a {@link PostgreSqlServer}, from the binary that is installed.
 */
public final class PgBouncer implements AutoCloseable {

	private static final String USER_WHEN_ROOT = "nobody";

	private final Path folder;

	private final Path log;

	private final int port;

	private final Process process;

	private PgBouncer(PostgreSqlServer server, int serverPort, String poolMode, String... settings) {
		try {
			this.folder = Files.createTempDirectory("leader-election-pgbouncer");
			this.log = this.folder.resolve("pgbouncer.log");
			this.port = Processes.freePort();
			Path users = this.folder.resolve("users.txt");
			Files.writeString(users, "\"%s\" \"%s\"\n".formatted(server.username(), server.password()));
			Path configuration = this.folder.resolve("pgbouncer.ini");
			Files.write(configuration, configuration(server.host(), serverPort, users, poolMode, settings));
			// The user that PgBouncer runs as is another one when this one is root
			Files.setPosixFilePermissions(this.folder, PosixFilePermissions.fromString("rwxr-xr-x"));
			Files.setPosixFilePermissions(users, PosixFilePermissions.fromString("rw-r--r--"));
			Files.setPosixFilePermissions(configuration, PosixFilePermissions.fromString("rw-r--r--"));
			this.process = new ProcessBuilder(command(configuration)).redirectErrorStream(true)
				.redirectOutput(Redirect.appendTo(this.log.toFile()))
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		Runtime.getRuntime().addShutdownHook(new Thread(this::close));
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.until(() -> !this.process.isAlive() || Processes.listens("127.0.0.1", this.port));
		if (!this.process.isAlive()) {
			throw new IllegalStateException("PgBouncer ended: " + log());
		}
	}

	/**
	 * Start a PgBouncer, or skip the test if none is installed.
	 * @param poolMode {@code session} or {@code transaction}
	 * @param settings settings of the section {@code pgbouncer}, in the form
	 * {@code name=value}
	 */
	public static PgBouncer start(PostgreSqlServer server, String poolMode, String... settings) {
		return startAt(server, server.port(), poolMode, settings);
	}

	/**
	 * Start a PgBouncer that gets to the server through another port, for instance that
	 * of a {@link TcpProxy}, or skip the test if none is installed.
	 */
	public static PgBouncer startAt(PostgreSqlServer server, int serverPort, String poolMode, String... settings) {
		Assumptions.assumeTrue(isInstalled(), "PgBouncer is neither on the PATH nor in /usr/sbin");
		return new PgBouncer(server, serverPort, poolMode, settings);
	}

	public static boolean isInstalled() {
		return binary().isPresent();
	}

	public int port() {
		return this.port;
	}

	/**
	 * What PgBouncer has logged so far.
	 */
	public String log() {
		try {
			return Files.readString(this.log);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Send a signal to PgBouncer, for instance {@code STOP}, {@code CONT} or
	 * {@code KILL}.
	 */
	public void signal(String signal) {
		Processes.signal(this.process.pid(), signal);
	}

	@Override
	public synchronized void close() {
		Processes.end(this.process, this.folder);
	}

	private List<String> configuration(String host, int serverPort, Path users, String poolMode, String... settings) {
		List<String> lines = new ArrayList<>();
		lines.add("[databases]");
		lines.add("* = host=" + ("localhost".equals(host) ? "127.0.0.1" : host) + " port=" + serverPort);
		lines.add("[pgbouncer]");
		lines.add("listen_addr = 127.0.0.1");
		lines.add("listen_port = " + this.port);
		lines.add("unix_socket_dir =");
		lines.add("auth_type = trust");
		lines.add("auth_file = " + users);
		lines.add("pool_mode = " + poolMode);
		// The driver sends it
		lines.add("ignore_startup_parameters = extra_float_digits");
		lines.addAll(List.of(settings));
		return lines;
	}

	private static List<String> command(Path configuration) {
		List<String> command = new ArrayList<>(List.of(binary().orElseThrow().toString()));
		if ("root".equals(System.getProperty("user.name"))) {
			command.addAll(List.of("-u", USER_WHEN_ROOT));
		}
		command.add(configuration.toString());
		return command;
	}

	private static Optional<Path> binary() {
		String path = Optional.ofNullable(System.getenv("PATH")).orElse("");
		return Stream.concat(Stream.of(path.split(File.pathSeparator)), Stream.of("/usr/sbin"))
			.map((folder) -> Path.of(folder, "pgbouncer"))
			.filter(Files::isExecutable)
			.findFirst();
	}

}
