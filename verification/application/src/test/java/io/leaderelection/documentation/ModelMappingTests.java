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

package io.leaderelection.documentation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The tables that map the actions of the models to the code: they name methods that
 * exist, and each transition of a leader.
 */
@Tag("ring1")
class ModelMappingTests {

	private static final Path PROJECT = Path.of("..", "..").toAbsolutePath().normalize();

	private static final Pattern TABLE = Pattern.compile("(?m)^\\| action \\| code .*\\n(\\|.*\\n)+");

	private static final Pattern METHOD = Pattern.compile("`([A-Z]\\w+)\\.(\\w+)`");

	/** What changes nothing in the models. */
	private static final Set<String> NOT_MODELLED = Set.of("begin", "end", "block", "interrupt", "handedOver",
			"suspend", "suspendTerm", "suspendForSpread", "resume", "follow", "observe", "contact", "request",
			"endRequest");

	@Test
	void methodsExist() throws IOException {
		Set<String> missing = new TreeSet<>();
		Matcher matcher = METHOD.matcher(rows());
		int found = 0;
		while (matcher.find()) {
			found++;
			if (!source(matcher.group(1)).matches("(?s).*\\b" + matcher.group(2) + "\\b(\\(| = ).*")) {
				missing.add(matcher.group());
			}
		}
		assertThat(found).isGreaterThan(40);
		assertThat(missing).isEmpty();
	}

	@Test
	void transitionsOfALeaderAreActions() throws IOException {
		String rows = rows();
		Matcher matcher = Pattern.compile("(?m)^\\tElectionState (\\w+)\\(").matcher(source("Transitions"));
		Set<String> unmapped = new TreeSet<>();
		while (matcher.find()) {
			if (!NOT_MODELLED.contains(matcher.group(1)) && !rows.contains("`Transitions." + matcher.group(1) + "`")) {
				unmapped.add(matcher.group(1));
			}
		}
		assertThat(unmapped).isEmpty();
	}

	private static String rows() throws IOException {
		StringBuilder rows = new StringBuilder();
		TABLE.matcher(Files.readString(PROJECT.resolve("verification/model/ACTIONS.md")))
			.results()
			.forEach((row) -> rows.append(row.group()).append('\n'));
		return rows.toString();
	}

	private static String source(String type) throws IOException {
		try (Stream<Path> modules = Files.list(PROJECT)) {
			return modules.map((module) -> module.resolve("src/main/java"))
				.filter(Files::isDirectory)
				.map((folder) -> find(folder, type + ".java"))
				.filter((text) -> !text.isEmpty())
				.findFirst()
				.orElse("");
		}
	}

	private static String find(Path folder, String name) {
		try (Stream<Path> files = Files.walk(folder)) {
			Path file = files.filter((each) -> each.getFileName().toString().equals(name)).findFirst().orElse(null);
			return (file != null) ? Files.readString(file) : "";
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
