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

package io.leaderelection.simulation;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import io.leaderelection.simulation.Simulation.Result;
import io.leaderelection.testsupport.ClassPathProcess;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Looks for a sentinel that is in the class path of this process. The exit status is 0 if
 * its check has found it.
 */
public final class SentinelSearch {

	private static final Path DIRECTORY = Path.of("target", "sentinels").toAbsolutePath();

	private static final Duration LIMIT = Duration.ofMinutes(8);

	private SentinelSearch() {
	}

	public static void main(String... arguments) {
		System.exit(isFound(Sentinel.valueOf(arguments[0])) ? 0 : 1);
	}

	/**
	 * Search for a sentinel, and print how it was found.
	 */
	static void assertFound(Sentinel sentinel) throws Exception {
		if (sentinel.change() == null) {
			assertThat(isFound(sentinel)).isTrue();
			return;
		}
		Path directory = DIRECTORY.resolve(sentinel.name());
		ClassPathProcess search = ClassPathProcess.run(sentinel.change().compile(directory),
				SentinelSearch.class.getName(), List.of(sentinel.name()), directory, LIMIT);
		System.out.print(search.output());
		assertThat(search.status()).as(search.output()).isZero();
	}

	private static boolean isFound(Sentinel sentinel) {
		long start = System.nanoTime();
		Histories histories = Histories.search(sentinel);
		Result found = histories.violation();
		System.out.println(sentinel + " was "
				+ ((found != null)
						? "found after " + histories.grants() + " failovers and "
								+ Duration.ofNanos(System.nanoTime() - start).toSeconds()
								+ " s, in the history of seed " + found.seed() + ": " + found.violation()
						: "not found: " + histories));
		return found != null;
	}

}
