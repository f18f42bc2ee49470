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

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

import io.leaderelection.engine.ElectionModel;
import io.leaderelection.engine.ElectionModel.Scenario;
import io.leaderelection.testsupport.ClassPathProcess;
import io.leaderelection.testsupport.SourceChange;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The transitions of an election in the schedules of Lincheck: all invariants hold, and
 * one is violated by each seeded mistake.
 */
@Tag("ring2")
class ScheduleTests {

	private static final Path DIRECTORY = Path.of("target", "schedules").toAbsolutePath();

	private static final int ATTEMPTS = 3;

	private static final int SCHEDULES = Integer.getInteger("stress.schedules", 300);

	@ParameterizedTest
	@EnumSource
	void appliesToSource(Mistake mistake) throws Exception {
		assertThat(mistake.change.apply()).isNotEmpty();
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource
	void invariantsHold(Scenario scenario) throws Exception {
		ClassPathProcess explored = explore(null, scenario, DIRECTORY.resolve(scenario.name()));
		assertThat(explored.status()).as(explored.output()).isZero();
	}

	@ParameterizedTest
	@Tag("ring3")
	@EnumSource
	void mistakeIsFound(Mistake mistake) throws Exception {
		Path directory = DIRECTORY.resolve(mistake.name());
		Path changed = mistake.change.compile(directory);
		ClassPathProcess explored = explore(changed, mistake.scenario, directory);
		assertThat(explored.status()).as(explored.output()).isNotZero();
		assertThat(explored.output()).contains("AssertionError: Expected that");
		System.out.println(mistake + " was found");
	}

	private ClassPathProcess explore(@Nullable Path changed, Scenario scenario, Path directory)
			throws IOException, InterruptedException {
		ClassPathProcess explored = exploreOnce(changed, scenario, directory);
		for (int attempt = 1; attempt < ATTEMPTS && isFailureOfTheTool(explored.output()); attempt++) {
			explored = exploreOnce(changed, scenario, directory);
		}
		return explored;
	}

	/**
	 * Lincheck allows 30 seconds for a schedule, in which it also instruments classes.
	 */
	private static boolean isFailureOfTheTool(String output) {
		return output.contains("test has hung");
	}

	private ClassPathProcess exploreOnce(@Nullable Path changed, Scenario scenario, Path directory)
			throws IOException, InterruptedException {
		return ClassPathProcess.run(changed, ElectionModel.class.getName(),
				List.of(scenario.name(), Integer.toString(SCHEDULES)), directory, Duration.ofHours(12));
	}

	/**
	 * A mistake: what is read before the lock, may have changed when it is held.
	 */
	private enum Mistake {

		STATE_BEFORE_LOCK_OF_GRANT(Scenario.GRANT_AND_LOSS, SeededMistake.STATE_BEFORE_LOCK),

		STATE_BEFORE_LOCK_OF_HAND_OVER(Scenario.HAND_OVER_AND_LOSS, SeededMistake.STATE_BEFORE_LOCK),

		CHECK_BEFORE_REGISTRATION(Scenario.WORK_AND_HAND_OVER, SeededMistake.CHECK_BEFORE_REGISTRATION.change()),

		NEXT_BEFORE_LOCK(Scenario.STOP_AND_START, new SourceChange("Election", """
				boolean goesOn = locked(() -> {
					Participation following = this.next;
				""", """
				Participation following = this.next;
				boolean goesOn = locked(() -> {
				"""));

		private final Scenario scenario;

		private final SourceChange change;

		Mistake(Scenario scenario, SourceChange change) {
			this.scenario = scenario;
			this.change = change;
		}

	}

}
