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
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;

import io.leaderelection.documentation.Markdown.CodeBlock;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.InputSource;
import org.xml.sax.SAXException;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.JsonNode;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests that what the documents refer to is there. {@link ReadmeExamplesTests} and
 * {@link ReadmeConfigurationTests} are about what they say of Java and of properties.
 */
@Tag("ring1")
class ReadmeTests {

	private static final Pattern SOURCE = Pattern.compile("leader-election-\\w+/src/main/java/.*\\.java");

	private static final Path ROOT = Markdown.ROOT;

	private static final List<Markdown> documents = Markdown.all();

	@Test
	void readmeIsShort() {
		assertThat(Markdown.of(Path.of("README.md")).length()).isBetween(100, 180);
	}

	@Test
	void blocksAreInLanguagesThatAreTested() {
		assertThat(documents.stream().flatMap((document) -> document.languages().stream()).distinct())
			.containsExactlyInAnyOrder("", "java", "json", "kotlin", "shell", "sql", "xml", "yaml");
	}

	@ParameterizedTest
	@MethodSource
	void linksLeadSomewhere(Markdown document) {
		assertThat(broken(document)).isEmpty();
	}

	static List<Markdown> linksLeadSomewhere() {
		return documents;
	}

	@Test
	void everyDocumentIsLinked() {
		Set<Path> linked = new HashSet<>(Set.of(ROOT.resolve("README.md")));
		documents.forEach((document) -> document.links().forEach((link) -> linked.add(document.resolve(link))));
		assertThat(documents.stream().filter((document) -> !linked.contains(document.file()))).isEmpty();
	}

	@Test
	void tablesAreShownAsTables() {
		assertThat(documents.stream().flatMap((document) -> document.brokenTables().stream())).isEmpty();
		assertThat(Markdown.of("""
				| no line |

				| two lines | |
				|---|---|
				|---|---|

				| short row | |
				|---|---|
				| a |

				| right | `a \\| b` |
				|---|---|
				| a | |
				""").brokenTables()).containsExactly("| no line |", "| two lines | |", "| short row | |");
	}

	@Test
	void vulnerabilitiesAreReportedInTheRepositoryOfThePom() {
		String url = read(ROOT.resolve("pom.xml")).replaceAll("(?s).*?<url>(.*?)</url>.*", "$1");
		assertThat(read(ROOT.resolve(".github/ISSUE_TEMPLATE/config.yml")))
			.contains("url: " + url + "/security/advisories/new\n");
	}

	@Test
	void brokenLinksAreFound() {
		Markdown document = Markdown.of("""
				# What it does, and *not*
				## `@LeaderOnly`
				[a](#what-it-does-and-not) [b](#leaderonly) [c](#leader-only) [d](LICENSE) [e](LICENCE)
				[f](docs/README.md#none) [g](https://example.com/none) [h](docs/guide#none)
				""");
		assertThat(broken(document)).containsExactly("#leader-only", "LICENCE", "docs/README.md#none",
				"docs/guide#none");
	}

	private static List<String> broken(Markdown document) {
		return document.links().stream().filter((link) -> isBroken(document, link)).toList();
	}

	private static boolean isBroken(Markdown document, String link) {
		if (link.startsWith("https://") || link.startsWith("http://localhost:")) {
			return false;
		}
		Path file = document.resolve(link);
		int anchor = link.indexOf('#');
		if (anchor < 0) {
			return !Files.exists(file);
		}
		if (anchor > 0 && !Files.isRegularFile(file)) {
			return true;
		}
		Markdown target = (anchor == 0) ? document : Markdown.of(file);
		return !target.anchors().contains(link.substring(anchor + 1));
	}

	@Test
	void logMessagesAreLogged() throws IOException {
		assertThat(notLogged(Markdown.of(Path.of("docs", "reference", "log-messages.md")))).isEmpty();
	}

	@Test
	void logMessagesThatAreNotLoggedAreFound() throws IOException {
		Markdown document = Markdown.of("""
				| message | meaning |
				|---|---|
				| `Won term … but an earlier term has not ended`, `Won term … and leads nobody` | |
				""");
		assertThat(notLogged(document)).containsExactly(" and leads nobody");
	}

