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

import java.io.File;
import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

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

	private static final String AUTOCONFIGURE = "leader-election-autoconfigure";

	private static final String METADATA = "spring-configuration-metadata.json";

	private static final String AUTO_CONFIGURATIONS = "META-INF/spring-autoconfigure-metadata.properties";

	private static final Pattern NAMING = Pattern.compile("\\.(AutoConfigure(After|Before)|ConditionalOnClass)$");

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

	@Test
	void bothLinesHaveTheSameTypes() {
		assertThat(types(AUTOCONFIGURE + "-boot3")).hasSizeGreaterThan(100)
			.containsExactlyInAnyOrderElementsOf(types(AUTOCONFIGURE));
	}

	private static List<String> types(String module) {
		Path classes = Library.ROOT.resolve(module).resolve("target/classes");
		try (Stream<Path> files = Files.walk(classes)) {
			return files.filter((file) -> file.toString().endsWith(".class"))
				.map((file) -> classes.relativize(file).toString())
				.toList();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * With Spring Boot 3.5, each endpoint also has a deprecated property.
	 */
	@Test
	void bothLinesHaveTheSameProperties() throws IOException {
		List<String> properties = properties(AUTOCONFIGURE + "-boot3");
		assertThat(properties).contains("\"name\": \"management.endpoint.leadership.enabled\"");
		assertThat(properties.stream().filter((line) -> !line.contains("management.endpoint.leadership.enabled")))
			.hasSizeGreaterThan(50)
			.containsExactlyElementsOf(properties(AUTOCONFIGURE));
	}

	private static List<String> properties(String module) throws IOException {
		return Files.readString(Library.ROOT.resolve(module).resolve("target/classes/META-INF").resolve(METADATA))
			.lines()
			.map((line) -> line.trim().replaceFirst(",$", ""))
			.filter((line) -> line.startsWith("\"name\": "))
			.toList();
	}

	/**
	 * Some are names in strings, so the compiler does not find one that no class has.
	 */
	@ParameterizedTest
	@ValueSource(ints = { 3, 4 })
	void typesThatAutoConfigurationsNameExist(int line) throws IOException {
		Properties metadata = new Properties();
		Path classes = Library.ROOT.resolve(AUTOCONFIGURE + ((line == 3) ? "-boot3" : "")).resolve("target/classes");
		try (Reader reader = Files.newBufferedReader(classes.resolve(AUTO_CONFIGURATIONS))) {
			metadata.load(reader);
		}
		List<URL> classPath = new ArrayList<>(List.of(classes.toUri().toURL()));
		for (String entry : Versions.completeClassPath(line).split(File.pathSeparator)) {
			classPath.add(Path.of(entry).toUri().toURL());
		}
		try (URLClassLoader classLoader = new URLClassLoader(classPath.toArray(URL[]::new), null)) {
			List<String> named = metadata.stringPropertyNames()
				.stream()
				.filter((key) -> NAMING.matcher(key).find())
				.flatMap((key) -> Stream.of(metadata.getProperty(key).split(",")))
				.filter((name) -> !name.isEmpty())
				.distinct()
				.toList();
			assertThat(named).hasSizeGreaterThan(15)
				.allSatisfy(
						(name) -> assertThat(classLoader.getResource(name.replace('.', '/') + ".class")).isNotNull());
		}
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
