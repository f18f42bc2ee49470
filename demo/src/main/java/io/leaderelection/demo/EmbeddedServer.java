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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;

/**
 * Starts an embedded PostgreSQL that can be reached from this machine only, and only with
 * a password.
 */
final class EmbeddedServer {

	private static final Duration STARTUP_TIMEOUT = Duration.ofSeconds(40);

	private EmbeddedServer() {
	}

	/**
	 * Start a server on a free port. It is not stopped when this process ends.
	 * @param data its data directory, which is created
	 * @param log where it writes its log, appending to it
	 * @param password the password of the superuser {@code postgres}
	 * @param settings further settings of the server
	 * @return the server
	 * @throws IOException if it does not start
	 */
	static EmbeddedPostgres start(Path data, Path log, String password, Map<String, String> settings)
			throws IOException {
		Path passwordFile = passwordFile(data);
		Files.writeString(passwordFile, password);
		ProcessBuilder.Redirect redirect = ProcessBuilder.Redirect.appendTo(log.toFile());
		EmbeddedPostgres.Builder builder = EmbeddedPostgres.builder()
			.setDataDirectory(data)
			.setRegisterShutdownHook(false)
			.setPGStartupWait(STARTUP_TIMEOUT)
			// What is called locale here are any further options of initdb. Every user of
			// the machine can reach a loopback port, hence the password.
			.setLocaleConfig("locale", "C")
			.setLocaleConfig("auth", "scram-sha-256")
			.setLocaleConfig("pwfile", passwordFile.toString())
			.setConnectConfig("password", password)
			.setServerConfig("listen_addresses", "localhost")
			.setServerConfig("unix_socket_directories", "")
			// Straight to the file: a pipe would break when this process is killed.
			.setOutputRedirector(redirect)
			.setErrorRedirector(redirect);
		settings.forEach(builder::setServerConfig);
		EmbeddedPostgres postgres = builder.start();
		Files.delete(passwordFile);
		return postgres;
	}

	/**
	 * Where the password is while a server starts. What is killed meanwhile leaves it.
	 */
	static Path passwordFile(Path data) {
		return data.resolveSibling("password");
	}

}
