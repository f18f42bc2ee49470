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

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/**
 * An instance of a model: what TLC is to check.
 *
 * @param module the module
 * @param nodes the number of nodes
 * @param constants the other constants of the module
 * @param invariants the invariants to check
 * @param property the property to check
 */
record Instance(String module, int nodes, Map<String, String> constants, List<String> invariants, String property) {

	/** Constants that a description does not name. */
	private static final Set<Map.Entry<String, String>> USUAL = Set.of(Map.entry("Causes", "FALSE"),
			Map.entry("HandOver", "TRUE"), Map.entry("Promoted", "FALSE"), Map.entry("Reopen", "TRUE"));

	/**
	 * Everything happens at any time. What holds here depends on no clock.
	 */
	static final Instance FENCE = of("Election", "G3_Terms", "G1_Fence", "G4_HandOver", "G4_WorkOfTerm", "G6_NoLeak")
		.with("Clocks", "FALSE")
		.with("MaxCrashes", "1");

	/**
	 * Work may pause at the gate beyond the end of its term. One node has all of this.
	 */
	static final Instance HAND_OVER = FENCE.nodes(1).with("LateWork", "TRUE");

	/** Leases and delays, without the work that they protect. */
	static final Instance LEASE = of("Election", "G3_Order", "G2_OneBeliever", "G2_Silence", "G6_NoLeak").with("Work",
			"FALSE");

	/** The server ends silent sessions only: there is no condition on nodes. */
	static final Instance SILENCE = of("Election", "G3_Order", "G2_OneBeliever").with("Work", "FALSE")
		.faults("SILENCE", "LOSS", "CRASH")
		.with("PromptNotice", "FALSE")
		.with("Delay", "0");

	/**
	 * A winner asks why the session of its predecessor has ended. Each of three nodes has
	 * one session. The server may end it at any time, so silence is not measured: the
	 * lease is 0.
	 */
	static final Instance CAUSE = of("Election", "G3_Order", "G2_OneBeliever", "G6_NoLeak").nodes(3)
		.faults("CRASH", "ENDED")
		.with("Work", "FALSE")
		.with("Causes", "TRUE")
		.with("Reopen", "FALSE")
		.with("HandOver", "FALSE")
		.with("Lease", "0")
		.with("Trust", "1");

	/** Nodes do what they can, except for faults. */
	static final Instance LIVENESS = of("Liveness", "G6_SomebodyLeads", "G6_CalmLeaderIsTrusted").with("MaxTerm", "2")
		.with("MaxCrashes", "1")
		.with("PromptNotice", "FALSE")
		.with("MaxFaults", "1");

	/** Winners ask why the session of their predecessor has ended. */
	static final Instance LIVENESS_WITH_CAUSE = LIVENESS.with("Causes", "TRUE")
		.with("Work", "FALSE")
		.with("MaxCrashes", "0");

	/** One seat and three nodes, so that one watches beside a leader and a standby. */
	static final Instance SEATS = new Instance("SeatsLiveness", 3, new TreeMap<>(), List.of("G7_Seats"), "G6_Seats")
		.with("None", "None")
		.with("Standbys", "1")
		.with("MaxFaults", "1")
		.mistake("NONE");

	/** The lease table, with everything at any time. */
	static final Instance NODE_FENCE = ofNode("NodeLease", "G3_Terms", "G1_Fence", "G4_HandOver").with("Clocks",
			"FALSE");

	/** One node, whose releases may take effect late. */
	static final Instance NODE_RELEASES = NODE_FENCE.nodes(1)
		.faults("LOSS", "LATE")
		.with("MaxSessions", "1")
		.with("MaxBeat", "6");

	/** The leases of the lease table, without the work that they protect. */
	static final Instance NODE_LEASE = ofNode("NodeLease", "G3_Order", "G2_OneBeliever").with("Work", "FALSE");

	/** The shortest lease, without faults, for mistakes. */
	static final Instance NODE_SHORT_LEASE = NODE_LEASE.faults().with("Lease", "1").with("Trust", "1");

	/** The shortest lease with a promotion. */
	static final Instance NODE_PROMOTION = NODE_SHORT_LEASE.with("MaxPromotions", "1").with("MaxSessions", "1");

	/** Two elections after a promotion, of which a former session owns one. */
	static final Instance NODE_PROMOTED = NODE_PROMOTION.elections(2)
		.with("Promoted", "TRUE")
		.with("MaxSessions", "2")
		.with("MaxBeat", "4");

	/**
	 * That session goes on by a mistake, and may take the other election.
	 */
	static final Instance NODE_PROMOTED_SESSION = NODE_PROMOTED.with("MaxSessions", "1");

	/** One token, which two processes have, so that nothing expires. */
	static final Instance NODE_CLONE = NODE_LEASE.faults("CLONE", "LOSS")
		.with("Clocks", "FALSE")
		.with("MaxSessions", "1")
		.with("MaxTerm", "3")
		.with("MaxBeat", "10");

	/** The takeover delay after a release that was not clean. */
	static final Instance NODE_DELAY = ofNode("NodeLease", "G3_Order", "G2_OneBeliever", "G4_TakeoverDelay").faults()
		.with("Lease", "1")
		.with("Trust", "1")
		.with("Delay", "1")
		.with("MaxSessions", "1");

	/** A node that was elected may leave before its grant. */
	static final Instance NODE_DELAY_OF_THREE_TERMS = NODE_DELAY.with("MaxTerm", "3").with("MaxBeat", "4");

