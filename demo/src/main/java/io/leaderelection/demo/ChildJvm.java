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

package io.leaderelection.demo;

import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.springframework.util.ClassUtils;

/**
 * Starts further JVMs from the class path, or the jar, of this one.
 */
final class ChildJvm {

	private static final String LOADER = "org.springframework.boot.loader.launch.PropertiesLauncher";

	private ChildJvm() {
	}

	/**
	 * Return a builder of a process that the terminal of this one does not end.
	 * @param main the class to run
	 * @param options options of the JVM
	 * @param arguments what to pass to the class
	 * @return the builder
	 */
	static ProcessBuilder builder(Class<?> main, List<String> options, List<String> arguments) {
		List<String> command = new ArrayList<>(detached());
		command.add(java());
		command.add("-Djava.io.tmpdir=" + System.getProperty("java.io.tmpdir"));
		command.addAll(options);
		command.addAll(List.of("-cp", classPath()));
		if (ClassUtils.isPresent(LOADER, null)) {
			// Only its loader can read the jars inside our jar.
			command.add("-Dloader.main=" + main.getName());
			command.add(LOADER);
		}
		else {
			command.add(main.getName());
		}
		command.addAll(arguments);
		ProcessBuilder builder = new ProcessBuilder(command);
		// Debuggers and agents are meant for this process, and two cannot share their
		// port.
		builder.environment().keySet().removeAll(List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"));
		return builder;
	}

	private static List<String> detached() {
		// A child survives the kill -9 of its parent anyway. Ctrl-C and a closed terminal
		// are another matter: they signal every process of the terminal's foreground
		// group, so this process goes into a session of its own. Java cannot do that,
		// setsid can, which every Linux has. macOS has none: there a shell ignores both
		// signals first, which a JVM inherits and respects. Windows sends Ctrl-C to all
		// processes of a console, and javaw has none.
		if (isWindows()) {
			return List.of();
		}
		return Stream.of("/usr/bin/setsid", "/bin/setsid")
			.filter((setsid) -> Files.isExecutable(Path.of(setsid)))
			.findFirst()
			.map(List::of)
			.orElse(List.of("/bin/sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"));
	}

	private static String java() {
		return Path.of(System.getProperty("java.home"), "bin", isWindows() ? "javaw.exe" : "java").toString();
	}

	/**
	 * Whether this is Windows, which has no signals.
	 * @return whether it is
	 */
	static boolean isWindows() {
		return System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("windows");
	}

	private static String classPath() {
		// The process may outlive this one and so does not run in its directory.
		return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
			.map((entry) -> Path.of(entry).toAbsolutePath().toString())
			.collect(Collectors.joining(File.pathSeparator));
	}

}
