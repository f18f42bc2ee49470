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

package io.leaderelection.faults;

import java.util.List;
import java.util.stream.Stream;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestMethodOrder;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * All faults of the table, on each topology with advisory locks that they apply to. Its
 * nodes are started for the first of them. {@code -Dsuite.fault} selects those with a
 * text in their name.
 */
@TestMethodOrder(MethodOrderer.MethodName.class)
@Tag("ring1")
class FaultTests {

	private static @Nullable FaultRuns runs;

	private static @Nullable Topology topology;

	@AfterAll
	static void stopNodes() {
		FaultRuns started = runs;
		runs = null;
		if (started != null) {
			started.close();
		}
	}

	/**
	 * A fault without a ring would never run, and two of one name could not be selected.
	 */
	@Test
	void eachFaultIsSelected() {
		List<Fault> faults = FaultTable.all();
		assertThat(faults).isNotEmpty().allMatch((fault) -> !fault.rings.isEmpty());
		assertThat(faults).extracting((fault) -> fault.name).doesNotHaveDuplicates();
	}

	/**
	 * One failover of each kind.
	 */
	@TestFactory
	Stream<DynamicTest> failovers() {
		return faults(1);
	}

	/**
	 * Each kind of fault, on each store.
	 */
	@TestFactory
	@Tag("ring2")
	Stream<DynamicTest> faults() {
		return faults(2);
	}

	@TestFactory
	@Tag("ring3")
	Stream<DynamicTest> otherFaults() {
		return faults(3);
	}

	/**
	 * Whether this class has the faults of a topology: so two processes share them.
	 */
	boolean includes(Topology each) {
		return !each.isTable() && !Cluster.TABLE.equals(System.getProperty(Cluster.STORE));
	}

	private Stream<DynamicTest> faults(int ring) {
		return Stream.of(Topology.values())
			.filter(this::includes)
			.flatMap((each) -> FaultTable.all()
				.stream()
				.filter((fault) -> fault.rings.getOrDefault(each, 0) == ring)
				.map((fault) -> DynamicTest.dynamicTest(each + ": " + fault.name, () -> run(each, fault))));
	}

	private static void run(Topology wanted, Fault fault) {
		if (topology != wanted) {
			stopNodes();
			topology = wanted;
			runs = wanted.start();
		}
		FaultRuns started = runs;
		assertThat(started).as("The nodes of %s have started", wanted).isNotNull();
		started.run(fault);
	}

}
