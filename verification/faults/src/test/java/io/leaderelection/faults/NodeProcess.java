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

package io.leaderelection.faults;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.Processes;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/**
 * The handle of a node in a JVM of its own.
 */
final class NodeProcess implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final String name;

	private final Process process;

	private final Thread reader;

	private final Writer commands;

	private final List<Entry> history = new ArrayList<>();

	private final List<String> output = new CopyOnWriteArrayList<>();

	private volatile boolean leading;

	NodeProcess(String name, Class<?> main, List<String> arguments) {
		this.name = name;
		List<String> command = new ArrayList<>(
				List.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m", "-Xshare:auto",
						"-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
						main.getName()));
		command.addAll(arguments);
		try {
			this.process = new ProcessBuilder(command).redirectErrorStream(true).start();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		this.commands = new OutputStreamWriter(this.process.getOutputStream(), StandardCharsets.UTF_8);
		this.reader = Daemon.start("output of " + name, this::read);
	}

	private void read() {
		try (BufferedReader lines = new BufferedReader(
				new InputStreamReader(this.process.getInputStream(), StandardCharsets.UTF_8))) {
			for (String line = lines.readLine(); line != null; line = lines.readLine()) {
				if (Entry.isEntry(line)) {
					add(Entry.parse(this.name, line));
				}
				else {
					this.output.add(line);
				}
			}
		}
		catch (IOException | RuntimeException ex) {
			// A process that is killed may leave half a line
			this.output.add("The output has ended: " + ex);
		}
	}

	private void add(Entry entry) {
		synchronized (this.history) {
			this.history.add(entry);
		}
		switch (entry.kind()) {
			case TRUE_FROM -> this.leading = true;
			case TRUE_UNTIL -> this.leading = false;
			default -> {
			}
		}
	}

	private void addKill() {
		add(new Entry(this.name, System.nanoTime(), Kind.KILLED, Optional.empty(), ""));
	}

	String name() {
		return this.name;
	}

	long pid() {
		return this.process.pid();
	}

	boolean isAlive() {
		return this.process.isAlive();
	}

	/**
	 * Return what has happened so far, in the order in which it was written.
	 */
	List<Entry> history() {
		synchronized (this.history) {
			return List.copyOf(this.history);
		}
	}

	List<String> output() {
		return List.copyOf(this.output);
	}

	NodeProcess awaitStarted() {
		await(Kind.STARTED, Long.MIN_VALUE);
		return this;
	}

	/**
	 * Wait until the last leader that this node has observed is the given one.
	 */
	void awaitObserved(NodeProcess leader) {
		Awaitility.await()
			.until(() -> last(Kind.OBSERVED).filter((entry) -> entry.details().equals(leader.name())).isPresent());
	}

	/**
	 * Wait until the status of the elector, as text, meets a condition.
	 */
	void awaitStatus(Predicate<String> condition) {
		Awaitility.await().until(() -> {
			long from = System.nanoTime();
			command("status");
			return condition.test(await(Kind.STATUS, from).details());
		});
	}

	/**
	 * Wait for the first entry of a kind after the given time.
	 */
	Entry await(Kind kind, long after) {
		return await(kind, after, LIMIT);
	}

	Entry await(Kind kind, long after, Duration limit) {
		return await(kind, () -> find(kind, after), limit);
	}

	/**
	 * Wait for the first entry of a kind in the given term.
	 */
	Entry await(Kind kind, Term term) {
		return await(kind, () -> find(kind, term), LIMIT);
	}

	private Entry await(Kind kind, Callable<Optional<Entry>> find, Duration limit) {
		try {
			return Awaitility.await().atMost(limit).until(find, Optional::isPresent).orElseThrow();
		}
		catch (ConditionTimeoutException ex) {
			throw new AssertionError("No " + kind + " on " + describe() + " within " + limit, ex);
		}
	}

	/**
	 * Describe what the node last said.
	 */
	String describe() {
		List<Entry> all = history().stream()
			.filter((entry) -> entry.kind() != Kind.SAMPLES && entry.kind() != Kind.STATUS
					&& entry.kind() != Kind.TRUE_AT && entry.kind() != Kind.WORK && entry.kind() != Kind.WORK_ENDED
					&& entry.kind() != Kind.WRITE && entry.kind() != Kind.WRITE_ENDED)
			.toList();
		return this.name + (isAlive() ? ": " : " (ended): ") + all.subList(Math.max(0, all.size() - 20), all.size())
				+ "\n" + String.join("\n", this.output);
	}

	Optional<Entry> find(Kind kind, long after) {
		return of(kind).filter((entry) -> entry.time() > after).findFirst();
	}

	Optional<Entry> find(Kind kind, Term term) {
		return of(kind).filter((entry) -> entry.requiredTerm().equals(term)).findFirst();
	}

	/**
	 * The last entry of a kind, if any.
	 */
	Optional<Entry> last(Kind kind) {
		synchronized (this.history) {
			// It is asked for often, and found near the end of a long history
			for (int i = this.history.size() - 1; i >= 0; i--) {
				if (this.history.get(i).kind() == kind) {
					return Optional.of(this.history.get(i));
				}
			}
		}
		return Optional.empty();
	}

	private Stream<Entry> of(Kind kind) {
		return history().stream().filter((entry) -> entry.kind() == kind);
	}

	/**
	 * Return the last sample in which the node led, if it ever did.
	 */
	Optional<Entry> lastTrue() {
		return history().stream()
			.filter((entry) -> entry.kind() == Kind.TRUE_FROM || entry.kind() == Kind.TRUE_AT
					|| entry.kind() == Kind.TRUE_UNTIL)
			.max((first, second) -> Long.compare(first.time(), second.time()));
	}

	/**
	 * Return whether the node led in its last report.
	 */
	boolean leads() {
		return this.leading && isAlive();
	}

	void command(String command) {
		try {
			this.commands.write(command + "\n");
			this.commands.flush();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	void signal(String signal) {
		if (signal.equals("KILL")) {
			addKill();
		}
		Processes.signal(pid(), signal);
	}

	/**
	 * Wait until the process has ended and all it has written was read.
	 */
	NodeProcess awaitEnd() {
		Awaitility.await().until(() -> !this.process.isAlive() && !this.reader.isAlive());
		return this;
	}

	@Override
	public void close() {
		if (isAlive()) {
			addKill();
		}
		this.process.destroyForcibly();
		awaitEnd();
	}

	@Override
	public String toString() {
		return this.name;
	}

}
