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

import java.util.stream.Stream;

import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * All faults of the table, on each topology that they apply to. Its nodes are started for
 * the first of them. {@code -Dsuite.fault} selects those with a text in their name.
 */
@ParameterizedClass(name = "{0}")
@EnumSource
@TestMethodOrder(MethodOrderer.MethodName.class)
@Tag("ring1")
class FaultTests {

	private static FaultRuns runs;

	@Parameter
	private Topology topology;

	@AfterParameterizedClassInvocation
	static void stopNodes() {
		if (runs != null) {
			FaultRuns started = runs;
			runs = null;
			started.close();
		}
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

	private Stream<DynamicTest> faults(int ring) {
		return FaultTable.all()
			.stream()
			.filter((fault) -> this.topology.isChosen() && fault.rings.getOrDefault(this.topology, 0) == ring)
			.map((fault) -> DynamicTest.dynamicTest(fault.name, () -> run(fault)));
	}

	private void run(Fault fault) {
		if (runs == null) {
			runs = this.topology.start();
		}
		runs.run(fault);
	}

}
