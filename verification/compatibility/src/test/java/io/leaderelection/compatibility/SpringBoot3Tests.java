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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.testsupport.EmbeddedServerOnly;
import io.leaderelection.testsupport.Jdk;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests of other modules, compiled and run with Spring Boot 3.5 on several versions of
 * Java. Their output is left in {@code target}.
 */
@EmbeddedServerOnly
@Tag("ring3")
class SpringBoot3Tests {

	private static final Path MODULE = Path.of("spring-boot-3.5-tests", "target").toAbsolutePath();

	/**
	 * What an application of these tests does not have. A broker would be unhealthy, and
	 * with the last of them Spring Boot 3 waits for each database without a limit.
	 */
	private static final String NOT_IN_LIBRARY = "spring-webmvc-|tomcat-embed-|spring-integration-jdbc-";

	private static final String NOT_IN_FAULTS = NOT_IN_LIBRARY
			+ "|spring-(rabbit|kafka|jms|integration|orm)-|hibernate-|"
			+ "spring-boot-(docker|starter-actuator|actuator)";

	private static final String NOT_IN_SAMPLE = "spring-(rabbit|kafka|jms|integration|orm)-|hibernate-|"
			+ "leader-election-test-support-";

	private static final Pattern SUCCESSFUL = Pattern.compile("\\[ +(\\d+) tests successful");

	private static final Duration LIMIT = Duration.ofMinutes(45);

	@ParameterizedTest
	@ValueSource(ints = { 17, 25 })
	void library(int java) throws Exception {
		Stream<String> packages = Stream.of("annotation", "aot", "autoconfigure", "integration", "observation",
				"schedule", "transaction");
		assertThat(run(java, "leader-election-autoconfigure", NOT_IN_LIBRARY,
				Stream.concat(
						Stream.of("--exclude-classname=.*\\.OptionalLibraries.*",
								"--exclude-classname=.*\\.LocksOfLeaderWorkTests"),
						packages.map((name) -> "--include-classname=io\\.leaderelection\\." + name + "\\..*Tests"))))
			.isGreaterThan(600);
	}

	@ParameterizedTest
	@ValueSource(ints = { 17, 25 })
	void faults(int java) throws Exception {
		assertThat(run(java, "verification/faults", NOT_IN_FAULTS,
				Stream.of("Context", "DurableSchedule", "")
					.map((name) -> "--include-classname=io\\.leaderelection\\.faults\\." + name + "FaultTests")))
			.isGreaterThan(30);
	}

	@ParameterizedTest
	@ValueSource(ints = { 17, 25 })
	void sample(int java) throws Exception {
		assertThat(run(java, "sample-app", NOT_IN_SAMPLE,
				Stream.of("--include-classname=io\\.leaderelection\\.sample\\..*Tests")))
			.isGreaterThan(5);
	}

	/**
	 * Run tests of a module, by default those of rings 1 and 2.
	 * @return how many tests were successful
	 */
	private static int run(int java, String module, String without, Stream<String> options) throws Exception {
		Jdk jdk = Jdk.findOrSkip(java);
		boolean web = module.equals("sample-app");
		Path folder = Library.ROOT.resolve(module);
		String classPath = Stream
			.of(MODULE.resolve("test-classes"), folder.resolve("src/test/resources"),
					folder.resolve(web ? "src/main/resources" : "none"))
			.map(Path::toString)
			.collect(Collectors.joining(File.pathSeparator));
		String libraries = Stream.of(Files.readString(MODULE.resolve("classpath.txt")).trim().split(File.pathSeparator))
			.filter((entry) -> !Pattern.compile(without).matcher(Path.of(entry).getFileName().toString()).lookingAt())
			.collect(Collectors.joining(File.pathSeparator));
		List<String> command = new ArrayList<>(List.of(jdk.java().toString(), "-XX:+EnableDynamicAgentLoading",
				"-Dpostgresql.binaries.version=" + System.getProperty("postgresql.binaries.version"),
				"-Dsuite.postgres=embedded", "-cp", classPath + File.pathSeparator + libraries,
				"org.junit.platform.console.ConsoleLauncher", "execute", "--disable-banner", "--disable-ansi-colors",
				"--details=tree", "--fail-if-no-tests", "--scan-classpath=" + MODULE.resolve("test-classes")));
		options.forEach(command::add);
		if (!web) {
			command.add("--exclude-tag=ring3");
		}
		Path output = Path.of("target", "spring-boot-3.5-" + Path.of(module).getFileName() + "-" + java + ".log");
		Process process = new ProcessBuilder(command).directory(folder.toFile())
			.redirectErrorStream(true)
			.redirectOutput(output.toFile())
			.start();
		try {
			assertThat(process.waitFor(LIMIT.toSeconds(), TimeUnit.SECONDS)).as("ended within " + LIMIT).isTrue();
		}
		finally {
			process.descendants().forEach(ProcessHandle::destroyForcibly);
			process.destroyForcibly();
		}
		assertThat(process.exitValue()).as("see " + output).isZero();
		return SUCCESSFUL.matcher(Files.readString(output))
			.results()
			.mapToInt((found) -> Integer.parseInt(found.group(1)))
			.findFirst()
			.orElseThrow();
	}

}
