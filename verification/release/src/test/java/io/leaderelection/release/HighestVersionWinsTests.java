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

import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import coursierapi.Dependency;
import coursierapi.Fetch;
import coursierapi.MavenRepository;
import coursierapi.Repository;
import coursierapi.error.CoursierError;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that an application which uses our artifacts gets the versions that it gets
 * without them, also where the highest version wins that is named anywhere, as with
 * Gradle. Coursier resolves in the same way.
 */
@Tag("ring2")
class HighestVersionWinsTests {

	private static final String OLDEST = System.getProperty("release.spring-boot.oldest");

	private static final String NEWEST = System.getProperty("release.spring-boot.newest");

	private static final String NEWEST_3 = System.getProperty("release.spring-boot-3.newest");

	@Test
	void versionsOfAnApplicationWithTheOldestSpringBootStay() throws CoursierError {
		versionsStay(OLDEST, "");
	}

	@Test
	void versionsOfAnApplicationWithTheNewestSpringBootStay() throws CoursierError {
		versionsStay(NEWEST, "");
	}

	@ParameterizedTest
	@ValueSource(strings = { "oldest", "newest" })
	void versionsOfAnApplicationWithSpringBoot3Stay(String version) throws CoursierError {
		versionsStay(System.getProperty("release.spring-boot-3." + version), "-boot3");
	}

	/**
	 * As any dependency on Spring Boot 4: the application must not have it.
	 */
	@Test
	void starterForSpringBoot4BringsItToAnApplicationWithSpringBoot3() throws CoursierError {
		assertThat(resolve(NEWEST_3, ours("starter"))).containsEntry("org.springframework.boot:spring-boot", OLDEST);
	}

	@Test
	void starterForSpringBoot3LeavesSpringBoot4() throws CoursierError {
		assertThat(resolve(OLDEST, ours("starter-boot3"))).containsEntry("org.springframework.boot:spring-boot",
				OLDEST);
	}

	@Test
	void noticesANewerVersion() throws CoursierError {
		Map<String, String> mixed = resolve(OLDEST, springBoot("starter-jdbc", NEWEST));
		assertThat(mixed).containsEntry("org.springframework.boot:spring-boot-starter-jdbc", NEWEST)
			.containsEntry("org.springframework.boot:spring-boot", NEWEST);
		assertThat(OLDEST).isNotEqualTo(NEWEST);
	}

	private static void versionsStay(String springBoot, String line) throws CoursierError {
		// The driver is that of the newest Spring Boot 3.5 also with the oldest
		Map<String, String> without = line.isEmpty() ? resolve(springBoot)
				: resolve(springBoot, driver(driverVersion(NEWEST_3)));
		Map<String, String> with = resolve(springBoot, ours("starter" + line), ours("schedule"), ours("test"));
		Set<String> ofOtherLine = Set.of("autoconfigure", "starter");
		// Spring Boot 3.5 does not bring the annotations
		assertThat(with.keySet()
			.stream()
			.filter((name) -> !without.containsKey(name) && !name.equals("org.jspecify:jspecify")))
			.containsExactlyInAnyOrderElementsOf(BundleTests.artifacts()
				.filter((artifact) -> line.isEmpty() ? !artifact.endsWith("-boot3")
						: !ofOtherLine.contains(artifact.substring("leader-election-".length())))
				.map((artifact) -> "io.leaderelection:" + artifact)
				.toList());
		with.keySet().retainAll(without.keySet());
		assertThat(with).isEqualTo(without).containsEntry("org.springframework.boot:spring-boot", springBoot);
	}

	private static Dependency springBoot(String name, String version) {
		return Dependency.of("org.springframework.boot", "spring-boot-" + name, version);
	}

	private static Dependency ours(String name) {
		return Dependency.of("io.leaderelection", "leader-election-" + name, Bundle.VERSION);
	}

	/**
	 * Resolve an application that has everything that our artifacts use, and more.
	 */
	private static Map<String, String> resolve(String springBoot, Dependency... further) throws CoursierError {
		return resolve(fetch().addDependencies(driver(driverVersion(springBoot)))
			.addDependencies(Stream
				.of("starter-actuator", "starter-jdbc", "starter-test",
						springBoot.startsWith("3.") ? "starter-web" : "starter-webmvc")
				.map((name) -> springBoot(name, springBoot))
				.toArray(Dependency[]::new))
			.addDependencies(further));
	}

	/**
	 * Return the version of the driver that an application gets from the BOM. With a BOM,
	 * Coursier would replace all versions, as Maven does.
	 */
	private static String driverVersion(String springBoot) throws CoursierError {
		return resolve(fetch().addBomDependencies(springBoot("dependencies", springBoot)).addDependencies(driver("")))
			.get("org.postgresql:postgresql");
	}

	private static Dependency driver(String version) {
		return Dependency.of("org.postgresql", "postgresql", version);
	}

	private static Map<String, String> resolve(Fetch fetch) throws CoursierError {
		return fetch.withArtifactTypes(Set.of("pom"))
			.fetchResult()
			.getDependencies()
			.stream()
			.collect(Collectors.toMap((each) -> each.getModule().getOrganization() + ":" + each.getModule().getName(),
					Dependency::getVersion, (first, second) -> first, TreeMap::new));
	}

	private static Fetch fetch() {
		return Fetch.create()
			.withRepositories(MavenRepository.of(System.getProperty("release.staging")),
					MavenRepository.of(System.getProperty("release.local-repository")))
			.addRepositories(Fetch.create().getRepositories().toArray(Repository[]::new));
	}

}
