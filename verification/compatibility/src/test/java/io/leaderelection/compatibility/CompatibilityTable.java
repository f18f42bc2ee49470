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
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The table of what has run. With {@code -Dcompatibility.write} it is written into the
 * document, if all combinations have passed.
 */
final class CompatibilityTable {

	static final Path DOCUMENT = Path.of("..", "..", "docs", "compatibility.md");

	private static final String BEGIN = "<!-- Written by the build: begin -->\n";

	private static final String END = "<!-- Written by the build: end -->\n";

	private static final List<String> HEADER = List.of(
			"| Spring Boot | Java | threads | application | store | PostgreSQL | result | date |",
			"|---|---|---|---|---|---|---|---|");

	private static final Pattern SOURCES = Pattern.compile("Sources of the library: trees `([\\w ]+)`");

	private final Map<Combination, Result> results = new LinkedHashMap<>();

	void add(Combination combination, String java, String result) {
		this.results.put(combination, new Result(java, result));
	}

	/**
	 * Write the table to {@code target}, and to the document if that is wanted.
	 */
	void write() throws IOException {
		LocalDate date = LocalDate.now(ZoneOffset.UTC);
		Stream<String> rows = Combination.ALL.stream()
			.filter(this.results::containsKey)
			.map((combination) -> row(combination, this.results.get(combination), date));
		String table = String.join("\n", Stream.concat(HEADER.stream(), rows).toList()) + "\n";
		Files.writeString(Path.of("target", "compatibility.md"), table);
		if (Boolean.getBoolean("compatibility.write")) {
			if (this.results.size() != Combination.ALL.size()
					|| !this.results.values().stream().allMatch((result) -> result.text().equals("passed"))) {
				throw new IllegalStateException("Not all combinations have passed: the document is not changed");
			}
			if (!Git.run(Library.TREES, "status", "--porcelain", "--").required().isEmpty()) {
				throw new IllegalStateException("The library has uncommitted changes: the document is not changed");
			}
			String document = Files.readString(DOCUMENT);
			Files.writeString(DOCUMENT,
					document.substring(0, begin(document)) + table + "\nSources of the library: trees `"
							+ Library.trees() + "`\n" + document.substring(end(document)));
		}
	}

	private static String row(Combination combination, Result result, LocalDate date) {
		return "| " + String.join(" | ", Versions.springBoot(combination.springBoot()), result.java(),
				combination.threads().toString(), combination.application().toString(), combination.store(),
				Versions.postgresql(combination.postgresql()), result.text(), date.toString()) + " |";
	}

	/**
	 * Return the rows of the document, as lists of cells.
	 */
	static List<List<String>> documented() throws IOException {
		String document = Files.readString(DOCUMENT);
		return document.substring(begin(document), end(document))
			.lines()
			.filter((line) -> line.startsWith("|"))
			.skip(HEADER.size())
			.map((row) -> Stream.of(row.split("\\|")).skip(1).map(String::trim).toList())
			.toList();
	}

	/**
	 * Return the Git trees of the sources with which the table of the document was
	 * written.
	 */
	static String documentedSources() throws IOException {
		Matcher sources = SOURCES.matcher(Files.readString(DOCUMENT));
		if (!sources.find()) {
			throw new IllegalStateException("There is no line " + SOURCES + " in " + DOCUMENT);
		}
		return sources.group(1);
	}

	private static int begin(String document) {
		return index(document, BEGIN) + BEGIN.length();
	}

	private static int end(String document) {
		return index(document, END);
	}

	private static int index(String document, String marker) {
		int index = document.indexOf(marker);
		if (index < 0) {
			throw new IllegalStateException("There is no line " + marker.trim() + " in " + DOCUMENT);
		}
		return index;
	}

	private record Result(String java, String text) {

	}

}
