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

import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;

/**
 * An HAProxy for TCP in front of a {@link PostgreSqlServer}, from the binary that is
 * installed.
 */
public final class HaProxy implements AutoCloseable {

	private static final Path BINARY = Path.of("/usr/sbin/haproxy");

	private final Path folder;

	private final int port;

	private final Process process;

	private HaProxy(PostgreSqlServer server) {
		try {
			this.folder = Files.createTempDirectory("leader-election-haproxy");
			this.port = Processes.freePort();
			Path configuration = this.folder.resolve("haproxy.cfg");
			Files.writeString(configuration, """
					defaults
					  mode tcp
					  timeout connect 5s
					  timeout client 1h
					  timeout server 1h
					listen postgresql
					  bind 127.0.0.1:%d
					  server one %s:%d
					""".formatted(this.port, server.host(), server.port()));
			this.process = new ProcessBuilder(BINARY.toString(), "-f", configuration.toString())
				.redirectErrorStream(true)
				.redirectOutput(Redirect.to(this.folder.resolve("haproxy.log").toFile()))
				.start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		Runtime.getRuntime().addShutdownHook(new Thread(this::close));
		Awaitility.await().atMost(Duration.ofSeconds(30)).until(this::listens);
	}

	/**
	 * Start an HAProxy, or skip the test if none is installed.
	 */
	public static HaProxy start(PostgreSqlServer server) {
		Assumptions.assumeTrue(Files.isExecutable(BINARY), "HAProxy is not in /usr/sbin");
		return new HaProxy(server);
	}

	public int port() {
		return this.port;
	}

	private boolean listens() {
		if (!this.process.isAlive()) {
			throw new IllegalStateException("HAProxy ended with status " + this.process.exitValue());
		}
		return Processes.listens("127.0.0.1", this.port);
	}

	@Override
	public synchronized void close() {
		Processes.end(this.process, this.folder);
	}

}
