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
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.List;

import io.leaderelection.compatibility.Git.Answer;
import org.junit.jupiter.api.Assumptions;

/**
 * The revision whose library runs beside the present one: the one that the option
 * {@code compatibility.earlier} names, or the last release. Until there is one, it is the
 * revision before the last change of the library.
 *
 * @param name its tag or abbreviated hash
 */
record EarlierRevision(String name) {

	private static final String OPTION = "compatibility.earlier";

	/**
	 * Find the revision. Aborts the test if there is no history.
	 */
	static EarlierRevision find() {
		String option = System.getProperty(OPTION);
		if (option != null) {
			return of(option);
		}
		Answer release = Git.run("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^");
		return release.succeeded() ? of(release.text()) : of(beforeLastChange());
	}

	private static String beforeLastChange() {
		if (!existing(Library.SOURCES, "status", "--porcelain", "--").isEmpty()) {
			return "HEAD";
		}
		return existing(Library.SOURCES, "rev-list", "-1", "--first-parent", "HEAD", "--") + "^";
	}

	private static EarlierRevision of(String revision) {
		String commit = existing("rev-parse", "--verify", revision + "^{commit}");
		return new EarlierRevision(Git.run("describe", "--tags", "--always", commit).required());
	}

	/**
	 * Build the library of this revision.
	 * @throws IllegalStateException if it does not compile
	 */
	Library build(Path directory) throws IOException {
		Path archive = directory.resolve("earlier.zip").toAbsolutePath();
		List<String> folders = Git.run(Library.SOURCES, "ls-tree", "-d", "--name-only", this.name)
			.required()
			.lines()
			.toList();
		Git.run(folders, "archive", "--format=zip", "--output=" + archive, this.name).required();
		Path sources = directory.resolve("sources");
		try (FileSystem files = FileSystems.newFileSystem(archive)) {
			for (String folder : folders) {
				Library.copy(files.getPath("/", folder), sources);
			}
		}
		try {
			return Library.build(sources, directory.resolve("classes"));
		}
		catch (IllegalStateException ex) {
			throw new IllegalStateException("Revision " + this.name + ": " + ex.getMessage(), ex);
		}
	}

	/**
	 * Return what Git prints. Aborts the test if it fails: without Git or without
	 * history, there is nothing earlier to test with.
	 */
	private static String existing(String... arguments) {
		return existing(List.of(), arguments);
	}

	private static String existing(List<String> paths, String... arguments) {
		Answer answer = Git.run(paths, arguments);
		Assumptions.assumeTrue(answer.succeeded() || System.getProperty(OPTION) != null,
				() -> "There is no earlier revision of the library to test with. " + answer);
		return answer.required();
	}

}
