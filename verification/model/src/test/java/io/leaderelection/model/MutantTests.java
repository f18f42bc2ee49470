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

package io.leaderelection.model;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Each seeded mistake has a counterexample of the guarantee that it violates. The
 * counterexamples are kept as texts; {@code -Dsuite.counterexamples=write} writes them
 * again.
 */
@Tag("ring3")
class MutantTests {

	private static final Path COUNTEREXAMPLES = Path.of("counterexamples");

	@ParameterizedTest
	@EnumSource
	void violatesItsGuarantee(Mutant mutant) throws IOException {
		check(mutant);
	}

	@ParameterizedTest
	@EnumSource
	void violatesItsGuaranteeWithTable(NodeMutant mutant) throws IOException {
		check(mutant);
	}

	private static void check(SeededMistake mutant) throws IOException {
		ModelChecker.Outcome outcome = ModelChecker.check(mutant.file().replace(".txt", ""), mutant.instance());
		assertThat(outcome.violated()).as(outcome.output()).isEqualTo(mutant.guarantee());
		String text = mutant + " violates " + mutant.guarantee() + "\n(" + mutant.instance() + ")\n\n"
				+ String.join("\n", Counterexample.of(outcome.output()).steps()) + "\n";
		Path file = COUNTEREXAMPLES.resolve(mutant.file());
		if ("write".equals(System.getProperty("suite.counterexamples"))) {
			Files.writeString(file, text);
		}
		assertThat(file).content().isEqualTo(text);
	}

}
