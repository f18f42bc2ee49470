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

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import org.awaitility.Awaitility;

import org.springframework.util.FileSystemUtils;

/**
 * A PostgreSQL from the binaries on Maven Central.
 */
final class EmbeddedServer implements PostgreSqlServer {

	private static final List<String> AUTHENTICATION = List.of("local all all trust", "host all postgres all trust",
			"host all all all scram-sha-256");

	private final String[] settings;

	private final Path folder;

	private final Path log;

	private EmbeddedPostgres server;

	private int port;

	EmbeddedServer(String... settings) {
		this.settings = settings;
		try {
			this.folder = Files.createTempDirectory("leader-election-postgresql");
			this.log = this.folder.resolve("server.log");
			Files.write(this.folder.resolve("hba.conf"), AUTHENTICATION);
			startServer(true);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		Runtime.getRuntime().addShutdownHook(new Thread(this::close));
	}

	private void startServer(boolean first) throws IOException {
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setDataDirectory(this.folder.resolve("data"))
			.setCleanDataDirectory(first)
			.setRegisterShutdownHook(false)
			.setOutputRedirector(Redirect.appendTo(this.log.toFile()))
			.setErrorRedirector(Redirect.appendTo(this.log.toFile()))
			.setServerConfig("log_line_prefix", "%m,%p,%a,")
			.setServerConfig("fsync", "off")
			.setServerConfig("hba_file", this.folder.resolve("hba.conf").toString())
			.setPGStartupWait(Duration.ofSeconds(60));
		if (!first) {
			builder.setPort(this.port);
		}
		for (String setting : this.settings) {
			String[] parts = setting.split("=", 2);
			builder.setServerConfig(parts[0], parts[1]);
		}
		this.server = builder.start();
		this.port = this.server.getPort();
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
			long pid = Long.parseLong(Files.readAllLines(this.folder.resolve("data/postmaster.pid")).get(0));
			String signal = switch (mode) {
				case "fast" -> "INT";
				case "immediate" -> "QUIT";
				default -> throw new IllegalArgumentException(mode);
			};
			Processes.signal(pid, signal);
			Awaitility.await()
				.atMost(Duration.ofSeconds(30))
				.until(() -> !ProcessHandle.of(pid).map(ProcessHandle::isAlive).orElse(false));
			Files.deleteIfExists(this.folder.resolve("data/epg-lock"));
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public void startAgain() {
		try {
			startServer(false);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	public synchronized void close() {
		try {
			if (this.server != null) {
				this.server.close();
				this.server = null;
			}
			FileSystemUtils.deleteRecursively(this.folder);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
