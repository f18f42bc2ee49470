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

package io.leaderelection.comparison;

import java.nio.file.Path;
import java.util.List;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runs the comparison in a short form, so that it does not rot: one {@code kill -9} of
 * each candidate, with the settings that take over sooner. It asserts no times.
 */
@Tag("ring3")
class ComparisonTests {

	@Test
	void eachCandidateHasANextLeaderAfterAKill(@TempDir Path directory) throws Exception {
		String[] options = { "--faults=kill", "--variants=tuned", "--runs=1",
				"--out=" + directory.resolve("runs.jsonl") };
		Comparison comparison = new Comparison(options);
		comparison.run();
		List<Result> results = comparison.results();
		assertThat(results).extracting(Result::candidate).containsExactly(Candidate.values());
		assertThat(results).allSatisfy((result) -> {
			assertThat(result.figures()).containsOnlyKeys(Result.NEXT, Result.LIMIT, Result.OVERLAP,
					Result.OVERLAP_OPEN, Result.OLD_RUNS);
			assertThat(result.options()).isEqualTo(result.candidate().options(result.variant()));
			assertThat(result.machine()).contains("cores");
		});
		Comparison resumed = new Comparison(options);
		resumed.run();
		assertThat(resumed.results()).isEqualTo(results);
		assertThat(new Report(results).markdown())
			.contains(List.of(Candidate.values()).stream().map(Candidate::title).toList());
	}

}
