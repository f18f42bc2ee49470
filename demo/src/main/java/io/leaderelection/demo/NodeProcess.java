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
import java.time.Instant;
import java.util.List;
import java.util.concurrent.TimeUnit;

import io.leaderelection.testsupport.TcpProxy;
import org.jspecify.annotations.Nullable;

/**
 * A node: a process with the sample in it, and the proxy between it and the database.
 * Once killed it may be started again, as another process.
 */
class NodeProcess {

	private final String name;

	private final RunDirectory directory;

	private final NodeCommand command;

	private final ProcessListener listener;

	private final TcpProxy proxy;

	private volatile boolean cut;

	private volatile @Nullable Process process;

	private volatile ProcessState state = ProcessState.DEAD;

	private volatile @Nullable Integer port;

	/** When it was frozen or killed: it has not run since. */
	private volatile @Nullable Instant haltedAt;

	private boolean killed;

	NodeProcess(String name, RunDirectory directory, NodeCommand command, ProcessListener listener) {
		this.name = name;
		this.directory = directory;
		this.command = command;
		this.listener = listener;
		this.proxy = new TcpProxy("localhost", command.databasePort());
	}

	String name() {
		return this.name;
	}

	ProcessState state() {
		return this.state;
	}

	boolean isCut() {
		return this.cut;
	}

	/**
	 * Drop from now on what it and the database send.
	 */
	void cut() {
		this.cut = true;
		this.proxy.blackHole();
	}

	/**
	 * Connect it again. All its connections are reset, also those that have lost nothing.
	 */
	void reconnect() {
		this.proxy.reset();
		this.proxy.heal();
		this.cut = false;
	}

	long pid() {
		Process process = this.process;
		return (process != null) ? process.pid() : -1;
	}

	/**
	 * Where the node answers, {@code null} until it does.
	 */
	@Nullable String url() {
		Integer port = this.port;
		return (port != null) ? "http://localhost:" + port : null;
	}

	/**
	 * Start the process.
	 */
	synchronized void start() throws IOException {
		Files.deleteIfExists(this.directory.portFile(this.name));
		this.port = null;
		this.haltedAt = null;
		this.killed = false;
		reconnect();
		Process process = this.command.start(this.name, this.proxy.port());
		this.directory.add(new ChildProcess(this.name, process.toHandle()));
		this.process = process;
		this.state = ProcessState.STARTING;
		this.listener.started(this);
		// The time counts: no pool that may be busy
		Background.start("demo-exit-" + this.name, () -> awaitExit(process));
	}

	private void awaitExit(Process process) {
		try {
			process.waitFor();
			exited(process, Instant.now());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private synchronized void exited(Process exited, Instant at) {
		if (exited == this.process && this.state != ProcessState.DEAD) {
			Instant halted = this.haltedAt;
			boolean frozen = this.state == ProcessState.FROZEN;
			this.state = ProcessState.DEAD;
			this.listener.ended(this, new ProcessListener.End((halted != null) ? halted : at, frozen, this.killed));
		}
	}

	/**
	 * Read the address of a starting node, once it has written it.
	 */
	synchronized void findPort() throws IOException {
		if (this.port == null && Files.exists(this.directory.portFile(this.name))) {
			String text = Files.readString(this.directory.portFile(this.name)).trim();
			this.port = text.isEmpty() ? null : Integer.valueOf(text);
		}
	}

	synchronized void answered() {
		if (this.state == ProcessState.STARTING) {
			this.state = ProcessState.RUNNING;
		}
	}

	boolean canLead() {
		return this.state == ProcessState.RUNNING && !this.cut;
	}

	boolean isHindered() {
		return this.state == ProcessState.FROZEN || (this.state != ProcessState.DEAD && this.cut);
	}

	synchronized void kill() {
		Process process = running("kill", ProcessState.STARTING, ProcessState.RUNNING, ProcessState.FROZEN);
		this.killed = true;
		process.destroyForcibly();
		if (this.haltedAt == null) {
			this.haltedAt = Instant.now();
		}
	}

	synchronized void freeze() throws IOException, InterruptedException {
		Process process = running("freeze", ProcessState.RUNNING);
		Signal.STOP.send(process.pid());
		this.haltedAt = Instant.now();
		this.state = ProcessState.FROZEN;
	}

	synchronized void thaw() throws IOException, InterruptedException {
		Process process = running("thaw", ProcessState.FROZEN);
		Signal.CONT.send(process.pid());
		this.state = ProcessState.RUNNING;
		this.haltedAt = null;
	}

	private Process running(String action, ProcessState... states) {
		Process process = this.process;
		if (process == null || !List.of(states).contains(this.state)) {
			throw new RefusedException("Cannot " + action + " " + this.name + ", which is " + this.state);
		}
		return process;
	}

	/**
	 * Ask the process to stop, where it can.
	 */
	synchronized void stop() {
		Process process = this.process;
		if (process != null && this.state == ProcessState.FROZEN) {
			process.destroyForcibly();
		}
		else if (process != null) {
			process.destroy();
		}
	}

	/**
	 * Wait for the end of the process, and kill it if that takes too long.
	 */
	void awaitEnd(long deadline) throws InterruptedException {
		Process process = this.process;
		if (process != null && !process.waitFor(deadline - System.nanoTime(), TimeUnit.NANOSECONDS)) {
			process.destroyForcibly().waitFor(10, TimeUnit.SECONDS);
		}
		this.proxy.close();
	}

}
