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

package io.leaderelection.release;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;

import org.w3c.dom.Element;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/**
 * The files of the bundle, by their names.
 *
 * @param files the files
 */
record Bundle(Map<String, byte[]> files) {

	/** What the release has. */
	static final String VERSION = System.getProperty("release.version");

	private static final String FOLDER = "io/leaderelection/";

	/**
	 * Read the bundle that this build has left.
	 */
	static Bundle read() throws IOException {
		Map<String, byte[]> files = new TreeMap<>();
		try (ZipFile bundle = new ZipFile(Path.of(System.getProperty("release.bundle")).toFile())) {
			for (ZipEntry entry : bundle.stream().filter((each) -> !each.isDirectory()).toList()) {
				try (InputStream content = bundle.getInputStream(entry)) {
					files.put(entry.getName(), content.readAllBytes());
				}
			}
		}
		return new Bundle(files);
	}

	/**
	 * Return the names of the files of an artifact, without what only proves them.
	 */
	static Stream<String> names(String artifact, String... suffixes) {
		String prefix = FOLDER + artifact + "/" + VERSION + "/" + artifact + "-" + VERSION;
		return Stream.of(suffixes).map(prefix::concat);
	}

	/**
	 * Return the names of all files that are neither a checksum nor a signature.
	 */
	Stream<String> names() {
		return this.files.keySet().stream().filter((name) -> !name.matches(".*\\.(md5|sha1|sha256|sha512|asc)"));
	}

	byte[] content(String name) {
		byte[] content = this.files.get(name);
		if (content == null) {
			throw new AssertionError("There is no " + name);
		}
		return content;
	}

	/**
	 * Return the POMs by the names of their artifacts.
	 */
	Map<String, Element> poms() {
		return names().filter((name) -> name.endsWith(".pom"))
			.collect(Collectors.toMap((name) -> name.substring(FOLDER.length(), name.indexOf('/', FOLDER.length())),
					(name) -> parse(content(name)), (first, second) -> second, TreeMap::new));
	}

	private static Element parse(byte[] xml) {
		try {
			return DocumentBuilderFactory.newInstance()
				.newDocumentBuilder()
				.parse(new ByteArrayInputStream(xml))
				.getDocumentElement();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
		catch (SAXException | ParserConfigurationException ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Return the elements at a path of direct children.
	 */
	static Stream<Element> elements(Element parent, String path) {
		Stream<Element> elements = Stream.of(parent);
		for (String name : path.split("/")) {
			elements = elements
				.flatMap((element) -> children(element).filter((child) -> child.getTagName().equals(name)));
		}
		return elements;
	}

	/**
	 * Return the texts at a path of direct children.
	 */
	static Stream<String> texts(Element parent, String path) {
		return elements(parent, path).map((element) -> element.getTextContent().trim());
	}

	private static Stream<Element> children(Element parent) {
		NodeList nodes = parent.getChildNodes();
		return IntStream.range(0, nodes.getLength())
			.mapToObj(nodes::item)
			.filter(Element.class::isInstance)
			.map(Element.class::cast);
	}

}
