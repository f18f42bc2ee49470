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
import java.util.List;
import java.util.stream.Stream;

import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;

import io.leaderelection.documentation.Markdown.CodeBlock;
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
 * Tests that what the README refers to is there. {@link ReadmeExamplesTests} and
 * {@link ReadmeConfigurationTests} are about what it says of Java and of properties.
 */
class ReadmeTests {

	private static final Path ROOT = Path.of("..", "..");

	private final Markdown readme = Markdown.readme();

	@Test
	void blocksAreInLanguagesThatAreTested() {
		assertThat(this.readme.languages()).containsExactlyInAnyOrder("", "java", "json", "kotlin", "shell", "xml",
				"yaml");
	}

	@Test
	void linksLeadSomewhere() {
		assertThat(this.readme.links()).hasSizeGreaterThan(20);
		assertThat(broken(this.readme)).isEmpty();
	}

	@Test
	void brokenLinksAreFound() {
		Markdown document = Markdown.of("""
				# What it does, and *not*
				## `@LeaderOnly`
				[a](#what-it-does-and-not) [b](#leaderonly) [c](#leader-only) [d](LICENSE) [e](LICENCE)
				[f](sample-app/README.md#none) [g](https://example.com/none)
				""");
		assertThat(broken(document)).containsExactly("#leader-only", "LICENCE", "sample-app/README.md#none");
	}

	private static List<String> broken(Markdown document) {
		return document.links().stream().filter((link) -> isBroken(document, link)).toList();
	}

	private static boolean isBroken(Markdown document, String link) {
		if (link.startsWith("https://")) {
			return false;
		}
		String[] parts = link.split("#", 2);
		Path file = ROOT.resolve(parts[0]);
		if (!Files.exists(file)) {
			return true;
		}
		Markdown target = (parts.length == 1 || parts[0].isEmpty()) ? document : Markdown.of(file);
		return parts.length == 2 && !target.anchors().contains(parts[1]);
	}

	@ParameterizedTest
	@MethodSource
	void xmlIsWellFormedAndOfThisVersion(CodeBlock block) throws Exception {
		Element project = parse(Files.readString(ROOT.resolve("pom.xml")));
		Element example = parse(block.code());
		if (text(example, "groupId").equals(text(project, "groupId"))) {
			assertThat(text(example, "version")).isEqualTo(text(project, "version"));
			assertThat(ROOT.resolve(text(example, "artifactId"))).isDirectory();
		}
	}

	static List<CodeBlock> xmlIsWellFormedAndOfThisVersion() {
		return Markdown.readme().blocks("xml");
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
		return Markdown.readme().blocks("json");
	}

	@Test
	void jsonThatIsNotAnsweredIsFound() {
		assertThatExceptionOfType(JacksonException.class)
			.isThrownBy(() -> DocumentedJson.objects("{ \"a\": 1 } { \"b\": 2, }"));
		assertThat(DocumentedJson.objects("""
				{ "status": "requested" }
				{ "status": "refused", "because": "no" }
				{ "role": "leader", "standing": true, "workInFlight": 1 }
				{ "role": "leader", "standing": 1.5 }
				""")).extracting((object) -> DocumentedJson.notAnswered(object).isEmpty())
			.containsExactly(true, false, true, false);
	}

	@ParameterizedTest
	@MethodSource
	void kotlinIsPartOfWhatIsCompiled(CodeBlock block) throws Exception {
		try (Stream<Path> sources = Files.walk(ROOT.resolve("tests/kotlin/src/test/kotlin"))) {
			assertThat(sources.filter((source) -> source.toString().endsWith(".kt"))
				.map(ReadmeTests::withoutIndentation)
				.filter((source) -> source.contains(block.code().replaceAll("(?m)^\t+", "")))).isNotEmpty();
		}
	}

	static List<CodeBlock> kotlinIsPartOfWhatIsCompiled() {
		return Markdown.readme().blocks("kotlin");
	}

	private static String withoutIndentation(Path source) {
		try {
			return Files.readString(source).replaceAll("(?m)^\t+", "");
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

}
