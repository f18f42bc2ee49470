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
import java.io.UncheckedIOException;
import java.io.Writer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import org.junit.jupiter.api.Assumptions;

/**
 * The process of a session under gdb, which holds it at points that no signal can: in the
 * middle of the release of its locks, where it does not block readers of the others.
 */
public final class FrozenBackend implements AutoCloseable {

	private static final String MARK = "-- done --";

	private static final long LIMIT_SECONDS = 60;

	private final Process gdb;

	private final BufferedReader output;

	private final Writer input;

	private FrozenBackend(long pid) throws IOException {
		this.gdb = new ProcessBuilder("gdb", "-q", "-nx", "-iex", "set auto-solib-add off", "-p", Long.toString(pid))
			.redirectErrorStream(true)
			.start();
		this.output = this.gdb.inputReader();
		this.input = this.gdb.outputWriter();
	}

	/**
	 * Hold the process where it is. Aborts the test, with the reason, where there is no
	 * debugger, where it may not attach to the process, or where the server is stripped
	 * of its symbols. With {@code -Dsuite.gdb=required}, the test fails instead.
	 * @param pid the process, as in {@code pg_backend_pid()}
	 */
	public static FrozenBackend attach(long pid) {
		boolean here = ProcessHandle.of(pid)
			.flatMap((process) -> process.info().command())
			.filter((command) -> command.endsWith("/postgres"))
			.isPresent();
		Assumptions.assumeTrue(here, "The server does not run on this machine");
		FrozenBackend backend;
		try {
			backend = new FrozenBackend(pid);
		}
		catch (IOException ex) {
			throw unavailable("There is no gdb here: " + ex.getMessage());
		}
		String reply = backend
			.send("set confirm off", "print $pc", "info address LockReleaseAll", "info address LWLockRelease",
					"tbreak shmem_exit")
			.reply();
		if (!reply.contains("$1 = ") || !reply.contains("Temporary breakpoint 1 at")
				|| reply.contains("No symbol \"L")) {
			backend.close();
			throw unavailable("gdb cannot hold the process: " + reply);
		}
		backend.send("handle all nostop noprint pass").reply();
		return backend;
	}

	/**
	 * Abort the test, unless gdb is required.
	 * @return what the test fails with
	 */
	private static IllegalStateException unavailable(String reason) {
		Assumptions.assumeTrue("required".equals(System.getProperty("suite.gdb")), reason);
		return new IllegalStateException(reason);
	}

	/**
	 * Let the process go on until it dies and is about to free the locks that it holds
	 * for its session.
	 * @param kill has it die
	 */
	public void awaitRelease(Runnable kill) {
		send("continue", "tbreak LockReleaseAll", "continue", "break LWLockRelease");
		kill.run();
		expect(reply(), "LockReleaseAll");
	}

	/**
	 * Let the process free those of its locks that are in one more partition of the
	 * server's table, and hold it where it has left that partition to the others.
	 */
	public void releasePartition() {
		expect(send("continue", "finish").reply(), "Run till exit");
	}

	/**
	 * Let the process go.
	 */
	@Override
	public void close() {
		try {
			send("delete", "detach", "quit");
			if (!this.gdb.waitFor(LIMIT_SECONDS, TimeUnit.SECONDS)) {
				throw new IllegalStateException("gdb does not end");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		finally {
			this.gdb.destroy();
		}
	}

	private FrozenBackend send(String... commands) {
		try {
			if (this.gdb.isAlive()) {
				this.input.write(String.join("\n", commands) + "\necho " + MARK + "\\n\n");
				this.input.flush();
			}
			return this;
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return what gdb says until it has done all that it was sent.
	 */
	private String reply() {
		CompletableFuture<String> reply = CompletableFuture.supplyAsync(this::readReply);
		try {
			return reply.get(LIMIT_SECONDS, TimeUnit.SECONDS);
		}
		catch (TimeoutException ex) {
			this.gdb.destroy();
			throw new IllegalStateException("gdb does not answer", ex);
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	private String readReply() {
		StringBuilder reply = new StringBuilder();
		try {
			String line = this.output.readLine();
			while (line != null && !line.endsWith(MARK)) {
				reply.append(line).append('\n');
				line = this.output.readLine();
			}
			return reply.toString();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static void expect(String reply, String text) {
		if (!reply.contains(text)) {
			throw new IllegalStateException("gdb says: " + reply);
		}
	}

}
