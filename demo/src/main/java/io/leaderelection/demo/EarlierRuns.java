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
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import java.util.stream.Stream;

/**
 * Removes what runs of the demo have left that were killed together with everything that
 * cleans up after them. Runs that live are left alone.
 */
final class EarlierRuns {

	/** How long a run may take to note its first process. */
	private static final Duration BEGINNING = Duration.ofSeconds(30);

	private EarlierRuns() {
	}

	static void remove(RunDirectory own, Consumer<String> console) throws IOException {
		for (RunDirectory run : others(own.path())) {
			try {
				removeUnlessAlive(run, console);
			}
			catch (NoSuchFileException ex) {
				// Removed by itself meanwhile
			}
		}
	}

	private static List<RunDirectory> others(Path own) throws IOException {
		// Everybody may write to the directory for temporary files
		List<RunDirectory> others = new ArrayList<>();
		try (Stream<Path> paths = Files.list(own.getParent())) {
			for (Path other : paths.filter((path) -> path.getFileName().toString().startsWith(RunDirectory.PREFIX))
				.toList()) {
				if (!other.equals(own) && isOfSameUser(other, own)) {
					others.add(new RunDirectory(other));
				}
			}
		}
		return others;
	}

	private static boolean isOfSameUser(Path other, Path own) throws IOException {
		try {
			return Files.isDirectory(other, LinkOption.NOFOLLOW_LINKS)
					&& Files.getOwner(other).equals(Files.getOwner(own));
		}
		catch (NoSuchFileException ex) {
			// Removed by itself meanwhile
			return false;
		}
	}

	private static void removeUnlessAlive(RunDirectory run, Consumer<String> console) throws IOException {
		List<ChildProcess> living = run.living();
		boolean begins = Files.getLastModifiedTime(run.path()).toInstant().plus(BEGINNING).isAfter(Instant.now());
		if (isAlive(living, RunDirectory.LAUNCHER) || (begins && !run.hasStarted())) {
			return;
		}
		// Cleans up by itself, as its launcher is gone
		for (ChildProcess process : living) {
			if (process.name().equals(RunDirectory.POSTGRES) && process.awaitExit(15)) {
				living = run.living();
			}
		}
		if (!Files.exists(run.path())) {
			return;
		}
		living.forEach(ChildProcess::kill);
		Optional<ChildProcess> postmaster = run.postmaster();
		postmaster.ifPresent(ChildProcess::kill);
		run.delete();
		console.accept("Cleaned up after an earlier run that was killed: ended "
				+ (living.size() + (postmaster.isPresent() ? 1 : 0)) + " processes, removed " + run.path());
	}

	private static boolean isAlive(List<ChildProcess> living, String name) {
		return living.stream().anyMatch((process) -> process.name().equals(name));
	}

}
