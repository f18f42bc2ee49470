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
import io.leaderelection.engine.Mistake;
import io.leaderelection.testsupport.ClassPathProcess;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The transitions of an election in the schedules of Lincheck: all invariants hold, and
 * each scenario finds its {@link Mistake}.
 */
@Tag("ring3")
class ScheduleTests {

	private static final Path DIRECTORY = Path.of("target", "schedules").toAbsolutePath();

	private static final int ATTEMPTS = 3;

	private static final int SCHEDULES = Integer.getInteger("stress.schedules", 300);

	@ParameterizedTest
	@EnumSource
	void invariantsHold(Scenario scenario) throws Exception {
		ClassPathProcess explored = explore(scenario, Mistake.NONE);
		assertThat(explored.status()).as(explored.output()).isZero();
	}

	@ParameterizedTest
	@EnumSource
	void mistakeIsFound(Scenario scenario) throws Exception {
		ClassPathProcess explored = explore(scenario, scenario.mistake());
		assertThat(explored.status()).as(explored.output()).isNotZero();
		assertThat(explored.output()).contains("AssertionError: Expected that");
		System.out.println(scenario.mistake() + " was found by " + scenario);
	}

	private ClassPathProcess explore(Scenario scenario, Mistake mistake) throws IOException, InterruptedException {
		ClassPathProcess explored = exploreOnce(scenario, mistake);
		for (int attempt = 1; attempt < ATTEMPTS && isFailureOfTheTool(explored.output()); attempt++) {
			explored = exploreOnce(scenario, mistake);
		}
		return explored;
	}

	/**
	 * Lincheck allows 30 seconds for a schedule, in which it also instruments classes.
	 */
	private static boolean isFailureOfTheTool(String output) {
		return output.contains("test has hung");
	}

	private ClassPathProcess exploreOnce(Scenario scenario, Mistake mistake) throws IOException, InterruptedException {
		return ClassPathProcess.run(null, ElectionModel.class.getName(),
				List.of(scenario.name(), Integer.toString(SCHEDULES), mistake.name()),
				DIRECTORY.resolve(scenario + "-" + mistake), Duration.ofHours(12));
	}

}
