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

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import javax.xml.parsers.DocumentBuilderFactory;

import io.leaderelection.testsupport.ClassPathProcess;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.pitest.mutationtest.commandline.MutationCoverageReport;
import org.w3c.dom.Element;
import org.w3c.dom.NodeList;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Changes of the byte code of classes that are pure, which PIT makes: those that no test
 * notices are exactly those of the list, with the reason. A further one needs a test, or
 * a reason. One that is noticed now is to be removed, so that a class only gets better. A
 * change is also noticed if a test does not end, as with PIT itself: it depends on the
 * order of the tests whether another one fails before.
 */
@Tag("ring3")
class MutationTests {

	private static final Path LIST = Markdown.ROOT.resolve("verification/mutations.txt");

	private static final Path DIRECTORY = Path.of("target", "mutations").toAbsolutePath();

	private static final Duration LIMIT = Duration.ofHours(1);

	@Test
	void onlyTheListedChangesAreNotNoticed() throws Exception {
		List<String> unnoticed = new ArrayList<>();
		unnoticed.addAll(run("core",
				"io.leaderelection.engine.Transitions,io.leaderelection.engine.ElectionState,"
						+ "io.leaderelection.engine.SessionNames,io.leaderelection.spread.SpreadPolicy,"
						+ "io.leaderelection.spread.Overview",
				"io.leaderelection.engine.TransitionsTests,io.leaderelection.engine.Election*Tests,"
						+ "io.leaderelection.engine.SessionNamesTests,io.leaderelection.spread.SpreadPolicyTests"));
		unnoticed.addAll(run("postgresql",
				"io.leaderelection.postgresql.table.LeaseExpiry,io.leaderelection.postgresql.advisory.SlowTakeover",
				"io.leaderelection.postgresql.table.LeaseExpiryTests,"
						+ "io.leaderelection.postgresql.advisory.SlowTakeoverTests"));
		unnoticed.addAll(run("schedule", "io.leaderelection.schedule.FireTimes,io.leaderelection.schedule.JobRecord",
				"io.leaderelection.schedule.FireTimesTests,io.leaderelection.schedule.JobRecordTests"));
		unnoticed.addAll(run("autoconfigure", "io.leaderelection.autoconfigure.ElectionDefinitions",
				"io.leaderelection.autoconfigure.ElectionDefinitionsTests"));
		List<String> lines = ReadmeTests.read(LIST).lines().filter((line) -> !line.startsWith("#")).toList();
		assertThat(lines).as("with reasons").allMatch((line) -> line.matches(".+ \\| .+"));
		List<String> listed = lines.stream().map((line) -> line.replaceFirst(" \\|.*", "")).toList();
		assertThat(unnoticed).containsExactlyInAnyOrderElementsOf(listed);
	}

	/**
	 * Change the classes of a module, print how many changes are noticed, and return the
	 * others.
	 */
	private static List<String> run(String module, String classes, String tests) throws Exception {
		Path target = Markdown.ROOT.resolve("leader-election-" + module + "/target").toAbsolutePath();
		Path directory = DIRECTORY.resolve(module);
		ClassPathProcess changed = ClassPathProcess.run(target.resolve("classes"),
				MutationCoverageReport.class.getName(),
				List.of("--classPath", target.resolve("test-classes").toString(), "--mutableCodePaths",
						target.resolve("classes").toString(), "--sourceDirs",
						target.resolveSibling("src/main/java").toString(), "--targetClasses",
						classes + "," + classes.replace(",", "$*,") + "$*", "--targetTests", tests, "--reportDir",
						directory.toString(), "--outputFormats", "XML", "--timestampedReports=false", "--timeoutConst",
						"30000"),
				directory, LIMIT);
		assertThat(changed.status()).as(changed.output()).isZero();
		Map<String, List<Mutation>> mutations = new TreeMap<>(
				mutations(directory.resolve("mutations.xml")).collect(Collectors.groupingBy(Mutation::type)));
		assertThat(mutations.keySet()).as("have changes").containsAll(Stream.of(classes.split(",")).toList());
		mutations.forEach((type, all) -> System.out.println(
				type + ": " + all.stream().filter(Mutation::noticed).count() + " of " + all.size() + " are noticed"));
		return mutations.values()
			.stream()
			.flatMap(List::stream)
			.filter((mutation) -> !mutation.noticed())
			.map(Mutation::text)
			.toList();
	}

	private static Stream<Mutation> mutations(Path report) throws Exception {
		NodeList elements = DocumentBuilderFactory.newInstance()
			.newDocumentBuilder()
			.parse(report.toFile())
			.getElementsByTagName("mutation");
		return Stream.iterate(0, (index) -> index < elements.getLength(), (index) -> index + 1)
			.map((index) -> Mutation.of((Element) elements.item(index)));
	}

	/**
	 * A change of the byte code of one method.
	 */
	private record Mutation(String type, String text, boolean noticed) {

		static Mutation of(Element element) {
			String type = text(element, "mutatedClass");
			String status = element.getAttribute("status");
			String text = type.replaceFirst("^.*\\.", "") + "." + text(element, "mutatedMethod") + ": "
					+ text(element, "description").replaceFirst(" for .*", "")
					+ (status.equals("SURVIVED") ? "" : ", " + status);
			return new Mutation(type, text.replaceAll("lambda\\$(\\w+)\\$\\d+", "$1"),
					Set.of("KILLED", "TIMED_OUT").contains(status));
		}

		private static String text(Element element, String name) {
			return element.getElementsByTagName(name).item(0).getTextContent();
		}

	}

}
