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
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import io.leaderelection.engine.Mistake;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.openjdk.jcstress.infra.runners.TestList;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The concurrent parts of the engine under jcstress: no forbidden outcome, and each test
 * finds its {@link Mistake}.
 */
@Tag("ring2")
class StressTests {

	private static final Path DIRECTORY = Path.of("target", "stress").toAbsolutePath();

	private static final int MILLISECONDS = 300;

	private static final int MILLISECONDS_FOR_MISTAKE = 2000;

	private static final int ATTEMPTS = 5;

	private static final Duration LIMIT = Duration.ofMinutes(10);

	@Test
	void eachTestHasAMistake() {
		assertThat(
				Stream.of(Mistake.values()).flatMap((mistake) -> mistake.tests().stream()).map(StressTests::fullName))
			.containsExactlyInAnyOrderElementsOf(TestList.tests());
	}

	@Test
	void changesApplyToTheSource() throws Exception {
		for (Mistake mistake : Mistake.values()) {
			if (mistake.change() != null) {
				assertThat(mistake.change().apply()).isNotEmpty();
			}
		}
	}

	@Test
	@Tag("ring3")
	void noForbiddenOutcome() throws Exception {
		String mode = System.getProperty("stress.mode");
		Path directory = DIRECTORY.resolve("engine");
		Jcstress results = (mode != null) ? Jcstress.runInMode(mode, directory)
				: Jcstress.runBriefly(Mistake.NONE, ".*", MILLISECONDS, directory, LIMIT);
		assertThat(results.failed()).as(results.output()).isZero();
		assertThat(results.errors()).as(results.output()).isZero();
		assertThat(results.passed()).as(results.output()).isPositive().isEqualTo(results.planned());
		assertThat(results.output()).contains(TestList.tests().stream().map((test) -> "[OK] " + test).toList());
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource(mode = Mode.EXCLUDE, names = { "NONE", "STATE_BEFORE_LOCK", "LOCK_GIVEN_UP" })
	void mistakeIsFound(Mistake mistake) throws Exception {
		List<String> tests = new ArrayList<>(mistake.tests());
		for (int attempt = 1; attempt <= ATTEMPTS && !tests.isEmpty(); attempt++) {
			Jcstress results = Jcstress.runBriefly(mistake, String.join("|", tests), MILLISECONDS_FOR_MISTAKE,
					DIRECTORY.resolve(mistake.name()), LIMIT);
			assertThat(results.errors()).as(results.output()).isZero();
			assertThat(results.planned()).as(results.output()).isGreaterThanOrEqualTo(tests.size());
			tests.removeIf((test) -> results.output().contains("[FAILED] " + fullName(test)));
			System.out.println(mistake + ": attempt " + attempt + " has found it in " + results.failed() + " of "
					+ results.planned() + " configurations");
		}
		assertThat(tests).as("tests that have not found the mistake").isEmpty();
	}

	private static String fullName(String test) {
		return "io.leaderelection.engine." + test;
	}

}
