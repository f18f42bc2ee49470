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

import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * The election with the lease table: fence, terms and hand-over with everything at any
 * time, one leader at a time with leases, and somebody leads.
 */
@Tag("ring2")
class TableLeaseModelTests {

	@Test
	void fenceHolds() {
		check("table-fence", Instance.TABLE_FENCE);
	}

	@Test
	@Tag("ring3")
	void leaseHolds() {
		check("table-lease", Instance.TABLE_LEASE);
	}

	@Test
	@Tag("ring3")
	void somebodyLeads() {
		check("table-liveness", Instance.TABLE_LIVENESS.with("Work", "FALSE"));
	}

	@Test
	@Tag("ring3")
	void fenceHoldsAfterPromotion() {
		check("table-fence-promotion", Instance.TABLE_FENCE.faults("LOSS", "CRASH").with("MaxPromotions", "1"));
	}

	@Test
	@Tag("ring3")
	void leaseHoldsAfterPromotion() {
		check("table-lease-promotion", Instance.TABLE_SHORT_LEASE.faults("LOSS").with("MaxPromotions", "1"));
	}

	private static void check(String name, Instance instance) {
		assertThat(ModelChecker.check(name, instance)).matches(ModelChecker.Outcome::holds);
	}

}
