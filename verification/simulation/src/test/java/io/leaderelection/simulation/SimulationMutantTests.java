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

import java.util.List;

import io.leaderelection.simulation.Simulation.Result;
import io.leaderelection.testsupport.Mutant;
import io.leaderelection.testsupport.SourceChange;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The simulation, itself checked: it must find each seeded mistake.
 */
@Tag("ring3")
class SimulationMutantTests {

	@ParameterizedTest
	@EnumSource(names = { "BARE_TRANSACTION_ID", "NO_WAIT_FOR_EARLIER_TERMS", "UNLOCK_BEFORE_DRAIN", "OPEN_FENCE",
			"NO_LIMIT_IN_FENCE", "THREAD_DIES", "EVENT_NEEDS_THREAD", "SEAT_NOT_FREED", "SEAT_SHARED", "NO_SEAT_FREE",
			"COUNTED_TOO_EARLY", "BASELINE_AFTER_LOOK", "FATAL_IGNORED", "RESET_IGNORED" })
	void findsMistake(Mutant mutant) {
		assertFound(Store.ADVISORY_LOCK, mutant);
	}

	@ParameterizedTest
	@EnumSource(names = { "WATCHDOG_DIES", "SESSION_LOCK_IN_WAIT", "ANCHOR_AT_REPLY", "WAKE_UNDER_LOCK",
			"INNER_WORK_CLEARS_INTERRUPT", "STOP_CUTS_RELEASE", "NO_HEAD", "RECENT_PREDECESSOR",
			"FAST_DESPITE_LONG_DELAY", "PROXY_NOT_SEEN", "YIELDS_WITHOUT_UNLOCK", "YIELDS_WITH_TERM" })
	void findsMistakeThatRarelyShows(Mutant mutant) {
		assertFound(Store.ADVISORY_LOCK, mutant);
	}

	@Test
	void findsRareConfirmation() throws Exception {
		SourceChange change = new SourceChange("ElectionSettings", "this.lease.dividedBy(5)",
				"this.lease.dividedBy(5).multipliedBy(2)");
		Mutant mutant = Mutant.RARE_CONFIRMATION;
		MistakeSearch.assertFound(Store.ADVISORY_LOCK, mutant, change, guarantees(mutant));
	}

	@ParameterizedTest
	@EnumSource(names = { "BEAT_NOT_COMPARED", "TERM_NOT_RAISED", "TERM_NOT_COMPARED", "FENCE_WITHOUT_LOCK",
			"UNLOCK_BEFORE_DRAIN" })
	void findsMistakeOfTable(Mutant mutant) {
		assertFound(Store.TABLE, mutant);
	}

	@ParameterizedTest
	@EnumSource(names = { "ANCHOR_AT_REPLY", "NO_LIMIT_IN_FENCE", "RENEWAL_NOT_FLUSHED", "OPEN_FENCE" })
	void findsMistakeOfTableThatRarelyShows(Mutant mutant) {
		assertFound(Store.TABLE, mutant);
	}

	private static void assertFound(Store store, Mutant mutant) {
		Histories histories = Histories.search(store, mutant, Histories.firstSeed(mutant));
		System.out.println(histories.finding(mutant));
		Result violation = histories.violation();
		assertThat(violation).as(histories::toString).isNotNull();
		assertThat(guarantees(mutant)).contains(violation.violation().guarantee());
	}

	/**
	 * The guarantees that a mistake violates, whichever is noticed first.
	 */
	private static List<String> guarantees(Mutant mutant) {
		return switch (mutant) {
			// Mistakes of schedules do not show in an election
			case NONE, NO_CLAIM, NO_CATCH_UP -> List.of();
			case BARE_TRANSACTION_ID -> List.of("G3 terms");
			case SESSION_LOCK_IN_WAIT, YIELDS_WITHOUT_UNLOCK, YIELDS_WITH_TERM -> List.of("G6 leak");
			case NO_WAIT_FOR_EARLIER_TERMS -> List.of("G1 predecessors");
			// A grant that comes too late ends with its session
			case ANCHOR_AT_REPLY -> List.of("G2 exclusion", "G3 terms", "G6 loss");
			case UNLOCK_BEFORE_DRAIN -> List.of("G4 drain", "G4 hand-over");
			case OPEN_FENCE -> List.of("G1 fence", "G1 token");
			case NO_LIMIT_IN_FENCE -> List.of("G6 fence");
			case THREAD_DIES, WATCHDOG_DIES -> List.of("G2 revocation", "G6 stop", "G6 liveness");
			case EVENT_NEEDS_THREAD -> List.of("G6 liveness", "G5 events");
			case WAKE_UNDER_LOCK -> List.of("G2 revocation", "G2 exclusion", "G4 interrupt");
			case INNER_WORK_CLEARS_INTERRUPT -> List.of("G4 interrupt");
			case STOP_CUTS_RELEASE -> List.of("G4 hand-over");
			case SEAT_NOT_FREED, NO_SEAT_FREE -> List.of("G6 seats", "G6 liveness");
			case SEAT_SHARED -> List.of("G7 seats");
			case FAST_DESPITE_LONG_DELAY, PROXY_NOT_SEEN, RARE_CONFIRMATION -> List.of("G2 exclusion");
			case COUNTED_TOO_EARLY, BASELINE_AFTER_LOOK, TERM_KEY_LOOKED_AT, NO_HEAD, FATAL_IGNORED, RESET_IGNORED,
					RECENT_PREDECESSOR ->
				List.of("G2 cause", "G2 exclusion");
			case BEAT_NOT_COMPARED, EXPIRED_AFTER_PROMOTION -> List.of("G2 exclusion", "G3 terms", "G6 loss");
			case RENEWAL_NOT_FLUSHED, BEAT_INCREMENTED, TAKEN_FROM_ROW, TAKEN_WITHOUT_BEAT, TAKEN_AFTER_PROMOTION ->
				List.of("G2 exclusion", "G3 terms");
			case TERM_NOT_RAISED -> List.of("G3 terms");
			case TERM_NOT_COMPARED, OWNER_NOT_COMPARED -> List.of("G3 terms", "G2 exclusion", "G4 delay");
			case RELEASED_WITHOUT_TERM, ROW_DELETED_WHILE_OWNING -> List.of("G6 loss", "G6 liveness");
			case FENCE_WITHOUT_LOCK -> List.of("G1 barrier", "G1 fence");
			case FENCE_WITHOUT_TOKEN -> List.of("G1 token", "G1 fence");
			case FENCE_WITHOUT_ROW -> List.of("G6 liveness");
		};
	}

}
