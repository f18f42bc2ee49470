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

package io.leaderelection.simulation;

/**
 * What is checked of each history, with the guarantee that it belongs to. Each check has
 * a {@link Sentinel}.
 */
enum Check {

	G1_BARRIER("G1 barrier"),

	G1_TRANSACTIONS("G1 transactions"),

	G1_FENCE("G1 fence"),

	G1_PREDECESSORS("G1 predecessors"),

	G2_CAUSE("G2 cause"),

	G2_EXCLUSION("G2 exclusion"),

	G2_REVOCATION("G2 revocation"),

	G2_STORES("G2 stores"),

	G2_TRUST("G2 trust"),

	G3_TERMS("G3 terms"),

	G4_CANDIDACY("G4 candidacy"),

	G4_CLEAN("G4 clean"),

	G4_DELAY("G4 delay"),

	G4_DRAIN("G4 drain"),

	G4_EARLIER_WORK("G4 earlier work"),

	G4_CUT("G4 cut hand-over"),

	G4_HAND_OVER("G4 hand-over"),

	G4_INTERRUPT("G4 interrupt"),

	G4_INTERRUPT_LEFT("G4 interrupt left"),

	G5_EVENTS("G5 events"),

	G6_FENCE("G6 fence"),

	G6_LEAK("G6 leak"),

	G6_LIVENESS("G6 liveness"),

	G6_LOSS("G6 loss"),

	G6_REQUEST("G6 request"),

	G6_SEATS("G6 seats"),

	G6_STOP("G6 stop"),

	G7_LOAD("G7 load"),

	G7_SEATS("G7 seats");

	private final String text;

	Check(String text) {
		this.text = text;
	}

	@Override
	public String toString() {
		return this.text;
	}

}
