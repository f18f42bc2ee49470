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

package io.leaderelection.model;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What decides whether an instance is checked again, without TLC.
 */
@Tag("ring2")
class CheckedInstancesTests {

	private static final SmallInstance LEASE = SmallInstance.LEASE;

	@Test
	void checksumChangesWithEachPartOfTheInput(@TempDir Path modules, @TempDir Path archives) throws Exception {
		Path module = Files.writeString(modules.resolve("Election.tla"), "a");
		Path archive = Files.writeString(archives.resolve("tlc.jar"), "1");
		List<String> options = ModelChecker.options(1);
		Instance lease = LEASE.instance();
		List<String> checksums = new ArrayList<>();
		for (Instance instance : List.of(lease, lease.with("Lease", "3"), lease.nodes(3), lease.property("G3_Terms"),
				new Instance("Election", 2, lease.constants(), List.of("G6_NoLeak"), lease.property()),
				new Instance("SeatsElection", 2, lease.constants(), lease.invariants(), lease.property()))) {
			checksums.add(CheckedInstances.checksum(modules, archive, options, instance));
		}
		checksums.add(CheckedInstances.checksum(modules, archive, ModelChecker.options(2), lease));
		Files.writeString(archive, "2");
		checksums.add(CheckedInstances.checksum(modules, archive, options, lease));
		Files.writeString(module, "b");
		checksums.add(CheckedInstances.checksum(modules, archive, options, lease));
		Path further = Files.writeString(modules.resolve("Liveness.tla"), "");
		checksums.add(CheckedInstances.checksum(modules, archive, options, lease));
		assertThat(checksums).doesNotHaveDuplicates();
		Files.delete(further);
		Files.writeString(module, "a");
		Files.writeString(archive, "1");
		assertThat(CheckedInstances.checksum(modules, archive, options, lease)).isEqualTo(checksums.get(0));
	}

	@Test
	void otherInputWasNotChecked() {
		List<String> lines = List.of("LEASE 1 2 ab", "SEATS 1 2 cd");
		assertThat(CheckedInstances.find(lines, LEASE, "ab")).containsExactly("LEASE 1 2 ab");
		assertThat(CheckedInstances.find(lines, LEASE, "b")).isEmpty();
		assertThat(CheckedInstances.find(lines, LEASE, "cd")).isEmpty();
		assertThat(CheckedInstances.find(lines, SmallInstance.FENCE, "ab")).isEmpty();
	}

	@Test
	void lineReplacesThatOfTheSameInstanceAndThoseOfNone() {
		assertThat(CheckedInstances.with(List.of("LEASE 1 2 ab", "NONE 1 2 cd", "SEATS 1 2 ef"), "FENCE 3 4 cd"))
			.containsExactly("FENCE 3 4 cd", "LEASE 1 2 ab", "SEATS 1 2 ef");
		assertThat(CheckedInstances.with(List.of("LEASE 1 2 ab", "SEATS 1 2 ef"), "SEATS 3 4 cd"))
			.containsExactly("LEASE 1 2 ab", "SEATS 3 4 cd");
	}

	@Test
	void fileHasOneLineForEachInstanceAtMost() throws IOException {
		List<String> lines = CheckedInstances.read();
		assertThat(lines).isSorted().allMatch((line) -> line.matches("[A-Z_]+ \\d+ \\d+ [0-9a-f]{64}"));
		assertThat(lines).extracting(CheckedInstances::name)
			.doesNotHaveDuplicates()
			.isSubsetOf(Stream.of(SmallInstance.values()).map(Enum::name).toList());
	}

	@Test
	void documentHasAllInstances() throws IOException {
		List<String> names = Pattern.compile("(?m)^\\| `(\\w+)`")
			.matcher(Files.readString(Path.of("INSTANCES.md")))
			.results()
			.map((MatchResult row) -> row.group(1))
			.toList();
		assertThat(names).containsExactlyInAnyOrderElementsOf(
				Stream.of(SmallInstance.values(), LargeInstance.values()).flatMap(Stream::of).map(Enum::name).toList());
	}

}
