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

package io.leaderelection.comparison;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Predicate;

import io.leaderelection.comparison.History.Event;
import io.leaderelection.comparison.History.Kind;
import io.leaderelection.testsupport.Processes;

/**
 * The handle of a {@link Node}. Its JVM has only the first compiler: what a failover runs
 * is hardly ever compiled by the second one in production either.
 */
final class NodeProcess implements AutoCloseable {

	private static final List<String> JAVA = List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(),
			"-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
			Node.class.getName());

	private final int number;

	private final Process process;

	NodeProcess(int number, List<String> arguments, Consumer<Event> events) throws IOException {
		this.number = number;
		List<String> command = new ArrayList<>(JAVA);
		command.addAll(arguments);
		this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
		Node.startThread(() -> read(events));
	}

	private void read(Consumer<Event> events) {
		try (BufferedReader lines = this.process.inputReader()) {
			for (String line = lines.readLine(); line != null; line = lines.readLine()) {
				if (line.startsWith(Node.PREFIX)) {
					String[] words = line.substring(Node.PREFIX.length()).split(" ");
					events.accept(new Event(this.number, Kind.valueOf(words[0]), Long.parseLong(words[1])));
				}
				else {
					System.err.println(this + ": " + line);
				}
			}
		}
		catch (IOException ex) {
			System.err.println(this + ": " + ex);
		}
		events.accept(new Event(this.number, Kind.ENDED, System.nanoTime()));
	}

	int number() {
		return this.number;
	}

	double cpuMillis() {
		return this.process.info().totalCpuDuration().orElseThrow().toNanos() / 1e6;
	}

	/**
	 * Sends SIGTERM or SIGKILL, without a process in between.
	 */
	void end(boolean orderly) {
		Predicate<ProcessHandle> signal = orderly ? ProcessHandle::destroy : ProcessHandle::destroyForcibly;
		signal.test(this.process.toHandle());
	}

	/**
	 * Sends SIGSTOP or SIGCONT.
	 */
	void signal(String signal) {
		Processes.signal(this.process.pid(), signal);
	}

	@Override
	public void close() throws InterruptedException {
		end(false);
		if (!this.process.waitFor(60, TimeUnit.SECONDS)) {
			throw new IllegalStateException(this + " does not end");
		}
	}

	@Override
	public String toString() {
		return "Node " + this.number;
	}

}
