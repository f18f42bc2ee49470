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

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.NodeJvm;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/**
 * The handle of a node in a JVM of its own.
 */
final class NodeProcess implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private final String name;

	private final NodeJvm jvm;

	private final List<Entry> history = new ArrayList<>();

	private volatile boolean leading;

	NodeProcess(String name, Class<?> main, List<String> arguments) {
		this.name = name;
		this.jvm = new NodeJvm(name, main, arguments, Entry.MARK, (entry) -> add(Entry.parse(name, entry)));
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

	boolean isAlive() {
		return this.jvm.process().isAlive();
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
		return this.jvm.output();
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
					&& entry.kind() != Kind.WRITE && entry.kind() != Kind.WRITE_ENDED && entry.kind() != Kind.OUTCOME)
			.toList();
		return this.name + (isAlive() ? ": " : " (ended): ") + all.subList(Math.max(0, all.size() - 20), all.size())
				+ "\n" + String.join("\n", output());
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
		this.jvm.command(command);
	}

	void signal(String signal) {
		if (signal.equals("KILL")) {
			addKill();
		}
		this.jvm.signal(signal);
	}

	/**
	 * Wait until the process has ended and all it has written was read.
	 */
	NodeProcess awaitEnd() {
		Awaitility.await().until(() -> !isAlive() && this.jvm.ended().isDone());
		return this;
	}

	@Override
	public void close() {
		if (isAlive()) {
			addKill();
		}
		this.jvm.close();
	}

	@Override
	public String toString() {
		return this.name;
	}

}
