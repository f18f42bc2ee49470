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

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.function.BiConsumer;

import io.leaderelection.testsupport.Daemon;

/**
 * Measures for how long threads of this process were ready to run and had no processor.
 * Stalls of the sampler do not show this: the scheduler of Linux serves a thread that
 * sleeps most of the time before those that run longer. Linux only, and only where it
 * counts these times (kernel documentation, "Scheduler Statistics").
 */
final class ProcessorDelays {

	private static final String STATISTICS = "schedstat";

	private static final Path PROCESS = Path.of("/proc/self");

	private static final long INTERVAL_MILLIS = 100;

	private static final long SHORTEST = 30_000_000;

	private final String prefix;

	/** The delays of the threads, in total, at the last pass. */
	private Map<Path, Long> known = new HashMap<>();

	private ProcessorDelays(String prefix) {
		this.prefix = prefix;
	}

	/**
	 * Return whether the kernel counts.
	 */
	static boolean isMeasured() {
		try {
			return !Files.readString(PROCESS.resolve(STATISTICS)).startsWith("0 ");
		}
		catch (IOException ex) {
			return false;
		}
	}

	/**
	 * Report delays of threads, every 100 milliseconds.
	 * @param prefix what the names of the threads begin with, of which the kernel knows
	 * 15 characters
	 * @param report receives a thread, and for how many nanoseconds in total it had no
	 * processor since the last pass. A longer wait is reported at its end
	 * @return the thread that measures, until it is interrupted
	 */
	static Thread watch(String prefix, BiConsumer<String, Long> report) {
		return Daemon.start("delays", () -> new ProcessorDelays(prefix).run(report));
	}

	private void run(BiConsumer<String, Long> report) {
		try {
			sinceLastPass();
			while (true) {
				Thread.sleep(INTERVAL_MILLIS);
				sinceLastPass().forEach((thread, delay) -> {
					if (delay > SHORTEST) {
						report.accept(thread, delay);
					}
				});
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private Map<String, Long> sinceLastPass() throws IOException {
		Map<Path, Long> present = new HashMap<>();
		Map<String, Long> delays = new HashMap<>();
		try (DirectoryStream<Path> threads = Files.newDirectoryStream(PROCESS.resolve("task"))) {
			for (Path thread : threads) {
				try {
					if (Files.readString(thread.resolve("comm")).startsWith(this.prefix)) {
						// Run time, time in the queue of a processor, number of slices
						long delay = Long.parseLong(Files.readString(thread.resolve(STATISTICS)).split(" ")[1]);
						present.put(thread, delay);
						delays.put(thread.getFileName().toString(), delay - this.known.getOrDefault(thread, 0L));
					}
				}
				catch (IOException ex) {
					if (Files.exists(thread)) {
						throw ex;
					}
				}
			}
		}
		this.known = present;
		return delays;
	}

}
