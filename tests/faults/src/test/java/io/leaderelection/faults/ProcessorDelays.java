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
import java.util.function.LongConsumer;

import io.leaderelection.testsupport.Daemon;

/**
 * Measures for how long threads of this process were ready to run and had no processor,
 * where Linux tells: a thread that sleeps most of the time, as the sampler of a node
 * does, is served before those that run longer.
 */
final class ProcessorDelays {

	private static final Path THREADS = Path.of("/proc/self/task");

	private static final long INTERVAL_MILLIS = 100;

	private static final long SHORTEST = 5_000_000;

	private final Map<Path, Long> delays = new HashMap<>();

	private ProcessorDelays() {
	}

	/**
	 * Report the longest delay of a thread in each interval in which there was one.
	 * @param report receives nanoseconds, which end now
	 */
	static void watch(LongConsumer report) {
		if (Files.isReadable(THREADS.resolve(Long.toString(ProcessHandle.current().pid())).resolve("schedstat"))) {
			Daemon.create("delays", () -> new ProcessorDelays().run(report)).start();
		}
	}

	private void run(LongConsumer report) {
		try {
			while (true) {
				long longest = longestSinceLastCall();
				if (longest > SHORTEST) {
					report.accept(longest);
				}
				Thread.sleep(INTERVAL_MILLIS);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	private long longestSinceLastCall() throws IOException {
		long longest = 0;
		try (DirectoryStream<Path> threads = Files.newDirectoryStream(THREADS)) {
			for (Path thread : threads) {
				longest = Math.max(longest, sinceLastCall(thread));
			}
		}
		return longest;
	}

	private long sinceLastCall(Path thread) throws IOException {
		try {
			// Run time, time in the queue of a processor, number of time slices
			long delay = Long.parseLong(Files.readString(thread.resolve("schedstat")).split(" ")[1]);
			Long last = this.delays.put(thread, delay);
			return delay - ((last != null) ? last : 0);
		}
		catch (IOException ex) {
			if (Files.exists(thread)) {
				throw ex;
			}
			return 0;
		}
	}

}
