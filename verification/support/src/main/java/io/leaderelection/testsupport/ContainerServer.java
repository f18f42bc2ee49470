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

import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.command.WaitContainerResultCallback;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.postgresql.PostgreSQLContainer;

import org.springframework.test.util.TestSocketUtils;

/**
 * A PostgreSQL in a container. Its port on the host is fixed, so that it stays the same
 * when the server is started again.
 */
final class ContainerServer implements PostgreSqlServer {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final DockerClient docker = DockerClientFactory.lazyClient();

	private final PostgreSQLContainer container = new PostgreSQLContainer(PostgreSqlServer.image());

	ContainerServer(String... settings) {
		Stream<String> options = Stream.concat(DEFAULTS.stream(), Stream.of(settings))
			.flatMap((setting) -> Stream.of("-c", setting));
		this.container.withCommand(Stream.concat(Stream.of("postgres"), options).toArray(String[]::new));
		this.container.setPortBindings(
				List.of(TestSocketUtils.findAvailableTcpPort() + ":" + PostgreSQLContainer.POSTGRESQL_PORT));
		this.container.start();
	}

	/**
	 * A published port of a container translates addresses, so no takeover is fast.
	 */
	@Override
	public boolean countsEndings() {
		return false;
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
		String id = this.container.getContainerId();
		this.docker.killContainerCmd(id).withSignal("SIG" + PostgreSqlServer.stopSignal(mode)).exec();
		this.docker.waitContainerCmd(id)
			.exec(new WaitContainerResultCallback())
			.awaitStatusCode(LIMIT.toSeconds(), TimeUnit.SECONDS);
	}

	@Override
	public void startAgain() {
		this.docker.startContainerCmd(this.container.getContainerId()).exec();
		Awaitility.await()
			.atMost(LIMIT)
			.ignoreExceptionsInstanceOf(IllegalStateException.class)
			.until(() -> query("SELECT 1").contains("1"));
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
