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
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A change of one class of the engine: a mistake.
 *
 * @param type the simple name of the class
 * @param original a part of its source, without regard to white space between lines
 * @param replacement what replaces it
 */
public record SourceChange(String type, String original, String replacement) {

	/**
	 * Return the source of the class with this change.
	 * @return the source, without indentation
	 * @throws IllegalStateException if the class does not contain the original once
	 */
	public String apply() throws IOException {
		String text = unindented(Files.readString(
				Path.of("../../leader-election-core/src/main/java/io/leaderelection/engine", this.type + ".java")));
		String wanted = unindented(this.original);
		int position = text.indexOf(wanted);
		if (position < 0 || text.indexOf(wanted, position + 1) >= 0) {
			throw new IllegalStateException(
					"The source of " + this.type + " contains this " + ((position < 0) ? "no longer" : "more than once")
							+ ", so the mistake cannot be seeded:\n" + wanted);
		}
		return text.substring(0, position) + this.replacement + text.substring(position + wanted.length());
	}

	/**
	 * Compile the class with this change.
	 * @param directory receives the source and the classes
	 * @return the directory with the classes
	 */
	public Path compile(Path directory) throws IOException {
		Path source = Files.createDirectories(directory.resolve("source")).resolve(this.type + ".java");
		Files.writeString(source, apply());
		Path classes = Files.createDirectories(directory.resolve("classes"));
		List<String> errors = SourceCompiler.compile(List.of(source), classes, System.getProperty("java.class.path"),
				"-nowarn");
		if (!errors.isEmpty()) {
			throw new IllegalStateException("Does not compile: " + String.join("\n", errors));
		}
		return classes;
	}

	private static String unindented(String source) {
		return source.replaceAll("(?m)^\\s+", "").strip();
	}

}
