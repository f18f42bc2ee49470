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

package io.leaderelection.testsupport;

import java.io.IOException;
import java.io.Reader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.stream.Stream;

import org.junit.jupiter.api.Assumptions;

/**
 * An installation of Java.
 *
 * @param home its folder
 * @param version its version, for instance {@code 17.0.15}
 */
public record Jdk(Path home, String version) {

	/**
	 * Where installations are, with the path from each of them to its home.
	 */
	private static final List<Path> FOLDERS = List.of(Path.of("/usr/lib/jvm"), Path.of("/opt/java"),
			Path.of("/Library/Java/JavaVirtualMachines"), Path.of(System.getProperty("user.home"), ".jdks"),
			Path.of(System.getProperty("user.home"), ".sdkman/candidates/java"));

	/**
	 * Find an installation: the one that the option names, that of the environment, the
	 * one that runs this, or one in a usual folder.
	 * @param feature the feature release, for instance 17
	 */
	public static Optional<Jdk> find(int feature) {
		String option = "compatibility.java-" + feature;
		String home = System.getProperty(option);
		if (home != null) {
			return Optional.of(of(Path.of(home)).filter((jdk) -> jdk.feature() == feature)
				.orElseThrow(
						() -> new IllegalArgumentException(option + ": there is no Java " + feature + " in " + home)));
		}
		return candidates(feature).map(Jdk::of)
			.flatMap(Optional::stream)
			.filter((jdk) -> jdk.feature() == feature)
			.findFirst();
	}

	/**
	 * Find an installation, or skip the test. With the option
	 * {@code compatibility.required}, the test fails instead.
	 * @param feature the feature release, for instance 17
	 */
	public static Jdk findOrSkip(int feature) {
		return find(feature).orElseGet(() -> {
			String reason = "no Java " + feature + " was found";
			if (Boolean.getBoolean("compatibility.required")) {
				throw new IllegalStateException(reason + ", but it is required");
			}
			return Assumptions.abort(reason);
		});
	}

	/**
	 * The installation that runs this.
	 */
	public static Jdk current() {
		return of(Path.of(System.getProperty("java.home"))).orElseThrow();
	}

	private static Stream<Path> candidates(int feature) {
		Stream<Path> known = Stream
			.of(System.getenv("JAVA_HOME_" + feature), System.getenv("JAVA_HOME_" + feature + "_X64"),
					System.getenv("JAVA_HOME_" + feature + "_ARM64"), System.getProperty("java.home"),
					System.getenv("JAVA_HOME"))
			.filter(Objects::nonNull)
			.map(Path::of);
		return Stream.concat(known,
				FOLDERS.stream()
					.flatMap(Jdk::children)
					.flatMap((folder) -> Stream.of(folder, folder.resolve("Contents/Home"))));
	}

	private static Stream<Path> children(Path folder) {
		if (!Files.isDirectory(folder)) {
			return Stream.empty();
		}
		try (Stream<Path> children = Files.list(folder)) {
			return children.sorted().toList().stream();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static Optional<Jdk> of(Path home) {
		if (!Files.isExecutable(java(home)) || !Files.isReadable(home.resolve("release"))) {
			return Optional.empty();
		}
		Properties release = new Properties();
		try (Reader reader = Files.newBufferedReader(home.resolve("release"))) {
			release.load(reader);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		String version = release.getProperty("JAVA_VERSION", "").replace("\"", "");
		return version.isEmpty() ? Optional.empty() : Optional.of(new Jdk(home, version));
	}

	/**
	 * The feature release, for instance 17.
	 */
	public int feature() {
		return Integer.parseInt(this.version.split("\\D", 2)[0]);
	}

	/**
	 * The command that starts a JVM.
	 */
	public Path java() {
		return java(this.home);
	}

	private static Path java(Path home) {
		return home.resolve("bin/java");
	}

}
