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

package io.leaderelection.aot;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import javax.tools.ToolProvider;

import org.springframework.boot.SpringApplicationAotProcessor;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Processes an application ahead of time and runs it on the JVM in that mode, each in a
 * process of its own, as the build plugins of Spring Boot do.
 */
final class AheadOfTime {

	private static final String JAVA = Path.of(System.getProperty("java.home"), "bin", "java").toString();

	private final Class<?> application;

	private final Path directory;

	private final Path classes;

	AheadOfTime(Class<?> application, Path directory) {
		this.application = application;
		this.directory = directory;
		this.classes = directory.resolve("classes");
	}

	/**
	 * Process the application.
	 * @param arguments what it is given while it is processed
	 */
	void process(String... arguments) throws IOException, InterruptedException {
		Path sources = this.directory.resolve("sources");
		Files.createDirectories(this.classes);
		Output output = java(System.getProperty("java.class.path"), Stream.concat(
				Stream.of(SpringApplicationAotProcessor.class.getName(), this.application.getName(), sources.toString(),
						this.directory.resolve("resources").toString(), this.classes.toString(), "test", "test"),
				Stream.of(arguments))
			.toList());
		assertThat(output.status()).as(output.text()).isZero();
		compile(sources);
	}

	private void compile(Path sources) throws IOException {
		List<String> options = new ArrayList<>(
				List.of("-proc:none", "-nowarn", "-Xlint:none", "-d", this.classes.toString(), "-cp",
						this.classes + File.pathSeparator + System.getProperty("java.class.path")));
		try (Stream<Path> files = Files.walk(sources)) {
			files.map(Path::toString).filter((file) -> file.endsWith(".java")).forEach(options::add);
		}
		assertThat(ToolProvider.getSystemJavaCompiler().run(null, null, null, options.toArray(String[]::new))).isZero();
	}

	/**
	 * Run what was processed to its end.
	 * @param arguments what it is given
	 * @return what it printed
	 */
	Output run(List<String> arguments) throws IOException, InterruptedException {
		return java(
				this.classes + File.pathSeparator + this.directory.resolve("resources") + File.pathSeparator
						+ System.getProperty("java.class.path"),
				Stream.concat(Stream.of("-Dspring.aot.enabled=true", this.application.getName()), arguments.stream())
					.toList());
	}

	Path resources() {
		return this.directory.resolve("resources");
	}

	Path classes() {
		return this.classes;
	}

	private Output java(String classPath, List<String> arguments) throws IOException, InterruptedException {
		List<String> command = new ArrayList<>(
				List.of(JAVA, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", classPath));
		command.addAll(arguments);
		Path log = Files.createTempFile(this.directory, "output", ".log");
		Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
		try {
			boolean ended = process.waitFor(2, TimeUnit.MINUTES);
			String text = Files.readString(log, StandardCharsets.UTF_8);
			assertThat(ended).as(text).isTrue();
			return new Output(process.exitValue(), text);
		}
		finally {
			process.destroyForcibly();
		}
	}

	/**
	 * What a process left.
	 *
	 * @param status its exit status
	 * @param text all that it printed
	 */
	record Output(int status, String text) {

	}

}
