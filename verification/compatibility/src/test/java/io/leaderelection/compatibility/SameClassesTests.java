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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

import io.leaderelection.testsupport.SourceCompiler;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests that the modules which serve both lines of Spring Framework, 6.2 and 7, have the
 * same classes whichever they are compiled with. A call to a method that one of them does
 * not have, or has with another type, would differ.
 */
@Tag("ring2")
class SameClassesTests {

	private static final List<String> MODULES = Stream.of("core", "postgresql", "spring", "schedule", "test")
		.map("leader-election-"::concat)
		.toList();

	@Test
	void bothLinesGiveTheSameClasses(@TempDir Path directory) throws IOException {
		assertThat(compile(directory)).isEmpty();
		List<Path> compiled = files(directory, ".class").map(directory::relativize).toList();
		assertThat(compiled).hasSizeGreaterThan(250);
		assertThat(MODULES.stream().flatMap(SameClassesTests::classes)).hasSameSizeAs(compiled).allSatisfy((file) -> {
			Path path = file.subpath(Library.ROOT.getNameCount() + 3, file.getNameCount());
			assertThat(Files.mismatch(file, directory.resolve(path))).as(path.toString()).isEqualTo(-1);
		});
	}

	/**
	 * Compile as Maven does, with Spring Boot 3.5.
	 */
	private static List<String> compile(Path directory) throws IOException {
		List<Path> sources = MODULES.stream()
			.flatMap((module) -> files(Library.ROOT.resolve(module).resolve("src/main/java"), ".java"))
			.toList();
		return SourceCompiler.compile(sources, directory, Versions.compileClassPathOfSpringBoot3(), "-g", "-nowarn",
				"-parameters", "--release", "17");
	}

	private static Stream<Path> classes(String module) {
		return files(Library.ROOT.resolve(module).resolve("target/classes"), ".class");
	}

	private static Stream<Path> files(Path folder, String suffix) {
		try (Stream<Path> files = Files.walk(folder)) {
			return files.filter((file) -> file.toString().endsWith(suffix)).toList().stream();
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
