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

package io.leaderelection.release;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.w3c.dom.Element;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the bundle has what Maven Central requires of a release, as its
 * documentation says on the pages <em>Requirements</em> and <em>Uploading</em>, and
 * nothing else.
 */
@Tag("ring2")
class BundleTests {

	private static final String BOM = "leader-election-bom";

	private static Bundle bundle;

	@BeforeAll
	static void readBundle() throws IOException {
		bundle = Bundle.read();
	}

	@Test
	void hasAllFilesAndNoOthers() {
		Stream<String> jars = artifacts().flatMap((artifact) -> Bundle.names(artifact, ".pom", ".jar", "-sources.jar",
				"-javadoc.jar", "-cyclonedx.json", "-cyclonedx.xml"));
		assertThat(bundle.names())
			.containsExactlyInAnyOrderElementsOf(Stream.concat(Bundle.names(BOM, ".pom"), jars).toList());
	}

	@Test
	void versionIsNoSnapshot() {
		assertThat(Bundle.VERSION).isNotEmpty().doesNotEndWith("-SNAPSHOT");
	}

	@ParameterizedTest
	@CsvSource({ "md5, MD5", "sha1, SHA-1" })
	void everyFileHasItsChecksum(String suffix, String algorithm) throws Exception {
		MessageDigest digest = MessageDigest.getInstance(algorithm);
		for (String name : bundle.names().toList()) {
			String expected = HexFormat.of().formatHex(digest.digest(bundle.content(name)));
			assertThat(new String(bundle.content(name + "." + suffix), StandardCharsets.US_ASCII)).as(name)
				.isEqualTo(expected);
		}
	}

	@Test
	void everyFileIsSigned(@TempDir Path folder) throws Exception {
		Path file = folder.resolve("file");
		Path signature = folder.resolve("file.asc");
		for (String name : bundle.names().toList()) {
			Files.write(signature, bundle.content(name + ".asc"));
			Files.write(file, bundle.content(name));
			assertThat(verify(signature, file)).as(name).isZero();
		}
		Files.writeString(file, "something else");
		assertThat(verify(signature, file)).isNotZero();
	}

	private static int verify(Path signature, Path file) throws Exception {
		return new ProcessBuilder("gpg", "--batch", "--verify", signature.toString(), file.toString())
			.redirectErrorStream(true)
			.redirectOutput(signature.resolveSibling("gpg.log").toFile())
			.start()
			.waitFor();
	}

	@ParameterizedTest
	@ValueSource(strings = { "name", "description", "url", "licenses/license/name", "licenses/license/url",
			"developers/developer/name", "scm/connection", "scm/developerConnection", "scm/url" })
	void everyPomHas(String path) {
		bundle.poms()
			.forEach((artifact,
					pom) -> assertThat(Bundle.texts(pom, path)).as(artifact).isNotEmpty().doesNotContain(""));
	}

	@Test
	void everyPomHasItsCoordinates() {
		assertThat(bundle.poms()).hasSize((int) artifacts().count() + 1).allSatisfy((artifact, pom) -> {
			assertThat(Bundle.texts(pom, "groupId")).containsExactly("io.leaderelection");
			assertThat(Bundle.texts(pom, "artifactId")).containsExactly(artifact);
			assertThat(Bundle.texts(pom, "version")).containsExactly(Bundle.VERSION);
		});
	}

