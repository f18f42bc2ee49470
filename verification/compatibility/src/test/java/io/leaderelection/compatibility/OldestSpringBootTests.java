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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The library uses nothing that the oldest Spring Boot does not have, also in code that
 * the application does not run.
 */
@Tag("ring2")
class OldestSpringBootTests {

	@TempDir
	private Path directory;

	@Test
	void sourcesCompile() throws IOException {
		assertThat(Versions.compileClassPath("4.0").split(File.pathSeparator))
			.anyMatch((entry) -> entry.contains("spring-boot-4.0."));
		assertThat(Library.compile(sources(), Versions.compileClassPath("4.0"), this.directory)).isEmpty();
		assertThat(this.directory.resolve("io/leaderelection/LeaderElector.class")).exists();
	}

	private static List<Path> sources() throws IOException {
		List<Path> sources = new ArrayList<>();
		for (String folder : Library.SOURCES) {
			addSources(folder, sources);
		}
		addSources("leader-election-test/src/main", sources);
		return sources;
	}

	private static void addSources(String folder, List<Path> sources) throws IOException {
		try (Stream<Path> files = Files.walk(Library.ROOT.resolve(folder).resolve("java"))) {
			files.filter((file) -> file.toString().endsWith(".java")).forEach(sources::add);
		}
	}

}
