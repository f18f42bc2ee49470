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
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Optional;
import java.util.Properties;

import org.springframework.util.FileSystemUtils;

/**
 * The files of one run of the demo: logs, the data of PostgreSQL, and a list of the
 * processes that were started, so that any of them that is left can end the others.
 *
 * @param path the directory, which only its user can read
 */
record RunDirectory(Path path) {

	static final String LAUNCHER = "launcher";

	static final String POSTGRES = "postgres";

	static final String PREFIX = "leader-election-demo-";

	static RunDirectory create() throws IOException {
		return new RunDirectory(Files.createTempDirectory(PREFIX));
	}

	Path log(String process) {
		return this.path.resolve(process + ".log");
	}

	/**
	 * Where the nodes put their temporary files, which they do not remove when killed.
	 */
	Path temporaryFiles() throws IOException {
		return Files.createDirectories(this.path.resolve("tmp"));
	}

	Path data() {
		return this.path.resolve("data");
	}

	Path portFile(String node) {
		return this.path.resolve(node + ".port");
	}

	private Path connectionFile() {
		return this.path.resolve("postgres.properties");
	}

	private Path processes() {
		return this.path.resolve("processes");
	}

	void writeConnection(Properties connection) throws IOException {
		Path file = Files.createTempFile(this.path, "postgres", ".tmp");
		try (OutputStream out = Files.newOutputStream(file)) {
			connection.store(out, null);
		}
		Files.move(file, connectionFile(), StandardCopyOption.ATOMIC_MOVE);
	}

	Optional<Properties> readConnection() throws IOException {
		Properties connection = new Properties();
		try (InputStream in = Files.newInputStream(connectionFile())) {
			connection.load(in);
			return Optional.of(connection);
		}
		catch (NoSuchFileException ex) {
			return Optional.empty();
		}
	}

	/**
	 * Note that a process was started for this run.
	 */
	synchronized void add(ChildProcess process) throws IOException {
		Files.writeString(processes(), process + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
	}

	boolean hasStarted() {
		return Files.exists(processes());
	}

	/**
	 * The processes of this run that live.
	 */
	List<ChildProcess> living() throws IOException {
		if (!hasStarted()) {
			return List.of();
		}
		return Files.readAllLines(processes()).stream().flatMap((line) -> ChildProcess.parse(line).stream()).toList();
	}

	/**
	 * Kill the processes of this run that live, except for some.
	 */
	void killAllBut(String... names) throws IOException {
		for (ChildProcess process : living()) {
			if (!List.of(names).contains(process.name())) {
				process.kill();
			}
		}
	}

	/**
	 * PostgreSQL itself, if it lives.
	 */
	Optional<ChildProcess> postmaster() throws IOException {
		return PostmasterPid.readIfPresent(data())
			.flatMap(PostmasterPid::findProcess)
			.map((process) -> new ChildProcess(POSTGRES, process));
	}

	/**
	 * The last lines of a log, for a message.
	 */
	String tail(String process) {
		try {
			List<String> lines = Files.readAllLines(log(process), StandardCharsets.ISO_8859_1)
				.stream()
				.filter((line) -> !line.isBlank() && !line.startsWith("\t"))
				.toList();
			return String.join("\n", lines.subList(Math.max(0, lines.size() - 12), lines.size())).indent(4);
		}
		catch (IOException ex) {
			return "    (no log: " + ex + ")";
		}
	}

	void delete() {
		for (int attempt = 1; Files.exists(this.path); attempt++) {
			try {
				FileSystemUtils.deleteRecursively(this.path);
			}
			catch (IOException ex) {
				// Something that ends may still have written
				if (attempt == 20) {
					throw new UncheckedIOException(ex);
				}
				Background.pause(100);
			}
		}
	}

}