	/** Without faults, terms end only if nodes leave. */
	static final Instance NODE_TERM = NODE_SHORT_LEASE.property("G6_TermIsKept");

	/** A node that stops deletes its row. */
	static final Instance NODE_END = ofNode("NodeLease", "G3_Terms", "G4_OwnerHasRow").nodes(1)
		.faults("LOSS", "LATE", "STOP")
		.with("Clocks", "FALSE")
		.with("Work", "FALSE")
		.with("MaxSessions", "1");

	/** The lease table, with nodes that do what they can, except for faults. */
	static final Instance NODE_LIVENESS = ofNode("NodeLiveness", "G6_SomebodyLeads").with("BeatsRepeat", "TRUE")
		.with("MaxSessions", "1")
		.with("Work", "FALSE")
		.with("Leave", "TRUE")
		.with("MaxFaults", "1");

	/**
	 * A leader that is frozen while its work goes on, one transaction after the other.
	 */
	static final Instance NODE_STARVATION = NODE_LIVENESS.faults().with("Work", "TRUE").with("Leave", "FALSE");

	/** A hand-over while transactions follow each other, without a fault. */
	static final Instance NODE_RELEASE = NODE_STARVATION.with("Leave", "TRUE")
		.with("MaxFaults", "0")
		.with("Lease", "1")
		.with("Trust", "1");

	static Instance of(String module, String property, String... invariants) {
		return common(module, property, invariants).with("MaxTerm", "3")
			.with("Delay", "1")
			.with("LateWork", "FALSE")
			.with("Causes", "FALSE")
			.with("HandOver", "TRUE")
			.with("Reopen", "TRUE")
			.with("PromptNotice", "TRUE")
			.faults("SILENCE", "LOSS", "CRASH", "ENDED");
	}

	private static Instance ofNode(String module, String property, String... invariants) {
		return common(module, property, invariants).with("MaxTerm", "2")
			.with("MaxBeat", "3")
			.with("BeatsRepeat", "FALSE")
			.with("MaxSessions", "2")
			.with("MaxPromotions", "0")
			.with("Promoted", "FALSE")
			.with("Delay", "0")
			.elections(1)
			.faults("LOSS", "CRASH", "LATE");
	}

	private static Instance common(String module, String property, String... invariants) {
		return new Instance(module, 2, new TreeMap<>(), List.of(invariants), property).with("None", "None")
			.with("MaxCrashes", "0")
			.with("Clocks", "TRUE")
			.with("Work", "TRUE")
			.with("Lease", "2")
			.with("Trust", "2")
			.mistake("NONE");
	}

	Instance nodes(int newNodes) {
		return new Instance(this.module, newNodes, this.constants, this.invariants, this.property);
	}

	Instance elections(int elections) {
		return with("Elections",
				IntStream.rangeClosed(1, elections)
					.mapToObj((e) -> "e" + e)
					.collect(Collectors.joining(", ", "{", "}")));
	}

	Instance faults(String... faults) {
		return with("Faults",
				"{" + Stream.of(faults).map((fault) -> '"' + fault + '"').collect(Collectors.joining(", ")) + "}");
	}

	Instance with(String constant, String value) {
		Map<String, String> changed = new TreeMap<>(this.constants);
		changed.put(constant, value);
		return new Instance(this.module, this.nodes, changed, this.invariants, this.property);
	}

	Instance mistake(String mistake) {
		return with("Mutant", '"' + mistake + '"');
	}

	Instance property(String newProperty) {
		return new Instance(this.module, this.nodes, this.constants, this.invariants, newProperty);
	}

	/**
	 * Liveness is checked without symmetry, which TLC supports for safety only.
	 */
	boolean isSafety() {
		return !this.module.endsWith("Liveness");
	}

	/**
	 * What will never be read is left out of the states of this model.
	 */
	private boolean hasView() {
		return this.module.startsWith("Node");
	}

	/** Return the configuration file for TLC. */
	String configuration() {
		String names = IntStream.rangeClosed(1, this.nodes).mapToObj((n) -> "n" + n).collect(Collectors.joining(", "));
		StringBuilder text = new StringBuilder("CONSTANTS\n  Nodes = {" + names + "}\n");
		this.constants.forEach((name, value) -> text.append("  " + name + " = " + value + "\n"));
		text.append("CHECK_DEADLOCK FALSE\nPROPERTY " + this.property + "\n");
		this.invariants.forEach((invariant) -> text.append("INVARIANT " + invariant + "\n"));
		if (isSafety()) {
			return text + "SPECIFICATION Spec\nSYMMETRY Symmetry\n" + (hasView() ? "VIEW View\n" : "");
		}
		return text + "SPECIFICATION LiveSpec\n";
	}

	@Override
	public String toString() {
		String terms = this.constants.get("MaxTerm");
		return this.module + ", " + count(String.valueOf(this.nodes), "node")
				+ ((terms != null) ? ", " + count(terms, "term") : "")
				+ this.constants.entrySet()
					.stream()
					.filter((entry) -> !List.of("None", "MaxTerm", "Mutant").contains(entry.getKey()))
					.filter((entry) -> !USUAL.contains(entry))
					.map((entry) -> ", " + entry.getKey() + " " + entry.getValue().replace("\"", ""))
					.collect(Collectors.joining());
	}

	private static String count(String number, String what) {
		return number + ' ' + what + (number.equals("1") ? "" : "s");
	}

}
