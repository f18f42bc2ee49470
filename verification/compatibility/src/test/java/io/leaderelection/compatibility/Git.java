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
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.stream.Stream;

/**
 * The Git repository of the sources.
 */
final class Git {

	private Git() {
	}

	/**
	 * Run a command on some paths.
	 */
	static Answer run(List<String> paths, String... arguments) {
		return run(Stream.concat(Stream.of(arguments), paths.stream()).toArray(String[]::new));
	}

	static Answer run(String... arguments) {
		List<String> command = Stream
			.concat(Stream.of("git", "--no-optional-locks", "-C", Library.ROOT.toString()), Stream.of(arguments))
			.toList();
		try {
			Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
			String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
			return new Answer("git " + String.join(" ", arguments), process.waitFor() == 0, text);
		}
		catch (IOException ex) {
			return new Answer("git", false, String.valueOf(ex.getMessage()));
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * What a command has printed.
	 *
	 * @param command the command
	 * @param succeeded whether its exit status was 0
	 * @param text its output, also that of a failure
	 */
	record Answer(String command, boolean succeeded, String text) {

		/**
		 * Return the output.
		 * @throws IllegalStateException if the command has failed
		 */
		String required() {
			if (!this.succeeded) {
				throw new IllegalStateException(this.toString());
			}
			return this.text;
		}

		@Override
		public String toString() {
			return this.command + ": " + this.text;
		}

	}

}