	/**
	 * A parent, properties or repositories could not be resolved by others, or change
	 * what they resolve.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "parent", "properties", "profiles", "build", "repositories", "pluginRepositories",
			"distributionManagement" })
	void noPomHas(String path) {
		bundle.poms().forEach((artifact, pom) -> assertThat(Bundle.elements(pom, path)).as(artifact).isEmpty());
	}

	@ParameterizedTest
	@MethodSource("artifacts")
	void pomNamesAVersionForEachDependency(String artifact) {
		Element pom = bundle.poms().get(artifact);
		List<Element> dependencies = Bundle.elements(pom, "dependencies/dependency").toList();
		assertThat(dependencies).isNotEmpty().allSatisfy((dependency) -> {
			assertThat(Bundle.texts(dependency, "version")).singleElement()
				.asString()
				.matches("\\d[\\w.-]*")
				.doesNotContain("SNAPSHOT");
			assertThat(Bundle.texts(dependency, "scope")).doesNotContain("test", "provided", "system");
		});
		assertThat(Bundle.elements(pom, "dependencyManagement")).isEmpty();
	}

	/**
	 * Another test resolves them, with what they bring.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "leader-election-autoconfigure", "leader-election-starter" })
	void pomNamesTheOldestSpringBoot(String artifact) {
		pomNamesSpringBoot(artifact, System.getProperty("release.spring-boot.oldest"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "leader-election-autoconfigure-boot3", "leader-election-starter-boot3" })
	void pomNamesTheOldestSpringBoot3(String artifact) {
		pomNamesSpringBoot(artifact, System.getProperty("release.spring-boot-3.oldest"));
	}

	@ParameterizedTest
	@CsvSource({ "leader-election-autoconfigure, 7.", "leader-election-autoconfigure-boot3, 6.2." })
	void pomNamesTheLineOfSpring(String artifact, String line) {
		assertThat(Bundle.elements(bundle.poms().get(artifact), "dependencies/dependency")
			.filter((dependency) -> Bundle.texts(dependency, "groupId").anyMatch("org.springframework"::equals))
			.flatMap((dependency) -> Bundle.texts(dependency, "version"))).isNotEmpty()
			.allMatch((version) -> version.startsWith(line));
	}

	@Test
	void pomOfStarterForSpringBoot3NamesNoOtherLineOfSpring() {
		assertThat(Bundle.elements(bundle.poms().get("leader-election-starter-boot3"), "dependencies/dependency")
			.filter((dependency) -> Bundle.texts(dependency, "groupId").anyMatch("org.springframework"::equals))
			.flatMap((dependency) -> Bundle.texts(dependency, "version")))
			.allMatch((version) -> version.startsWith("6.2."));
	}

	/**
	 * CVE-2025-49146 affects versions 42.7.4 to 42.7.6. The one that serves both lines
	 * names that of the oldest Spring Boot 3.5, and the others replace it.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "autoconfigure", "autoconfigure-boot3", "starter", "starter-boot3" })
	void pomNamesADriverWithoutKnownVulnerability(String artifact) {
		assertThat(Bundle.elements(bundle.poms().get("leader-election-" + artifact), "dependencies/dependency")
			.filter((dependency) -> Bundle.texts(dependency, "groupId").anyMatch("org.postgresql"::equals))
			.flatMap((dependency) -> Bundle.texts(dependency, "version"))).singleElement()
			.asString()
			.doesNotMatch("42\\.7\\.[4-6]");
	}

	/**
	 * Gradle would take the version of Spring that they name, if it is above that of the
	 * application.
	 */
	@ParameterizedTest
	@ValueSource(strings = { "core", "postgresql", "schedule", "spring", "test" })
	void pomOfWhatServesBothLinesBringsNoSpring(String artifact) {
		assertThat(Bundle.elements(bundle.poms().get("leader-election-" + artifact), "dependencies/dependency")
			.filter((dependency) -> Bundle.texts(dependency, "groupId").anyMatch("org.springframework"::equals)))
			.allSatisfy((dependency) -> assertThat(Bundle.texts(dependency, "optional")).containsExactly("true"));
	}

	private static void pomNamesSpringBoot(String artifact, String version) {
		assertThat(Bundle.elements(bundle.poms().get(artifact), "dependencies/dependency")
			.filter((dependency) -> Bundle.texts(dependency, "groupId").anyMatch("org.springframework.boot"::equals))
			.flatMap((dependency) -> Bundle.texts(dependency, "version"))).isNotEmpty().allMatch(version::equals);
	}

	@Test
	void bomNamesAllOthersAndNothingElse() {
		Element pom = bundle.poms().get(BOM);
		List<Element> managed = Bundle.elements(pom, "dependencyManagement/dependencies/dependency").toList();
		assertThat(managed.stream().flatMap((each) -> Bundle.texts(each, "artifactId")))
			.containsExactlyInAnyOrderElementsOf(artifacts().toList());
		assertThat(managed.stream().flatMap((each) -> Bundle.texts(each, "version")))
			.containsOnly("${project.version}");
		assertThat(Bundle.elements(pom, "dependencies")).isEmpty();
	}

	@Test
	void jarsHaveALicenseAndAModuleName() throws IOException {
		for (String artifact : artifacts().toList()) {
			Map<String, String> texts = new TreeMap<>();
			String jar = Bundle.names(artifact, ".jar").findFirst().orElseThrow();
			try (ZipInputStream entries = new ZipInputStream(new ByteArrayInputStream(bundle.content(jar)))) {
				ZipEntry entry;
				while ((entry = entries.getNextEntry()) != null) {
					texts.put(entry.getName(), new String(entries.readAllBytes(), StandardCharsets.ISO_8859_1));
				}
			}
			assertThat(texts).as(artifact).containsKey("META-INF/LICENSE");
			assertThat(texts.get("META-INF/MANIFEST.MF")).contains("Implementation-Version: " + Bundle.VERSION,
					"Automatic-Module-Name: io." + artifact.replaceFirst("-", "").replace('-', '.'));
		}
	}

	static Stream<String> artifacts() {
		return Stream
			.of("autoconfigure", "autoconfigure-boot3", "core", "postgresql", "schedule", "spring", "starter",
					"starter-boot3", "test")
			.map("leader-election-"::concat);
	}

}
