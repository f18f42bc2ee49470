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
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.engine.Mistake;
import io.leaderelection.testsupport.ClassPathProcess;
import io.leaderelection.testsupport.SourceChange;
import org.jspecify.annotations.Nullable;

/**
 * A run of jcstress in processes of its own.
 *
 * @param planned how many configurations of tests were to be run
 * @param passed how many of them had acceptable outcomes only
 * @param failed how many had a forbidden outcome
 * @param errors how many could not be run
 * @param output what jcstress has printed
 */
record Jcstress(int planned, int passed, int failed, int errors, String output) {

	private static final Pattern RESULTS = Pattern
		.compile("Results: (\\d+) planned; (\\d+) passed, (\\d+) failed, (\\d+) soft errs, (\\d+) hard errs");

	/**
	 * Run tests with one set of options of the JVM and without control of the compiler.
	 * @param milliseconds the time for one configuration of a test
	 */
	static Jcstress runBriefly(Mistake mistake, String tests, int milliseconds, Path directory, Duration limit)
			throws IOException, InterruptedException {
		SourceChange change = mistake.change();
		return run((change != null) ? change.compile(directory) : null, tests,
				List.of("-f", "1", "-iters", "1", "-time", Integer.toString(milliseconds), "-sc", "false", "-jvmArgs",
						"-Xmx256m -D" + Mistake.PROPERTY + "=" + mistake),
				directory, limit);
	}

	/**
	 * Run all tests.
	 * @param mode a mode of jcstress, which decides how long this takes
	 */
	static Jcstress runInMode(String mode, Path directory) throws IOException, InterruptedException {
		return run(null, ".*", List.of("-m", mode), directory, Duration.ofDays(1));
	}

	private static Jcstress run(@Nullable Path changed, String tests, List<String> options, Path directory,
			Duration limit) throws IOException, InterruptedException {
		List<String> arguments = new ArrayList<>(List.of("-v", "-t", tests, "-r", "report"));
		arguments.addAll(options);
		ClassPathProcess process = ClassPathProcess.run(changed, "org.openjdk.jcstress.Main", arguments, directory,
				limit);
		return results(process.output());
	}

	private static Jcstress results(String output) {
		Jcstress results = new Jcstress(0, 0, 0, 0, output);
		Matcher matcher = RESULTS.matcher(output);
		while (matcher.find()) {
			results = new Jcstress(number(matcher, 1), number(matcher, 2), number(matcher, 3),
					number(matcher, 4) + number(matcher, 5), output);
		}
		return results;
	}

	private static int number(Matcher matcher, int group) {
		return Integer.parseInt(matcher.group(group));
	}

}
