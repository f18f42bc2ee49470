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

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;
import org.springframework.util.FileSystemUtils;

/**
 * A PostgreSQL from the binaries on Maven Central.
 */
final class EmbeddedServer implements PostgreSqlServer {

	private static final List<String> AUTHENTICATION = List.of("local all all trust", "host all postgres all trust",
			"host replication postgres localhost trust", "host all all all scram-sha-256");

	private final @Nullable Path binaries;

	private final String[] settings;

	private final Path folder;

	private final Path log;

	private int port;

	EmbeddedServer(String... settings) {
		this(null, settings);
	}

	EmbeddedServer(@Nullable Path binaries, String... settings) {
		this(binaries, DataTemplate.of(binaries), null, 0, settings);
	}

	EmbeddedServer(@Nullable Path binaries, @Nullable DataTemplate template, @Nullable EmbeddedServer primary,
			int primaryPort, String... settings) {
		this.binaries = binaries;
		this.settings = settings;
		try {
			this.folder = Files.createTempDirectory("leader-election-postgresql");
			this.log = this.folder.resolve("server.log");
			Files.write(this.folder.resolve("hba.conf"), AUTHENTICATION);
			if (primary != null) {
				BaseBackup.take(primary, primary.data(), data());
				BaseBackup.configureStandby(data(), primary.username(), primaryPort);
			}
			if (template != null) {
				template.copyTo(data());
			}
			startServer(template);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		Runtime.getRuntime().addShutdownHook(new Thread(this::close));
	}

	private void startServer(@Nullable DataTemplate template) throws IOException {
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setDataDirectory(data())
			.setCleanDataDirectory(false)
			.setRegisterShutdownHook(false)
			.setOutputRedirector(Redirect.appendTo(this.log.toFile()))
			.setErrorRedirector(Redirect.appendTo(this.log.toFile()))
			.setServerConfig("hba_file", this.folder.resolve("hba.conf").toString())
			.setPGStartupWait(Duration.ofSeconds(60));
		if (this.port != 0) {
			builder.setPort(this.port);
		}
		if (template != null) {
			builder.setDataDirectoryCustomizer((data) -> template.make(data.toPath()));
		}
		if (this.binaries != null) {
			builder.setPgBinaryResolver((system, machine) -> open(this.binaries));
		}
		Stream.concat(DEFAULTS.stream(), Stream.of(this.settings))
			.map((setting) -> setting.split("=", 2))
			.forEach((parts) -> builder.setServerConfig(parts[0], parts[1]));
		this.port = builder.start().getPort();
	}

	/**
	 * Open the only archive of a jar.
	 */
	private static InputStream open(Path jar) throws IOException {
		try (FileSystem files = FileSystems.newFileSystem(jar); Stream<Path> entries = Files.list(files.getPath("/"))) {
			Path archive = entries.filter((entry) -> entry.toString().endsWith(".txz")).findFirst().orElseThrow();
			return new ByteArrayInputStream(Files.readAllBytes(archive));
		}
	}

	@Override
	public String host() {
		return "localhost";
	}

	@Override
	public int port() {
		return this.port;
	}

	@Override
	public String database() {
		return "postgres";
	}

	@Override
	public String username() {
		return "postgres";
	}

	@Override
	public String password() {
		return "postgres";
	}

	@Override
	public String log() {
		try {
			return Files.readString(this.log);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void stop(String mode) {
		try {
			String signal = PostgreSqlServer.stopSignal(mode);
			thaw();
			end(postmaster(), signal);
			Files.deleteIfExists(data().resolve(BaseBackup.LOCK));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void startAgain() {
		try {
			startServer(null);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void freeze() {
		Processes.signalTree(postmaster(), "STOP");
	}

	@Override
	public void thaw() {
		Processes.signalTree(postmaster(), "CONT");
	}

	@Override
	public void signalBackend(int pid, String signal) {
		boolean own = ProcessHandle.of(postmaster())
			.stream()
			.flatMap(ProcessHandle::descendants)
			.anyMatch((process) -> process.pid() == pid);
		Assert.isTrue(own, () -> pid + " is no process of this server");
		Processes.signal(pid, signal);
	}

	@Override
	public PostgreSqlServer startStandby(int port) {
		EmbeddedServer standby = new EmbeddedServer(this.binaries, null, this, port, this.settings);
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.until(() -> standby.query("SELECT status FROM pg_stat_wal_receiver").contains("streaming"));
		return standby;
	}

	@Override
	public void promote() {
		execute("SELECT pg_promote()");
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.until(() -> query("SELECT pg_is_in_recovery()").contains("f"));
	}

	@Override
	public synchronized void close() {
		try {
			if (isRunning()) {
				// A fast stop waits for a checkpoint, and for standbys that never answer
				stop("immediate");
			}
			FileSystemUtils.deleteRecursively(this.folder);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private boolean isRunning() {
		return Files.exists(data().resolve("postmaster.pid")) && Processes.isAlive(postmaster());
	}

	private static void end(long pid, String signal) {
		Processes.signal(pid, signal);
		awaitEnd(pid);
	}

	private static void awaitEnd(long pid) {
		Awaitility.await()
			.atMost(Duration.ofSeconds(30))
			.pollInterval(Duration.ofMillis(10))
			.until(() -> !Processes.isAlive(pid));
	}

	private Path data() {
		return this.folder.resolve("data");
	}

	private long postmaster() {
		try {
			return Long.parseLong(Files.readAllLines(data().resolve("postmaster.pid")).get(0));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
