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
import java.util.Map;

import io.leaderelection.comparison.Candidate.Variant;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Report} and {@link ResultFile}.
 */
@Tag("ring2")
class ReportTests {

	private final List<Result> results = List.of(
			result(Candidate.ADVISORY_LOCK, 1, Map.of(Result.NEXT, 20.0, Result.OVERLAP, 0.0)),
			result(Candidate.CURATOR, 1, Map.of(Result.NEXT, 10.0, Result.OVERLAP, 4.0, Result.OLD_RUNS, 2.0)),
			result(Candidate.CURATOR, 2,
					Map.of(Result.NEXT, 14.0, Result.OVERLAP, 1500.0, Result.OVERLAP_OPEN, 1.0, Result.OLD_RUNS, 3.0)),
			result(Candidate.POLLER, 1, Map.of(Result.OVERLAP, 0.0, Result.LIMIT, 120_000.0)));

	@Test
	void betterFigureOfAnotherCandidateIsBold() {
		assertThat(new Report(this.results).markdown()).contains(
				"| kill -9 → next leader | 20 ms | **12 ms** | none within 120 s |",
				"| kill -9: two leaders at once, longest | none | > 1.5 s | none |",
				"| Apache Curator | DEFAULT | 2 | **12 ms** | 14 ms | 2, > 1.5 s | 5 |",
				"Measured 2026-11-27 on a machine");
	}

	@Test
	void figuresOfADocumentAreReplaced() {
		String document = "before\n<!-- figures: begin -->\nold\n<!-- figures: end -->\nafter";
		assertThat(Report.replace(document, "new\n"))
			.isEqualTo("before\n<!-- figures: begin -->\n\nnew\n\n<!-- figures: end -->\nafter");
	}

	@Test
	void recordedRunsAreReadAgain(@TempDir Path directory) throws Exception {
		Path path = directory.resolve("deeper").resolve("runs.jsonl");
		ResultFile file = new ResultFile(path);
		for (Result result : this.results) {
			file.add(result);
		}
		assertThat(new ResultFile(path).results()).isEqualTo(this.results);
	}

	private static Result result(Candidate candidate, int run, Map<String, Double> figures) {
		return new Result(candidate, Variant.DEFAULT, List.of("option=1"), Measurement.KILL, run,
				"2026-11-27T12:00:00Z", "a machine", "0.10", figures);
	}

}
