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

package io.leaderelection.sample.postgres;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Thrown when the shared PostgreSQL does not come up.
 */
class SharedPostgresException extends RuntimeException {

	private static final int TAIL = 12;

	private final Path log;

	SharedPostgresException(String message, Path log) {
		super(message + ", see " + log);
		this.log = log;
	}

	Path getLog() {
		return this.log;
	}

	/**
	 * Return the last lines of the server's log, without those of stack traces.
	 * @return the lines
	 */
	String getLogTail() {
		try {
			List<String> lines = Files.readAllLines(this.log, StandardCharsets.ISO_8859_1)
				.stream()
				.filter((line) -> !line.isBlank() && !line.startsWith("\t"))
				.toList();
			return String.join("\n", lines.subList(Math.max(0, lines.size() - TAIL), lines.size()));
		}
		catch (IOException ex) {
			return "(no log: " + ex + ")";
		}
	}

}
