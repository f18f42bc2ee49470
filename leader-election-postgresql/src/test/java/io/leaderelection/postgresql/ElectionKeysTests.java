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

package io.leaderelection.postgresql;

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link ElectionKeys}. The values are part of the contract between versions: a
 * node that derives others elects a second leader.
 */
@Tag("ring1")
class ElectionKeysTests {

	@Test
	void derivedFromGroupAndElection() {
		assertThat(ElectionKeys.derive("orders", "default")).isEqualTo(new ElectionKeys(-3393555473640722770L,
				199051185, -4760426398933098732L, 8257254789892798772L, 1713196970, 1774448234, -689776189));
	}

	@Test
	void seatsAreAContractBetweenVersions() {
		assertThat(ElectionKeys.seats(3, 0)).containsExactly(1, 2, 3);
		assertThat(ElectionKeys.seats(2, 10)).containsExactly(1, 2, 65546);
	}

	@Test
	void derivedFromLockId() {
		assertThat(ElectionKeys.ofLockId(0x434944585F4C4452L)).isEqualTo(new ElectionKeys(4848481620187694162L,
				-1529610227, 8529118633673645146L, -3289631323951656089L, -1347024829, -204261570, 2016019870));
		assertThat(ElectionKeys.ofLockId(-1)).isEqualTo(new ElectionKeys(-1L, -2011786113, -3212982942497819422L,
				9166022227461845214L, -106991754, 942588496, -1182442048));
	}

	@Test
	void groupAndElectionDoNotRunTogether() {
		assertThat(ElectionKeys.derive("ab", "c")).isNotEqualTo(ElectionKeys.derive("a", "bc"));
	}

	@Test
	void termsOfTheFirstTimelineAreTransactionIds() {
		assertThat(ElectionKeys.termObject(1, 775)).isEqualTo(775);
	}

	@Test
	void termIsKnownByItsKeyAndTheBitsAboveIt() {
		for (long id : new long[] { 3, 775, (1L << 31) - 1, 1L << 31, (1L << 31) + 5, (7L << 31) + 12 }) {
			for (long timeline : new long[] { 1, 2, 19 }) {
				long object = ElectionKeys.termObject(timeline, id);
				assertThat(ElectionKeys.transactionId(timeline, object, id >>> 31)).isEqualTo(id);
			}
		}
	}

	@Test
	void termsOfDifferentTimelinesAreFarApart() {
		for (long timeline = 2; timeline < 100; timeline++) {
			for (long earlier = 1; earlier < timeline; earlier++) {
				long distance = Math
					.abs((long) ElectionKeys.termObject(timeline, 775) - ElectionKeys.termObject(earlier, 775));
				assertThat(Math.min(distance, (1L << 31) - distance)).isGreaterThan(1 << 23);
			}
		}
	}

	@Test
	void termIsNeverTheMarkerOfACleanEnd() {
		assertThat(ElectionKeys.termObject(1, -1L)).isNotNegative();
		assertThat(ElectionKeys.termObject(1, 1L << 31)).isZero();
		assertThat(ElectionKeys.CLEAN).isNegative();
	}

}
