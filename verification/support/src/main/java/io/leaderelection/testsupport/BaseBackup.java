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
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Set;
import java.util.function.Predicate;

/**
 * The copy of a running server that a standby starts from: what {@code pg_basebackup}
 * does, which is not among the binaries.
 */
final class BaseBackup {

	private static final int FIRST_WITH_NEW_NAMES = 15;

	/** To close any descriptor of this file releases the lock of the process. */
	static final Path LOCK = Path.of("epg-lock");

	private static final Set<String> NOT_COPIED = Set.of("postmaster.pid", "postmaster.opts", LOCK.toString());

	private static final Set<String> COPIED_WITHOUT_FILES = Set.of("pg_wal", "pg_replslot", "pg_stat_tmp");

	private BaseBackup() {
	}

	static void take(PostgreSqlServer server, Path from, Path to) throws IOException {
		// The backup ends when the connection does
		try (Connection connection = server.connect(); Statement statement = connection.createStatement()) {
			boolean newNames = connection.getMetaData().getDatabaseMajorVersion() >= FIRST_WITH_NEW_NAMES;
			statement.execute(newNames ? "SELECT pg_backup_start('standby', true)"
					: "SELECT pg_start_backup('standby', true, false)");
			copy(from, to, BaseBackup::isCopied);
			try (ResultSet row = statement.executeQuery(newNames ? "SELECT labelfile FROM pg_backup_stop(false)"
					: "SELECT labelfile FROM pg_stop_backup(false, false)")) {
				row.next();
				Files.writeString(to.resolve("backup_label"), row.getString(1));
			}
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	static void configureStandby(Path data, String user, int primaryPort) throws IOException {
		Files.createFile(data.resolve("standby.signal"));
		Files.writeString(data.resolve("postgresql.auto.conf"),
				"primary_conninfo = 'host=localhost port=" + primaryPort + " user=" + user + "'\n",
				StandardOpenOption.APPEND);
	}

	private static boolean isCopied(Path file) {
		return !NOT_COPIED.contains(file.toString()) && !COPIED_WITHOUT_FILES.contains(file.getName(0).toString());
	}

	/**
	 * Copy a folder and those of its files whose relative names are selected.
	 */
	static void copy(Path from, Path to, Predicate<Path> selected) throws IOException {
		Files.walkFileTree(from, new SimpleFileVisitor<>() {

			@Override
			public FileVisitResult preVisitDirectory(Path folder, BasicFileAttributes attributes) throws IOException {
				Files.copy(folder, to.resolve(from.relativize(folder)), StandardCopyOption.COPY_ATTRIBUTES);
				return FileVisitResult.CONTINUE;
			}

			@Override
			public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
				Path name = from.relativize(file);
				if (selected.test(name)) {
					try {
						Files.copy(file, to.resolve(name), StandardCopyOption.COPY_ATTRIBUTES);
					}
					catch (NoSuchFileException ex) {
						// The server has removed it: its log contains that for the
						// standby
					}
				}
				return FileVisitResult.CONTINUE;
			}

			@Override
			public FileVisitResult visitFileFailed(Path file, IOException ex) throws IOException {
				if (ex instanceof NoSuchFileException) {
					return FileVisitResult.CONTINUE;
				}
				throw ex;
			}

		});
	}

}
