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
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

import org.junit.jupiter.api.Assumptions;

/**
 * The revision whose library runs beside the present one: the one that the option
 * {@code compatibility.earlier} names, or the last release. Until there is one, it is the
 * revision before the last change of the library.
 *
 * @param name its tag or abbreviated hash
 * @param required whether its library must compile. A revision that is neither a release
 * nor named by the option may be one that does not.
 */
record EarlierRevision(String name, boolean required) {

	private static final String OPTION = "compatibility.earlier";

	/**
	 * Find the revision. Aborts the test if there is no history.
	 */
	static EarlierRevision find() {
		String option = System.getProperty(OPTION);
		if (option != null) {
			return of(option, true);
		}
		Answer release = git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^");
		return release.succeeded() ? of(release.text(), true) : of(beforeLastChange(), false);
	}

	private static String beforeLastChange() {
		if (!succeeding("status", "--porcelain", "--", Library.SOURCES).isEmpty()) {
			return "HEAD";
		}
		return succeeding("rev-list", "-1", "--first-parent", "HEAD", "--", Library.SOURCES) + "^";
	}

	private static EarlierRevision of(String revision, boolean required) {
		String commit = succeeding("rev-parse", "--verify", revision + "^{commit}");
		return new EarlierRevision(succeeding("describe", "--tags", "--always", commit), required);
	}

	/**
	 * Build the library of this revision. Aborts the test if it does not compile and need
	 * not.
	 */
	Library build(Path directory) throws IOException {
		Path archive = directory.resolve("earlier.zip").toAbsolutePath();
		succeeding("archive", "--format=zip", "--output=" + archive, this.name, Library.SOURCES);
		Path sources = directory.resolve("sources");
		try (FileSystem files = FileSystems.newFileSystem(archive)) {
			Library.copy(files.getPath("/", Library.SOURCES), sources);
		}
		try {
			return Library.build(sources, directory.resolve("classes"));
		}
		catch (IllegalStateException ex) {
			Assumptions.assumeTrue(this.required, () -> "Revision " + this.name + ": " + ex.getMessage());
			throw ex;
		}
	}

	/**
	 * Return what git prints. Aborts the test if git fails: in sources without git or
	 * without history, there is nothing earlier to test with.
	 */
	private static String succeeding(String... arguments) {
		Answer answer = git(arguments);
		String failure = "git " + String.join(" ", arguments) + ": " + answer.text();
		Assumptions.assumeTrue(answer.succeeded() || System.getProperty(OPTION) != null,
				() -> "There is no earlier revision of the library to test with. " + failure);
		if (!answer.succeeded()) {
			throw new IllegalStateException(OPTION + ": " + failure);
		}
		return answer.text();
	}

	private static Answer git(String... arguments) {
		List<String> command = Stream
			.concat(Stream.of("git", "--no-optional-locks", "-C", Library.ROOT.toString()), Stream.of(arguments))
			.toList();
		try {
			Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
			String text = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).trim();
			return new Answer(process.waitFor() == 0, text);
		}
		catch (IOException ex) {
			return new Answer(false, String.valueOf(ex.getMessage()));
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	private record Answer(boolean succeeded, String text) {

	}

}
