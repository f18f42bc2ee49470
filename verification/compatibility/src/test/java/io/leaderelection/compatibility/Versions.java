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
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The exact versions that the build has resolved.
 */
final class Versions {

	private static final Pattern SPRING_BOOT = Pattern.compile("spring-boot-(\\d[^/\\\\]*)\\.jar$");

	private static final Path BINARIES = Path.of("target", "postgresql");

	private Versions() {
	}

	/**
	 * Return the class path of the application, as resolved with a version of Spring
	 * Boot.
	 */
	static String classPath(String springBoot) {
		return read(springBoot, "classpath.txt");
	}

	private static String read(String springBoot, String file) {
		try {
			return Files.readString(Path.of("spring-boot-" + springBoot, "target", file)).trim();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return the class path of the application with other classes of the library.
	 */
	static String classPath(String springBoot, Path library) {
		long modules = entries(springBoot).filter(Library::contains).count();
		if (modules != Library.SOURCES.size()) {
			throw new IllegalStateException("The library is not on the class path " + classPath(springBoot));
		}
		return Stream.concat(Stream.of(library), entries(springBoot).filter((entry) -> !Library.contains(entry)))
			.map(Path::toString)
			.collect(Collectors.joining(File.pathSeparator));
	}

	/**
	 * Return the class path to compile the library with, which has no present classes of
	 * it. Only the newest version of Spring Boot has one.
	 */
	static String compileClassPath() {
		return Stream.of(read("4.1", "compile-classpath.txt").split(File.pathSeparator))
			.filter((entry) -> !Library.contains(Path.of(entry)))
			.collect(Collectors.joining(File.pathSeparator));
	}

	/**
	 * Return the class path to compile with Spring Boot 3.5, which has no classes of the
	 * modules that serve both lines.
	 */
	static String compileClassPathOfSpringBoot3() {
		return Stream.of(read("3.5-tests", "classpath.txt").split(File.pathSeparator))
			.filter((entry) -> !Library.contains(Path.of(entry))
					&& !Path.of(entry).startsWith(Library.ROOT.resolve("leader-election-test")))
			.collect(Collectors.joining(File.pathSeparator));
	}

	/**
	 * Return a class path with everything that the library uses with a line of Spring
	 * Boot, in its newest version.
	 */
	static String completeClassPath(int line) {
		return (line == 3) ? read("3.5-tests", "classpath.txt") : read("4.1", "compile-classpath.txt");
	}

	static Stream<Path> entries(String springBoot) {
		return Stream.of(classPath(springBoot).split(File.pathSeparator)).map(Path::of);
	}

	static String springBoot(String springBoot) {
		return entries(springBoot).map((entry) -> SPRING_BOOT.matcher(entry.getFileName().toString()))
			.filter(Matcher::matches)
			.map((matcher) -> matcher.group(1))
			.findFirst()
			.orElseThrow();
	}

	/**
	 * Return the major versions of PostgreSQL.
	 */
	static Stream<Integer> majors() {
		return Stream.of(System.getProperty("compatibility.postgresql").split(","))
			.map((version) -> Integer.valueOf(version.substring(0, version.indexOf('.'))));
	}

	/**
	 * Return the version of PostgreSQL as the server tells it.
	 */
	static String postgresql(int major) {
		return binariesVersion(major).replaceAll("\\.0$", "");
	}

	static Path binaries(int major) {
		try (Stream<Path> jars = Files.list(BINARIES)) {
			String suffix = "-" + binariesVersion(major) + ".jar";
			return jars.filter((jar) -> jar.toString().endsWith(suffix)).findFirst().orElseThrow();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static String binariesVersion(int major) {
		return Stream.of(System.getProperty("compatibility.postgresql").split(","))
			.filter((version) -> version.startsWith(major + "."))
			.findFirst()
			.orElseThrow();
	}

}
