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
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.TimeUnit;

/**
 * The handle of a node in a JVM of its own, which does not use the optimizing compiler:
 * what a failover runs is never compiled by it in production either.
 */
final class NodeProcess implements AutoCloseable {

	/**
	 * What a line of the node's output starts with that reports a time.
	 */
	static final String PREFIX = "@failover ";

	private static final long LIMIT_SECONDS = 60;

	private static final int LINES_KEPT = 50;

	private final String name;

	private final Network network;

	private final Process process;

	private final Map<Report, CompletableFuture<Long>> reports = new EnumMap<>(Report.class);

	private final Deque<String> output = new ConcurrentLinkedDeque<>();

	/**
	 * Start a node.
	 * @param name its id
	 * @param network its way to the database
	 * @param arguments its command line
	 */
	NodeProcess(String name, Network network, List<String> arguments) {
		this.name = name;
		this.network = network;
		for (Report report : Report.values()) {
			this.reports.put(report, new CompletableFuture<>());
		}
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m",
						"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
						FailoverNode.class.getName(), "--leader-election.node-id=" + name));
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
		IllegalStateException ended = new IllegalStateException(
				this.name + " has ended:\n" + String.join("\n", this.output));
		this.reports.values().forEach((report) -> report.completeExceptionally(ended));
	}

	private void accept(String line) {
		if (line.startsWith(PREFIX)) {
			String[] words = line.substring(PREFIX.length()).split(" ", 2);
			get(Report.valueOf(words[0])).complete(Long.valueOf(words[1]));
			return;
		}
		this.output.add(line);
		if (this.output.size() > LINES_KEPT) {
			this.output.poll();
		}
	}

	private CompletableFuture<Long> get(Report report) {
		CompletableFuture<Long> time = this.reports.get(report);
		if (time == null) {
			throw new IllegalArgumentException("Unknown report " + report);
		}
		return time;
	}

	/**
	 * Whether the node has reported this. A node that is measured leads once at most.
	 */
	boolean has(Report report) {
		CompletableFuture<Long> time = get(report);
		return time.isDone() && !time.isCompletedExceptionally();
	}

	/**
	 * Completes when the node has reported this, exceptionally when its process has ended
	 * before.
	 */
	CompletableFuture<NodeProcess> when(Report report) {
		return get(report).thenApply((time) -> this);
	}

	/**
	 * Waits until the node has reported this.
	 * @return the time, of {@link System#nanoTime()}
	 */
	long await(Report report) throws Exception {
		return get(report).get(LIMIT_SECONDS, TimeUnit.SECONDS);
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

	/**
	 * Cuts it off from the database.
	 */
	void cutOff() {
		this.network.cut();
	}

	@Override
	public void close() {
		kill();
		this.network.close();
		try {
			if (!this.process.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
				throw new IllegalStateException(this.name + " does not end");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public String toString() {
		return this.name;
	}

	/**
	 * What a node reports the time of.
	 */
	enum Report {

		/** The application has started. */
		STARTED,

		/** {@code isLeader()} has answered {@code true} for the first time. */
		FIRST_TRUE,

		/** A listener of the application has received the granted event. */
		GRANTED,

		/** The application context has begun to close. */
		CLOSING,

		/** A listener of the application has received the revoked event. */
		REVOKED,

		/** The last question that {@code isLeader()} answered with {@code true}. */
		LAST_TRUE

	}

}
