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

import java.util.ArrayList;
import java.util.List;

import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.postgresql.PostgreSQLContainer;

/**
 * A PostgreSQL in a container.
 */
final class ContainerServer implements PostgreSqlServer {

	private static final String IMAGE = "postgres:"
			+ System.getProperty("postgresql.binaries.version", "18").replaceAll("\\..*", "");

	private final PostgreSQLContainer container;

	ContainerServer(String... settings) {
		List<String> command = new ArrayList<>(
				List.of("postgres", "-c", "fsync=off", "-c", "log_line_prefix=%m,%p,%a,"));
		for (String setting : settings) {
			command.add("-c");
			command.add(setting);
		}
		this.container = new PostgreSQLContainer(IMAGE).withCommand(command.toArray(String[]::new));
		this.container.start();
	}

	@Override
	public String host() {
		return this.container.getHost();
	}

	@Override
	public int port() {
		return this.container.getMappedPort(PostgreSQLContainer.POSTGRESQL_PORT);
	}

	@Override
	public String database() {
		return this.container.getDatabaseName();
	}

	@Override
	public String username() {
		return this.container.getUsername();
	}

	@Override
	public String password() {
		return this.container.getPassword();
	}

	@Override
	public String log() {
		return this.container.getLogs();
	}

	@Override
	public void stop(String mode) {
		DockerClientFactory.lazyClient()
			.killContainerCmd(this.container.getContainerId())
			.withSignal("fast".equals(mode) ? "SIGINT" : "SIGQUIT")
			.exec();
	}

	@Override
	public void startAgain() {
		DockerClientFactory.lazyClient().startContainerCmd(this.container.getContainerId()).exec();
	}

	@Override
	public void freeze() {
		skip();
	}

	@Override
	public void thaw() {
		skip();
	}

	@Override
	public void signalBackend(int pid, String signal) {
		skip();
	}

	@Override
	public PostgreSqlServer startStandby(int port) {
		return skip();
	}

	@Override
	public void promote() {
		skip();
	}

	private static <T> T skip() {
		return Assumptions.abort("Processes and files of a server in a container are out of reach");
	}

	@Override
	public void close() {
		this.container.stop();
	}

}
