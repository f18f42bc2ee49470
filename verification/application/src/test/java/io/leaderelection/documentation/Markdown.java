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
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A document in Markdown: its fenced code blocks, and its text without them, line by
 * line.
 */
public final class Markdown {

	/**
	 * The root of the repository: the directory with {@code .mvn} in it.
	 */
	public static final Path ROOT = Stream.iterate(Path.of("").toAbsolutePath(), Path::getParent)
		.filter((directory) -> Files.exists(directory.resolve(".mvn")))
		.findFirst()
		.orElseThrow();

	private static final Pattern FENCE = Pattern.compile("( *)```(\\w*)");

	private static final Pattern HEADING = Pattern.compile("#+ (.+)");

	private static final Pattern LINK = Pattern.compile("]\\(([^)\\s]+)\\)");

	private static final Pattern TABLE = Pattern.compile("(?m)^ *\\|.*(\\R *\\|.*)*");

	private static final String DELIMITER = " *(\\|-+)+\\|";

	private static final Pattern CODE = Pattern.compile("`([^`]+)`");

	private final List<CodeBlock> blocks = new ArrayList<>();

	private final List<String> text = new ArrayList<>();

	private final Path file;

	private final int length;

	private Markdown(Path file, List<String> lines) {
		this.file = file;
		this.length = lines.size();
		for (int i = 0; i < lines.size(); i++) {
			Matcher fence = FENCE.matcher(lines.get(i));
			if (!fence.matches()) {
				this.text.add(lines.get(i));
				continue;
			}
			int begin = i + 1;
			do {
				i++;
				if (i == lines.size()) {
					throw new IllegalArgumentException("The block that begins in line " + begin + " does not end");
				}
			}
			while (!lines.get(i).equals(fence.group(1) + "```"));
			String code = String.join("\n",
					lines.subList(begin, i).stream().map((line) -> unindent(line, fence.group(1).length())).toList());
			this.blocks.add(new CodeBlock(name(), fence.group(2), begin + 1, code));
		}
	}

	static Markdown of(String text) {
		return new Markdown(ROOT.resolve("text.md"), text.lines().toList());
	}

	/**
	 * The document with a path from the root of the repository.
	 */
	public static Markdown of(Path file) {
		try {
			return new Markdown(ROOT.resolve(file), Files.readString(ROOT.resolve(file)).lines().toList());
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * All documents of the repository, apart from those beside sources.
	 */
	static List<Markdown> all() {
		return files("src|target", ".*\\.md").stream().map(Markdown::of).toList();
	}

	/**
	 * The files of the repository with a name that matches, outside of hidden directories
	 * and of those that are left out.
	 */
	static Set<Path> files(String omitted, String name) {
		Set<Path> files = new TreeSet<>();
		try {
			Files.walkFileTree(ROOT, new SimpleFileVisitor<>() {

				@Override
				public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes) {
					String last = directory.getFileName().toString();
					return (!directory.equals(ROOT) && last.matches("\\..*|" + omitted)) ? FileVisitResult.SKIP_SUBTREE
							: FileVisitResult.CONTINUE;
				}

				@Override
				public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
					if (file.getFileName().toString().matches(name)) {
						files.add(file);
					}
					return FileVisitResult.CONTINUE;
				}

			});
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		return files;
	}

	/**
	 * The code blocks of all documents in a language.
	 */
	static List<CodeBlock> allBlocks(String language) {
		return all().stream().flatMap((document) -> document.blocks(language).stream()).toList();
	}

	private static String unindent(String line, int indent) {
		int i = 0;
		while (i < indent && i < line.length() && line.charAt(i) == ' ') {
			i++;
		}
		return line.substring(i);
	}

	/**
	 * The path from the root of the repository.
	 */
	String name() {
		return ROOT.relativize(this.file).toString().replace('\\', '/');
	}

	@Override
	public String toString() {
		return name();
	}

	Path file() {
		return this.file;
	}

	/**
	 * The number of lines.
	 */
	int length() {
		return this.length;
	}

	public List<CodeBlock> blocks(String language) {
		return this.blocks.stream().filter((block) -> block.language().equals(language)).toList();
	}

	/**
	 * The code of the first block in a language that has the given part.
	 */
	String code(String language, String part) {
		return blocks(language).stream()
			.map(CodeBlock::code)
			.filter((code) -> code.contains(part))
			.findFirst()
			.orElseThrow();
	}

	Set<String> languages() {
		Set<String> languages = new TreeSet<>();
		this.blocks.forEach((block) -> languages.add(block.language()));
		return languages;
	}

	/**
	 * The targets of all links.
	 */
	Set<String> links() {
		return found(LINK);
	}

	/**
	 * The file that a link leads to.
	 */
	Path resolve(String link) {
		String path = link.split("#", 2)[0];
		return path.isEmpty() ? this.file : this.file.resolveSibling(path).normalize();
	}

	/**
	 * The headings of tables that GitHub does not show as tables: those without a line
	 * below the heading, with more than one such line, or with rows of different lengths.
	 */
	List<String> brokenTables() {
		return TABLE.matcher(String.join("\n", this.text)).results().map(MatchResult::group).filter((table) -> {
			List<String> rows = table.lines().toList();
			return rows.stream().filter((row) -> row.matches(DELIMITER)).count() != 1 || !rows.get(1).matches(DELIMITER)
					|| rows.stream().map((row) -> row.split("(?<!\\\\)\\|", -1).length).distinct().count() != 1;
		}).map((table) -> table.lines().findFirst().orElseThrow()).toList();
	}

	/**
	 * What is set as code within the text.
	 */
	Set<String> code() {
		return found(CODE);
	}

	/**
	 * The anchors that GitHub gives the headings.
	 */
	Set<String> anchors() {
		Set<String> anchors = new TreeSet<>();
		for (String line : this.text) {
			Matcher heading = HEADING.matcher(line);
			if (heading.matches()) {
				anchors.add(heading.group(1)
					.toLowerCase(Locale.ROOT)
					.replaceAll("[^\\p{L}\\p{N}\\s_-]", "")
					.replace(' ', '-'));
			}
		}
		return anchors;
	}

	/**
	 * The rows of all tables whose first column has the given heading.
	 */
	List<List<String>> rows(String firstColumn) {
		List<List<String>> rows = new ArrayList<>();
		boolean within = false;
		for (String line : this.text) {
			List<String> cells = line.startsWith("|") ? cells(line) : List.of();
			if (cells.isEmpty() || cells.get(0).matches("-+")) {
				within = within && !cells.isEmpty();
			}
			else if (within) {
				rows.add(cells);
			}
			else {
				within = cells.get(0).equals(firstColumn);
			}
		}
		return rows;
	}

	private static List<String> cells(String line) {
		return Stream.of(line.substring(1).split("\\|")).map(String::trim).toList();
	}

	private Set<String> found(Pattern pattern) {
		Set<String> found = new TreeSet<>();
		pattern.matcher(String.join("\n", this.text)).results().forEach((result) -> found.add(result.group(1)));
		return found;
	}

	/**
	 * A fenced code block.
	 *
	 * @param document the path of its document
	 * @param language what the fence says, empty if nothing
	 * @param line the number of its first line of code
	 * @param code the code
	 */
	public record CodeBlock(String document, String language, int line, String code) {

		@Override
		public String toString() {
			return this.document + ", line " + this.line + ": " + this.code.lines().findFirst().orElse("");
		}

	}

}