	/**
	 * The parts of the documented messages that are in no string of the main sources.
	 */
	private static List<String> notLogged(Markdown document) throws IOException {
		List<String> parts = document.rows("message")
			.stream()
			.flatMap((row) -> Pattern.compile("`([^`]+)`").matcher(row.get(0)).results())
			.flatMap((message) -> Stream.of(message.group(1).split("…")))
			.filter((part) -> !part.isEmpty())
			.toList();
		assertThat(parts).isNotEmpty();
		try (Stream<Path> files = Files.walk(ROOT)) {
			String sources = files.filter((file) -> SOURCE.matcher(ROOT.relativize(file).toString()).matches())
				.map((file) -> read(file).replaceAll("\"\\s*\\+\\s*\"", ""))
				.collect(Collectors.joining("\n"));
			return parts.stream().filter((part) -> !sources.contains(part)).toList();
		}
	}

	@ParameterizedTest
	@MethodSource
	void xmlIsWellFormedAndOfThisVersion(CodeBlock block) throws Exception {
		Element project = parse(Files.readString(ROOT.resolve("pom.xml")));
		Element example = parse(block.code());
		if (text(example, "groupId").equals(text(project, "groupId"))) {
			assertThat(text(example, "version")).isEqualTo(text(project, "revision"));
			assertThat(ROOT.resolve(text(example, "artifactId"))).isDirectory();
		}
	}

	static List<CodeBlock> xmlIsWellFormedAndOfThisVersion() {
		return Markdown.allBlocks("xml");
	}

	@Test
	void xmlThatIsNotWellFormedIsFound() {
		assertThatExceptionOfType(SAXException.class).isThrownBy(() -> parse("<a><b></a>"));
	}

	private static Element parse(String xml) throws Exception {
		DocumentBuilder builder = DocumentBuilderFactory.newInstance().newDocumentBuilder();
		builder.setErrorHandler(null);
		return builder.parse(new InputSource(new StringReader(xml))).getDocumentElement();
	}

	private static String text(Element element, String child) {
		NodeList children = element.getElementsByTagName(child);
		return (children.getLength() > 0) ? children.item(0).getTextContent() : "";
	}

	@ParameterizedTest
	@MethodSource
	void jsonIsAnswered(CodeBlock block) {
		List<JsonNode> objects = DocumentedJson.objects(block.code());
		assertThat(objects).isNotEmpty().allMatch((object) -> object.isObject() && !object.isEmpty());
		// Health is compared with that of an application
		assertThat(objects.stream().filter((object) -> !object.has("leadership")))
			.extracting(DocumentedJson::notAnswered)
			.allMatch(String::isEmpty);
	}

	static List<CodeBlock> jsonIsAnswered() {
		return Markdown.allBlocks("json");
	}

	@Test
	void jsonThatIsNotAnsweredIsFound() {
		assertThatExceptionOfType(JacksonException.class)
			.isThrownBy(() -> DocumentedJson.objects("{ \"a\": 1 } { \"b\": 2, }"));
		assertThat(DocumentedJson.objects("""
				{ "status": "requested" }
				{ "status": "refused", "because": "no" }
				{ "role": "leader", "candidate": true, "watching": false, "workInFlight": 1 }
				{ "role": "leader", "candidate": 1.5 }
				""")).extracting((object) -> DocumentedJson.notAnswered(object).isEmpty())
			.containsExactly(true, false, true, false);
	}

	@ParameterizedTest
	@MethodSource
	void kotlinIsPartOfWhatIsCompiled(CodeBlock block) throws Exception {
		try (Stream<Path> sources = Files.walk(ROOT.resolve("verification/kotlin/src/test/kotlin"))) {
			assertThat(sources.filter((source) -> source.toString().endsWith(".kt"))
				.map(ReadmeTests::withoutIndentation)
				.filter((source) -> source.contains(block.code().replaceAll("(?m)^\t+", "")))).isNotEmpty();
		}
	}

	static List<CodeBlock> kotlinIsPartOfWhatIsCompiled() {
		return Markdown.allBlocks("kotlin");
	}

	private static String withoutIndentation(Path source) {
		return read(source).replaceAll("(?m)^\t+", "");
	}

	static String read(Path file) {
		try {
			return Files.readString(file);
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
