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

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;

/**
 * The file in the data directory in which PostgreSQL describes its process.
 *
 * @param pid the process id
 * @param started when the process was started
 */
record PostmasterPid(long pid, Instant started) {

	private static final Duration TOLERANCE = Duration.ofSeconds(10);

	static PostmasterPid read(Path data) throws IOException {
		List<String> lines = Files.readAllLines(data.resolve("postmaster.pid"));
		return new PostmasterPid(Long.parseLong(lines.get(0).trim()),
				Instant.ofEpochSecond(Long.parseLong(lines.get(2).trim())));
	}

	/**
	 * Read the file of a data directory.
	 * @param data the data directory
	 * @return the content, empty if there is none
	 * @throws IOException if it cannot be read
	 */
	static Optional<PostmasterPid> readIfPresent(Path data) throws IOException {
		try {
			return Optional.of(read(data));
		}
		catch (NoSuchFileException ex) {
			return Optional.empty();
		}
	}

	/**
	 * Find the process, if it lives. After a restart of the machine its id may be that of
	 * another process, even of another PostgreSQL; the time of its start is not.
	 * @return the process, empty if it has ended
	 */
	Optional<ProcessHandle> findProcess() {
		return ProcessHandle.of(this.pid).filter((process) -> {
			ProcessHandle.Info info = process.info();
			return info.command().filter((command) -> command.contains("postgres")).isPresent() && info.startInstant()
				.filter((instant) -> Duration.between(instant, this.started).abs().compareTo(TOLERANCE) < 0)
				.isPresent();
		});
	}

}
