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

package io.leaderelection.stress;

import java.nio.file.Path;
import java.time.Duration;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The concurrent parts of the engine under jcstress: no forbidden outcome, and one for
 * each seeded mistake.
 */
@Tag("ring2")
class StressTests {

	private static final Path DIRECTORY = Path.of("target", "stress").toAbsolutePath();

	private static final int MILLISECONDS = 300;

	private static final int MILLISECONDS_FOR_MISTAKE = 2000;

	private static final int ATTEMPTS = 5;

	private static final Duration LIMIT = Duration.ofMinutes(10);

	@ParameterizedTest
	@EnumSource
	void appliesToSource(SeededMistake mistake) throws Exception {
		assertThat(mistake.change().apply()).isNotEmpty();
	}

	@Test
	@Tag("ring3")
	void noForbiddenOutcome() throws Exception {
		String mode = System.getProperty("stress.mode");
		Path directory = DIRECTORY.resolve("engine");
		Jcstress results = (mode != null) ? Jcstress.runInMode(mode, directory)
				: Jcstress.runBriefly(null, ".*", MILLISECONDS, directory, LIMIT);
		assertThat(results.failed()).as(results.output()).isZero();
		assertThat(results.errors()).as(results.output()).isZero();
		assertThat(results.passed()).as(results.output()).isPositive().isEqualTo(results.planned());
		for (SeededMistake mistake : SeededMistake.values()) {
			assertThat(results.output()).contains("[OK] io.leaderelection.engine." + mistake.test());
		}
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource
	void mistakeIsFound(SeededMistake mistake) throws Exception {
		Path directory = DIRECTORY.resolve(mistake.name());
		Path changed = mistake.change().compile(directory);
		int attempt = 1;
		Jcstress results = runWith(mistake, changed, directory);
		while (results.failed() == 0 && attempt < ATTEMPTS) {
			attempt++;
			results = runWith(mistake, changed, directory);
		}
		assertThat(results.failed()).as(results.output()).isPositive();
		System.out.println(mistake + " was found at attempt " + attempt + ", in " + results.failed() + " of "
				+ results.planned() + " configurations");
	}

	private static Jcstress runWith(SeededMistake mistake, Path changed, Path directory) throws Exception {
		Jcstress results = Jcstress.runBriefly(changed, mistake.test().replace(".", "\\."), MILLISECONDS_FOR_MISTAKE,
				directory, LIMIT);
		assertThat(results.errors()).as(results.output()).isZero();
		assertThat(results.planned()).as(results.output()).isPositive();
		return results;
	}

}
