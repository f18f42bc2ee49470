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

package io.leaderelection.benchmarks;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;

import org.springframework.jdbc.core.JdbcTemplate;

/**
 * What figures were measured on.
 */
public final class Machine {

	private static final Path LOAD = Path.of("/proc/loadavg");

	private Machine() {
	}

	public static String describe(JdbcTemplate jdbc) {
		return "%d cores, %s, JDK %s, PostgreSQL %s, %s".formatted(Runtime.getRuntime().availableProcessors(),
				System.getProperty("os.name"), System.getProperty("java.vm.version"),
				jdbc.queryForObject("SHOW server_version", String.class),
				OffsetDateTime.now(ZoneOffset.UTC).truncatedTo(ChronoUnit.MINUTES));
	}

	/**
	 * The load average of the last minute, which other processes are part of.
	 * @return the load average, or a question mark
	 */
	public static String load() {
		try {
			return Files.isReadable(LOAD) ? Files.readString(LOAD).split(" ", 2)[0] : "?";
		}
		catch (IOException ex) {
			return "?";
		}
	}

	/**
	 * Return what {@code /proc} says of a process, nothing if it has ended.
	 */
	static String read(long process, String file) {
		try {
			return Files.readString(Path.of("/proc", String.valueOf(process), file));
		}
		catch (NoSuchFileException ex) {
			return "";
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
