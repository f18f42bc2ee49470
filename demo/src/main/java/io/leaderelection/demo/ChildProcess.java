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

import java.time.Instant;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A process of the demo, as it is noted in a file.
 *
 * @param name what it is
 * @param handle the process
 */
record ChildProcess(String name, ProcessHandle handle) {

	/** Read by different processes, the time of a start differs by this at most. */
	private static final long TOLERANCE = 2000;

	/**
	 * Find the process of a line, if it lives. The time of its start distinguishes it
	 * from another one that got its id.
	 */
	static Optional<ChildProcess> parse(String line) {
		String[] parts = line.split(" ");
		// A process that is killed as it writes may leave less than a line
		if (parts.length != 3 || !parts[1].matches("\\d{1,18}") || !parts[2].matches("\\d{1,18}")) {
			return Optional.empty();
		}
		long started = Long.parseLong(parts[2]);
		return ProcessHandle.of(Long.parseLong(parts[1]))
			.filter((handle) -> handle.isAlive() && Math.abs(started(handle) - started) <= TOLERANCE)
			.map((handle) -> new ChildProcess(parts[0], handle));
	}

	private static long started(ProcessHandle handle) {
		return handle.info().startInstant().map(Instant::toEpochMilli).orElse(0L);
	}

	/**
	 * Kill the process, and wait until it is gone.
	 */
	void kill() {
		this.handle.destroyForcibly();
		awaitExit(10);
	}

	boolean awaitExit(int seconds) {
		try {
			this.handle.onExit().get(seconds, TimeUnit.SECONDS);
			return true;
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			return false;
		}
		catch (ExecutionException | TimeoutException ex) {
			return false;
		}
	}

	@Override
	public String toString() {
		return this.name + " " + this.handle.pid() + " " + started(this.handle);
	}

}
