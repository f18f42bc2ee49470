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

package io.leaderelection.model;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/**
 * The small instances that were found to hold, in a file with a line for each: its name,
 * the number of its distinct states, its depth and a checksum of its input. Equal input
 * gives equal output, so TLC need not run again.
 */
final class CheckedInstances {

	private static final Path FILE = Path.of("checked.txt");

	private CheckedInstances() {
	}

	static List<String> read() throws IOException {
		return Files.readAllLines(FILE);
	}

	/**
	 * Write a line, and remove those of instances that no longer exist. All instances are
	 * checked in one JVM.
	 * @param line the line
	 */
	static synchronized void write(String line) throws IOException {
		Path changed = ModelChecker.TARGET.resolve(FILE);
		Files.writeString(changed, String.join("\n", with(read(), line)) + "\n");
		Files.move(changed, FILE, StandardCopyOption.REPLACE_EXISTING);
	}

	static List<String> with(List<String> lines, String line) {
		List<String> names = Stream.of(SmallInstance.values()).map(Enum::name).toList();
		return Stream.concat(lines.stream().filter((other) -> !name(other).equals(name(line))), Stream.of(line))
			.filter((each) -> names.contains(name(each)))
			.sorted()
			.toList();
	}

	static String name(String line) {
		return line.split(" ")[0];
	}

	static String line(SmallInstance instance, ModelChecker.Outcome outcome, String checksum) {
		return "%s %d %d %s".formatted(instance, outcome.distinct(), outcome.depth(), checksum);
	}

	/** Return the line of an instance that was found to hold with the same input. */
	static List<String> find(List<String> lines, SmallInstance instance, String checksum) {
		return lines.stream()
			.filter((line) -> name(line).equals(instance.name()) && line.endsWith(" " + checksum))
			.toList();
	}

	static String checksum(Instance instance) throws Exception {
		return checksum(ModelChecker.MODULES, ModelChecker.archive(), ModelChecker.options(1), instance);
	}

	/**
	 * Return a checksum of all that an outcome depends on. It has all modules, whichever
	 * of them the instance needs.
	 */
	static String checksum(Path modules, Path archive, List<String> options, Instance instance) throws Exception {
		MessageDigest digest = MessageDigest.getInstance("SHA-256");
		try (Stream<Path> files = Files.list(modules)) {
			for (Path file : Stream.concat(files.sorted(), Stream.of(archive)).toList()) {
				digest.update((file.getFileName() + " " + Files.size(file) + "\n").getBytes(StandardCharsets.UTF_8));
				digest.update(Files.readAllBytes(file));
			}
		}
		digest.update(
				(options + " " + instance.module() + "\n" + instance.configuration()).getBytes(StandardCharsets.UTF_8));
		return HexFormat.of().formatHex(digest.digest());
	}

}
