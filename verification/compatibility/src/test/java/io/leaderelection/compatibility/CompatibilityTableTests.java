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

package io.leaderelection.compatibility;

import java.io.IOException;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the table in the document.
 */
@Tag("ring2")
class CompatibilityTableTests {

	private static final List<String> OTHER_MODULES = List.of("leader-election-starter",
			"verification/compatibility/application");

	private static final int SPRING_BOOT = 0;

	private static final int STORE = 4;

	@Test
	@DisabledIfSystemProperty(named = "compatibility.write", matches = "true", disabledReason = "It is being written")
	void documentHasTheCombinationsOfTheBuild() throws IOException {
		assertThat(CompatibilityTable.documented().stream().map(CompatibilityTableTests::withoutUpdate))
			.as("write the table anew with -Dcompatibility.write")
			.containsExactlyElementsOf(Combination.ALL.stream().map(CompatibilityTableTests::cells).toList());
	}

	@Test
	@DisabledIfSystemProperty(named = "compatibility.write", matches = "true", disabledReason = "It is being written")
	void documentHasResultsOnly() throws IOException {
		assertThat(CompatibilityTable.documented()).allSatisfy((row) -> {
			assertThat(row.get(6)).isEqualTo("passed");
			assertThat(LocalDate.parse(row.get(7))).isBeforeOrEqualTo(LocalDate.now().plusDays(1));
		});
	}

	@Test
	@DisabledIfSystemProperty(named = "compatibility.version", matches = ".*-SNAPSHOT",
			disabledReason = "Only a release has a table of its own sources")
	@DisabledIfSystemProperty(named = "compatibility.write", matches = "true", disabledReason = "It is being written")
	void documentOfReleaseIsThatOfItsSources() throws IOException {
		Assumptions.assumeTrue(Git.run("rev-parse", "HEAD").succeeded(), "These sources are not in a Git repository");
		assertThat(CompatibilityTable.documentedSources()).as("write the table anew with -Dcompatibility.write")
			.isEqualTo(Library.trees());
	}

	@ParameterizedTest
	@ValueSource(ints = { SPRING_BOOT, STORE })
	void eachValueIsRunWithAllValuesOfOtherColumns(int column) {
		List<List<String>> rows = Combination.ALL.stream().map(CompatibilityTableTests::cells).toList();
		for (int other = 0; other < rows.get(0).size(); other++) {
			if (other != column) {
				Set<String> values = distinct(rows, column);
				Set<String> others = distinct(rows, other);
				assertThat(distinct(rows, column, other)).as("pairs of %s and %s", values, others)
					.hasSize(values.size() * others.size());
			}
		}
	}

	private static Set<String> distinct(List<List<String>> rows, int... columns) {
		return rows.stream()
			.map((row) -> IntStream.of(columns).mapToObj(row::get).collect(Collectors.joining(" ")))
			.collect(Collectors.toSet());
	}

	@Test
	void allVersionsOfSpringBootRunTheSameClasses() {
		assertThat(ours("4.0")).hasSize(Library.SOURCES.size() + OTHER_MODULES.size())
			.containsExactlyInAnyOrderElementsOf(ours("4.1"));
	}

	@Test
	void springBoot3HasArtifactsOfItsOwnForTwo() {
		assertThat(ours("3.5")).hasSize(Library.SOURCES.size() + OTHER_MODULES.size() - 2).isSubsetOf(ours("4.1"));
	}

	/**
	 * The class path of the version of Spring Boot that earlier revisions are compiled
	 * with has everything that the library uses.
	 */
	@Test
	void presentSourcesCompileAsThoseOfEarlierRevisions(@TempDir Path directory) throws IOException {
		Path sources = directory.resolve("sources");
		Library.copySources(sources);
		Library library = Library.build(sources, directory.resolve("classes"));
		assertThat(library.classes().resolve("io/leaderelection/LeaderElector.class")).exists();
	}

	private static List<Path> ours(String springBoot) {
		return Versions.entries(springBoot)
			.filter((entry) -> Library.contains(entry)
					|| OTHER_MODULES.stream().anyMatch((module) -> entry.startsWith(Library.ROOT.resolve(module))))
			.toList();
	}

	private static List<String> cells(Combination combination) {
		return List.of(Versions.springBoot(combination.springBoot()), Integer.toString(combination.java()),
				combination.threads().toString(), combination.application().toString(), combination.store(),
				Versions.postgresql(combination.postgresql()));
	}

	/**
	 * The update of Java is that of the machine.
	 */
	private static List<String> withoutUpdate(List<String> row) {
		return List.of(row.get(0), row.get(1).split("\\.")[0], row.get(2), row.get(3), row.get(4), row.get(5));
	}

}
