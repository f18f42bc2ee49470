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

import java.io.BufferedReader;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * A node in a JVM of its own, which reports by lines of its output. It does not use the
 * optimizing compiler: what a failover runs is hardly ever compiled by it in production
 * either.
 */
public final class NodeJvm implements AutoCloseable {

	private static final long LIMIT_SECONDS = 60;

	private final String name;

	private final String prefix;

	private final Consumer<String> reports;

	private final Process process;

	private final Writer commands;

	private final List<String> output = new CopyOnWriteArrayList<>();

	private final CompletableFuture<Void> ended = new CompletableFuture<>();

	/**
	 * Start the JVM.
	 * @param name the name of the node
	 * @param application what it runs
	 * @param arguments its command line
	 * @param prefix what a line of its output starts with that is a report
	 * @param reports is called with the rest of each such line, on a thread of its own
	 */
	public NodeJvm(String name, Class<?> application, List<String> arguments, String prefix, Consumer<String> reports) {
		this.name = name;
		this.prefix = prefix;
		this.reports = reports;
		List<String> command = new ArrayList<>(List.of(
				Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m", "-XX:+UseSerialGC",
				"-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), application.getName()));
		command.addAll(arguments);
		try {
			this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.commands = this.process.outputWriter();
		Daemon.start("output of " + name, this::read);
	}

	/**
	 * End this process, a node, as soon as the process has ended that has started it.
	 */
	public static void endWithParent() {
		Daemon.start("parent", () -> {
			try {
				// Nothing is ever written to it
				System.in.transferTo(OutputStream.nullOutputStream());
			}
			catch (IOException ex) {
				// Ends as well
			}
			Runtime.getRuntime().halt(1);
		});
	}

	private void read() {
		try (BufferedReader lines = this.process.inputReader()) {
			lines.lines().forEach(this::accept);
		}
		catch (IOException | RuntimeException ex) {
			// A process that is killed may leave half a line
			this.output.add("The output has ended: " + ex);
		}
		this.ended.complete(null);
	}

	private void accept(String line) {
		if (line.startsWith(this.prefix)) {
			this.reports.accept(line.substring(this.prefix.length()));
		}
		else {
			this.output.add(line);
		}
	}

	public ProcessHandle process() {
		return this.process.toHandle();
	}

	/**
	 * Completes when the process has ended and all it has written was read.
	 */
	public CompletableFuture<Void> ended() {
		return this.ended;
	}

	/**
	 * Return the lines of its output that are no reports.
	 */
	public List<String> output() {
		return List.copyOf(this.output);
	}

	/**
	 * Return that it has ended, with its output.
	 */
	public IllegalStateException failure() {
		return new IllegalStateException(this.name + " has ended:\n" + String.join("\n", this.output));
	}

	/**
	 * Write a line to its standard input.
	 */
	public void command(String command) {
		try {
			this.commands.write(command + "\n");
			this.commands.flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Send SIGTERM, without a process in between. The process itself would close the
	 * pipes as well.
	 */
	public void terminate() {
		process().destroy();
	}

	/**
	 * Send SIGKILL, without a process in between.
	 */
	public void kill() {
		process().destroyForcibly();
	}

	/**
	 * Send any other signal, for instance {@code STOP} or {@code CONT}.
	 */
	public void signal(String signal) {
		Processes.signal(this.process.pid(), signal);
	}

	@Override
	public void close() {
		kill();
		this.ended.orTimeout(LIMIT_SECONDS, TimeUnit.SECONDS).join();
	}

	@Override
	public String toString() {
		return this.name;
	}

}
