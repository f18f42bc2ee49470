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
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.testsupport.SourceCompiler;

/**
 * The classes and resources of a version of the library, built from its sources.
 *
 * @param sources the folder with the sources of all its modules, {@code java} and
 * {@code resources}
 * @param classes the folder of its classes
 */
record Library(Path sources, Path classes) {

	static final Path ROOT = Path.of("..", "..").toAbsolutePath().normalize();

	private static final String SCHEMA = "schema-postgresql.sql";

	private static final String PROFILE = "NodeProfile.java";

	/** The folders of its sources. In earlier revisions, the last has all. */
	static final List<String> SOURCES = Stream.of("core", "postgresql", "spring", "schedule", "autoconfigure")
		.map((module) -> "leader-election-" + module + "/src/main")
		.toList();

	/**
	 * What a run depends on: those, and what makes of them the artifacts for Spring Boot
	 * 3.5.
	 */
	static final List<String> TREES = Stream.concat(SOURCES.stream(), Stream.of("leader-election-autoconfigure-boot3"))
		.toList();

	/**
	 * Return whether an entry of a class path is one of the library.
	 */
	static boolean contains(Path entry) {
		return SOURCES.stream().anyMatch((source) -> entry.startsWith(ROOT.resolve(source).getParent().getParent()));
	}

	/**
	 * Copy the present sources into one folder.
	 */
	static void copySources(Path target) throws IOException {
		for (String source : SOURCES) {
			copy(ROOT.resolve(source), target);
		}
	}

	/**
	 * Compile sources, and copy their resources.
	 */
	static Library build(Path sources, Path directory) throws IOException {
		Path classes = Files.createDirectories(directory);
		List<String> errors = SourceCompiler.compile(files(sources.resolve("java")), classes,
				Versions.compileClassPath(), "-parameters", "--release", "17");
		if (!errors.isEmpty()) {
			throw new IllegalStateException("The library does not compile: " + String.join("\n", errors));
		}
		copy(sources.resolve("resources"), classes);
		return new Library(sources, classes);
	}

	/**
	 * Return the Git trees of the sources of the present commit, abbreviated. Unlike a
	 * commit, they stay the same when commits are rebased.
	 */
	static String trees() {
		return TREES.stream()
			.map((source) -> Git.run("rev-parse", "--short=12", "HEAD:" + source).required())
			.collect(Collectors.joining(" "));
	}

	/**
	 * Copy a folder, also from an archive.
	 */
	static void copy(Path source, Path target) throws IOException {
		for (Path file : files(source)) {
			Path copy = target.resolve(source.relativize(file).toString());
			Files.createDirectories(copy.getParent());
			if (copy.endsWith("aot.factories")) {
				// That of several modules, and not read at run time
				Files.deleteIfExists(copy);
			}
			Files.copy(file, copy);
		}
	}

	private static List<Path> files(Path folder) throws IOException {
		try (Stream<Path> files = Files.walk(folder)) {
			return files.filter(Files::isRegularFile).toList();
		}
	}

	/**
	 * Return the script that creates the tables of the store {@code table}.
	 */
	String schema() throws IOException {
		return read(this.sources.resolve("resources"), SCHEMA);
	}

	/**
	 * Return the source of the type that has the number of the protocol.
	 */
	String profile() throws IOException {
		return read(this.sources.resolve("java"), PROFILE);
	}

	/**
	 * Return the script of the present version.
	 */
	static String presentSchema() throws IOException {
		return read(ROOT.resolve("leader-election-postgresql/src/main/resources"), SCHEMA);
	}

	/**
	 * Return the source of the present version that has the number of the protocol.
	 */
	static String presentProfile() throws IOException {
		return read(ROOT.resolve("leader-election-core/src/main/java"), PROFILE);
	}

	private static String read(Path folder, String name) throws IOException {
		for (Path file : files(folder)) {
			if (file.endsWith(name)) {
				return Files.readString(file);
			}
		}
		throw new IllegalStateException("There is no " + name + " in " + folder);
	}

}
