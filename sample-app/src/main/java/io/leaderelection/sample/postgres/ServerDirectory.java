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
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.channels.FileChannel;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Properties;
import java.util.Set;

import org.jspecify.annotations.Nullable;

/**
 * The files of the shared PostgreSQL, in a directory that only their user can read.
 *
 * @param path the directory
 */
record ServerDirectory(Path path) {

	private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");

	private static final long MAX_LOG_SIZE = 1024 * 1024;

	/**
	 * The directory of the current user, below that for temporary files.
	 */
	static ServerDirectory ofCurrentUser() throws IOException {
		String user = System.getProperty("user.name").replaceAll("[^A-Za-z0-9._-]", "_");
		return of(Path.of(System.getProperty("java.io.tmpdir"), "leader-election-sample-" + user));
	}

	static ServerDirectory of(Path path) throws IOException {
		Path directory = path.toAbsolutePath();
		boolean posix = Files.getFileStore(directory.getParent()).supportsFileAttributeView("posix");
		try {
			Files.createDirectory(directory,
					posix ? new FileAttribute<?>[] { PosixFilePermissions.asFileAttribute(OWNER_ONLY) }
							: new FileAttribute<?>[0]);
		}
		catch (FileAlreadyExistsException ex) {
			if (posix) {
				makePrivate(directory);
			}
		}
		return new ServerDirectory(directory);
	}

	/**
	 * Every user may write to the directory for temporary files, so the one found here
	 * may belong to another user.
	 */
	private static void makePrivate(Path directory) throws IOException {
		Path own = Files.createTempFile("leader-election-sample", null);
		try {
			if (!Files.isDirectory(directory, LinkOption.NOFOLLOW_LINKS)
					|| !Files.getOwner(directory).equals(Files.getOwner(own))) {
				throw new IOException(directory + " is not a directory of this user");
			}
		}
		finally {
			Files.delete(own);
		}
		Files.setPosixFilePermissions(directory, OWNER_ONLY);
	}

	Path log() {
		return this.path.resolve("server.log");
	}

	/**
	 * The data directory of PostgreSQL.
	 */
	Path data() {
		return this.path.resolve("data");
	}

	Path passwordFile() {
		return EmbeddedServer.passwordFile(data());
	}

	private Path stateFile() {
		return this.path.resolve("server.properties");
	}

	void limitLog() throws IOException {
		if (Files.exists(log()) && Files.size(log()) > MAX_LOG_SIZE) {
			Files.delete(log());
		}
	}

	/**
	 * The content of the state file, {@code null} if there is none.
	 */
	@Nullable ServerState readState() throws IOException {
		Properties properties = new Properties();
		try (InputStream in = Files.newInputStream(stateFile())) {
			properties.load(in);
		}
		catch (NoSuchFileException ex) {
			return null;
		}
		return ServerState.from(properties);
	}

	void writeState(ServerState state) throws IOException {
		Path file = Files.createTempFile(this.path, "server", ".tmp");
		try (OutputStream out = Files.newOutputStream(file)) {
			state.toProperties().store(out, null);
		}
		Files.move(file, stateFile(), StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
	}

	void deleteState() throws IOException {
		Files.deleteIfExists(stateFile());
	}

	/**
	 * Take the lock under which nodes join the server, and under which the server ends.
	 * @return a channel that holds the lock until it is closed, {@code null} if it could
	 * not be obtained in time
	 */
	@Nullable FileChannel lockForJoining(Duration timeout) throws IOException, InterruptedException {
		return lock("join.lock", timeout);
	}

	/**
	 * Take the lock that the process of the server holds as long as it lives.
	 * @return a channel that holds the lock until it is closed, {@code null} if it could
	 * not be obtained in time
	 */
	@Nullable FileChannel lockForOwning(Duration timeout) throws IOException, InterruptedException {
		return lock("server.lock", timeout);
	}

	/**
	 * Whether a process of the server lives. Unlike a process id, a lock is never that of
	 * another process.
	 */
	boolean isOwned() throws IOException, InterruptedException {
		try (FileChannel lock = lockForOwning(Duration.ZERO)) {
			return lock == null;
		}
	}

	private @Nullable FileChannel lock(String name, Duration timeout) throws IOException, InterruptedException {
		long start = System.nanoTime();
		FileChannel channel = FileChannel.open(this.path.resolve(name), StandardOpenOption.CREATE,
				StandardOpenOption.WRITE);
		boolean locked = false;
		try {
			while (true) {
				locked = tryLock(channel);
				if (locked) {
					return channel;
				}
				if (System.nanoTime() - start >= timeout.toNanos()) {
					return null;
				}
				Thread.sleep(50);
			}
		}
		finally {
			if (!locked) {
				channel.close();
			}
		}
	}

	private static boolean tryLock(FileChannel channel) throws IOException {
		try {
			return channel.tryLock() != null;
		}
		catch (OverlappingFileLockException ex) {
			// Held by this process
			return false;
		}
	}

}
