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

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

/**
 * A process that runs a class of the test class path, with changed classes first or
 * without some libraries.
 *
 * @param status the exit status
 * @param output what the process has printed
 */
public record ClassPathProcess(int status, String output) {

	/**
	 * Run a process to its end.
	 * @param changed the directory of changed classes, or {@code null}
	 * @param mainClass the class to run
	 * @param arguments its arguments
	 * @param directory the working directory, which also receives the output
	 * @param limit the time after which the process is ended and considered to hang
	 * @return the process, which has ended
	 */
	public static ClassPathProcess run(@Nullable Path changed, String mainClass, List<String> arguments, Path directory,
			Duration limit) throws IOException, InterruptedException {
		String classPath = ((changed != null) ? changed + File.pathSeparator : "")
				+ System.getProperty("java.class.path");
		List<String> command = new ArrayList<>(List
			.of(Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-cp", classPath, mainClass));
		command.addAll(arguments);
		return run(command, directory, limit);
	}

	/**
	 * Run a command to its end.
	 * @param command the command
	 * @param directory the working directory, which also receives the output
	 * @param limit the time after which the process is ended and considered to hang
	 * @return the process, which has ended
	 */
	public static ClassPathProcess run(List<String> command, Path directory, Duration limit)
			throws IOException, InterruptedException {
		Files.createDirectories(directory);
		Path output = directory.resolve("output.txt");
		Process process = new ProcessBuilder(command).directory(directory.toFile())
			.redirectErrorStream(true)
			.redirectOutput(output.toFile())
			.start();
		try {
			if (!process.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
				throw new IllegalStateException("Not ended within " + limit + ", see " + output + ": " + command);
			}
			return new ClassPathProcess(process.exitValue(), Files.readString(output));
		}
		finally {
			process.descendants().forEach(ProcessHandle::destroyForcibly);
			process.destroyForcibly();
		}
	}

}
