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
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.testsupport.ClassPathProcess;
import io.leaderelection.testsupport.Jdk;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that an application with the starter for another line of Spring Boot, or with
 * both, says so, rather than fail by a type that is missing, or start without one part or
 * another.
 */
@Tag("ring2")
class WrongStarterTests {

	private static final String OURS = "leader-election-autoconfigure";

	@TempDir
	private Path directory;

	@ParameterizedTest
	@CsvSource({ "3.5, 4.0, leader-election-starter, leader-election-starter-boot3",
			"4.0, 3.5, leader-election-starter-boot3, leader-election-starter",
			"4.1, 3.5, leader-election-starter-boot3, leader-election-starter" })
	void namesTheRightStarter(String springBoot, String wrong, String starter, String right) throws Exception {
		assertThat(start(Stream.concat(others(springBoot), ours(wrong))))
			.contains("The application runs Spring Boot " + Versions.springBoot(springBoot))
			.contains("Replace the dependency %s by %s.".formatted(starter, right));
	}

	@ParameterizedTest
	@CsvSource({ "3.5, 3.5, 4.0, leader-election-starter, leader-election-starter-boot3",
			"3.5, 4.0, 3.5, leader-election-starter, leader-election-starter-boot3",
			"4.0, 3.5, 4.0, leader-election-starter-boot3, leader-election-starter",
			"4.0, 4.0, 3.5, leader-election-starter-boot3, leader-election-starter" })
	void namesTheOneToRemove(String springBoot, String first, String second, String starter, String right)
			throws Exception {
		assertThat(start(Stream.of(ours(first), ours(second), others(springBoot)).flatMap((entries) -> entries)))
			.contains("The application has both")
			.contains("Remove the dependency %s, and use %s.".formatted(starter, right));
	}

	/**
	 * Start the application, which fails.
	 * @return its output
	 */
	private String start(Stream<Path> classPath) throws Exception {
		ClassPathProcess process = ClassPathProcess.run(
				List.of(Jdk.current().java().toString(), "-cp",
						classPath.map(Path::toString).collect(Collectors.joining(File.pathSeparator)),
						"com.example.orders.OrdersApplication", "--leader-election.mode=always",
						"--spring.datasource.url=jdbc:postgresql://localhost:1/orders"),
				this.directory, Duration.ofMinutes(1));
		assertThat(process.status()).isOne();
		assertThat(process.output()).contains("APPLICATION FAILED TO START")
			.doesNotContain("NoClassDefFoundError", "NoSuchMethodError");
		return process.output();
	}

	private static Stream<Path> ours(String springBoot) {
		return Versions.entries(springBoot).filter(WrongStarterTests::isOurs);
	}

	private static Stream<Path> others(String springBoot) {
		return Versions.entries(springBoot).filter((entry) -> !isOurs(entry));
	}

	private static boolean isOurs(Path entry) {
		return entry.startsWith(Library.ROOT.resolve(OURS)) || entry.startsWith(Library.ROOT.resolve(OURS + "-boot3"));
	}

}
