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

package io.leaderelection.benchmarks;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * The JVM of a node. It does not use the optimizing compiler: what a failover runs is
 * never compiled by it in production either.
 */
final class NodeJvm implements AutoCloseable {

	private static final long LIMIT_SECONDS = 120;

	private static final int LINES_KEPT = 50;

	private final String name;

	private final String prefix;

	private final Consumer<String> reports;

	private final Process process;

	private final Deque<String> output = new ConcurrentLinkedDeque<>();

	private final CompletableFuture<Void> ended = new CompletableFuture<>();

	/**
	 * Start the JVM.
	 * @param name the id of the node
	 * @param application what it runs
	 * @param heap the maximum size of its heap
	 * @param arguments its command line
	 * @param prefix what a line of its output starts with that is a report
	 * @param reports is called with the rest of each such line, on a thread of its own
	 */
	NodeJvm(String name, Class<?> application, String heap, List<String> arguments, String prefix,
			Consumer<String> reports) {
		this.name = name;
		this.prefix = prefix;
		this.reports = reports;
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx" + heap,
						"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
						application.getName(), "--leader-election.node-id=" + name));
		command.addAll(arguments);
		try {
			this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		FailoverNode.start(this::read, "output of " + name);
	}

	private void read() {
		try (BufferedReader lines = this.process.inputReader()) {
			for (String line = lines.readLine(); line != null; line = lines.readLine()) {
				accept(line);
			}
		}
		catch (IOException ex) {
			this.output.add(ex.toString());
		}
		this.ended.complete(null);
	}

	private void accept(String line) {
		if (line.startsWith(this.prefix)) {
			this.reports.accept(line.substring(this.prefix.length()));
			return;
		}
		this.output.add(line);
		if (this.output.size() > LINES_KEPT) {
			this.output.poll();
		}
	}

	/**
	 * Completes when its output has ended.
	 */
	CompletableFuture<Void> ended() {
		return this.ended;
	}

	/**
	 * Return that it has ended, with the last lines of its output.
	 */
	IllegalStateException failure() {
		return new IllegalStateException(this.name + " has ended:\n" + String.join("\n", this.output));
	}

	/**
	 * Sends SIGTERM, without a process in between. The process itself would close the
	 * pipes as well.
	 */
	void terminate() {
		this.process.toHandle().destroy();
	}

	/**
	 * Sends SIGKILL, without a process in between.
	 */
	void kill() {
		this.process.toHandle().destroyForcibly();
	}

	/**
	 * Sends SIGSTOP or SIGCONT.
	 */
	void signal(String signal) throws IOException, InterruptedException {
		int status = new ProcessBuilder("kill", "-" + signal, String.valueOf(this.process.pid())).start().waitFor();
		if (status != 0) {
			throw new IllegalStateException("kill -" + signal + " failed with status " + status);
		}
	}

	@Override
	public void close() {
		kill();
		this.ended.orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS).join();
	}

}
