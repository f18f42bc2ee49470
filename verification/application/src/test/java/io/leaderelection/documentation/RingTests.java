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

package io.leaderelection.documentation;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that every class of tests is in a ring, and that the profiles and scripts that
 * run the rings exist. The tests of the consumer are not part of this build, and those of
 * an abstract class are in the ring of its subclass or in a later one.
 */
@Tag("ring1")
class RingTests {

	private static final Pattern TAG = Pattern.compile("(?m)^(\t*)@Tag\\(\"(.*)\"\\)$");

	@Test
	void everyClassIsInOneRingAndItsMethodsInThatOrALaterOne() {
		List<Path> classes = classes();
		assertThat(classes).hasSizeGreaterThan(200);
		assertThat(classes.stream().filter((file) -> !isInOneRing(ReadmeTests.read(file)))).isEmpty();
	}

	@Test
	void modulesThatOnlyProfilesBuildHaveNothingInTheFirstRing() {
		List<Path> modules = Pattern.compile("<module>(.*)</module>")
			.matcher(ReadmeTests.read(Markdown.ROOT.resolve("verification/pom.xml")))
			.results()
			.map((module) -> Markdown.ROOT.resolve("verification").resolve(module.group(1)).normalize())
			.toList();
		List<Path> classes = classes().stream().filter((file) -> modules.stream().anyMatch(file::startsWith)).toList();
		assertThat(classes).hasSizeGreaterThan(20);
		assertThat(classes.stream().filter((file) -> ReadmeTests.read(file).contains("@Tag(\"ring1\")"))).isEmpty();
	}

	/**
	 * The gate runs them in a step of their own.
	 */
	@Test
	void packageOfFaultsIsThatOfItsModule() {
		Path module = Markdown.ROOT.resolve("verification/faults");
		assertThat(classes()).allMatch((file) -> file.getParent().endsWith("faults") == file.startsWith(module));
	}

	@Test
	void profilesAndScriptsExist() {
		String text = Stream.of(".ci/run", ".github/workflows/build.yml", ".github/workflows/release.yml")
			.map((file) -> ReadmeTests.read(Markdown.ROOT.resolve(file)))
			.collect(Collectors.joining());
		List<String> profiles = Markdown.files("target", "pom\\.xml")
			.stream()
			.flatMap((pom) -> found("<profile>\\s*<id>(.*)</id>", ReadmeTests.read(pom)).stream())
			.toList();
		assertThat(found("[ (]-P([\\w-]+)", text)).isNotEmpty().isSubsetOf(profiles);
		assertThat(found("(?:run: |uses: \\./|step \\w+ )(\\S+/\\S+)", text)).hasSizeGreaterThan(2)
			.allMatch((script) -> Files.exists(Markdown.ROOT.resolve(script)));
	}

	@Test
	void wrongTagsAreFound() {
		assertThat(isInOneRing("@Tag(\"ring1\")\nclass A {\n\t@Test\n\t@Tag(\"ring3\")\n}")).isTrue();
		assertThat(isInOneRing("class A {\n\t@Test\n\t@Tag(\"ring3\")\n}")).isFalse();
		assertThat(isInOneRing("@Tag(\"slow\")\nclass A {\n}")).isFalse();
		assertThat(isInOneRing("@Tag(\"ring2\")\nclass A {\n\t@Test\n\t@Tag(\"ring1\")\n}")).isFalse();
		assertThat(isInOneRing("@Tag(\"ring2\")\nclass A {\n\t@Test\n\t@Tag(\"slow\")\n}")).isFalse();
	}

	private static boolean isInOneRing(String source) {
		List<MatchResult> tags = TAG.matcher(source).results().toList();
		List<String> ofClass = tags.stream()
			.filter((tag) -> tag.group(1).isEmpty())
			.map((tag) -> tag.group(2))
			.toList();
		return ofClass.size() == 1 && tags.stream()
			.map((tag) -> tag.group(2))
			.allMatch((tag) -> tag.matches("ring[123]") && tag.compareTo(ofClass.get(0)) >= 0);
	}

	private static List<String> found(String pattern, String text) {
		return Pattern.compile(pattern).matcher(text).results().map((match) -> match.group(1)).toList();
	}

	private static List<Path> classes() {
		return Markdown.files("target|consumer", "(?!Abstract).*Tests\\.(java|kt)").stream().toList();
	}

}
