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
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

import io.leaderelection.simulation.Simulation.Result;
import io.leaderelection.testsupport.ClassPathProcess;
import io.leaderelection.testsupport.Mutant;
import io.leaderelection.testsupport.SourceChange;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Looks for a mistake that is seeded in the class path of this process. The exit status
 * is 0 if the simulation has found it.
 */
public final class MistakeSearch {

	private static final Path DIRECTORY = Path.of("target", "mistakes").toAbsolutePath();

	private static final Duration LIMIT = Duration.ofMinutes(8);

	private MistakeSearch() {
	}

	/**
	 * Search for a mistake, and print what was found.
	 * @param arguments the store, the name of the mistake, the first seed, and the
	 * guarantees that it violates
	 */
	public static void main(String... arguments) {
		Histories histories = Histories.search(Store.valueOf(arguments[0]), Mutant.NONE, Long.parseLong(arguments[2]));
		System.out.println(histories.finding(arguments[1]));
		Result result = histories.violation();
		boolean found = result != null
				&& Arrays.asList(arguments).subList(3, arguments.length).contains(result.violation().guarantee());
		System.exit(found ? 0 : 1);
	}

	/**
	 * Search for a mistake in another process.
	 * @param guarantees the guarantees that it violates, whichever is noticed first
	 */
	static void assertFound(Store store, Enum<?> mistake, SourceChange change, List<String> guarantees)
			throws Exception {
		Path directory = DIRECTORY.resolve(mistake.name());
		Path changed = change.compile(directory);
		List<String> arguments = new ArrayList<>(
				List.of(store.name(), mistake.name(), Long.toString(Histories.firstSeed(mistake))));
		arguments.addAll(guarantees);
		ClassPathProcess search = ClassPathProcess.run(changed, MistakeSearch.class.getName(), arguments, directory,
				LIMIT);
		System.out.print(search.output());
		assertThat(search.status()).as(search.output()).isZero();
	}

}
