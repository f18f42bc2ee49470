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

/**
 * Seeded mistakes in the election with the lease table.
 */
enum TableMutant implements SeededMistake {

	/** Trust counts from the reply of a renewal instead of its start. */
	ANCHOR_AT_REPLY("G2_OneBeliever", Instance.TABLE_SHORT_LEASE),

	/** The expiry counts from the request that showed the row instead of its reply. */
	EXPIRY_FROM_REQUEST("G2_OneBeliever", Instance.TABLE_SHORT_LEASE),

	/** A takeover does not compare the beat. */
	BEAT_NOT_COMPARED("G2_OneBeliever", Instance.TABLE_SHORT_LEASE),

	/** A renewal may take the beat back. */
	LATE_RENEWAL_TAKES_BEAT_BACK("G2_OneBeliever", Instance.TABLE_SHORT_LEASE.faults("LATE")),

	/** Renewals are not flushed, so that a crash may lose them. */
	RENEWAL_NOT_FLUSHED("G2_OneBeliever", Instance.TABLE_SHORT_LEASE.with("MaxCrashes", "1")),

	/** An observation does not compare the timeline of the server. */
	TIMELINE_NOT_COMPARED("G2_OneBeliever", Instance.TABLE_SHORT_LEASE.with("MaxPromotions", "1")),

	/** A takeover does not compare the timeline of the server. */
	TAKEOVER_AFTER_PROMOTION("G2_OneBeliever", Instance.TABLE_SHORT_LEASE.with("MaxPromotions", "1")),

	/** A term that was won before a promotion is granted after it. */
	GRANT_AFTER_PROMOTION("G2_OneBeliever", Instance.TABLE_SHORT_LEASE.with("MaxPromotions", "1")),

	/** The row of a former session of the own node is free even after a promotion. */
	FORMER_TOKEN_ALWAYS_FREE("G2_OneBeliever", Instance.TABLE_SHORT_LEASE.faults("LOSS").with("MaxPromotions", "1")),

	/** A row that was never taken over is free even after a promotion. */
	FIRST_TERM_NEVER_OUTDATED("G2_OneBeliever", Instance.TABLE_SHORT_LEASE.with("MaxPromotions", "1")),

	/** The grant does not wait for transactions that have passed the fence. */
	NO_BARRIER("G1_Fence", Instance.TABLE_FENCE.faults()),

	/** The fence compares the transaction id of the term only. */
	FENCE_WITHOUT_TOKEN("G1_Fence", Instance.TABLE_FENCE.faults().with("MaxPromotions", "1")),

	/** The fence locks the row against renewals too. */
	FENCE_BLOCKS_RENEWALS("G6_RenewalsPass", Instance.TABLE_FENCE.faults()),

	/** A takeover leaves the term as it is. */
	TERM_NOT_RAISED("G3_Terms", Instance.TABLE_FENCE.faults()),

	/** The lease is freed without waiting for work. */
	RELEASE_BEFORE_DRAIN("G4_HandOver", Instance.TABLE_FENCE.faults()),

	/** The server does not end transactions that are idle behind the fence. */
	NO_LIMIT_IN_FENCE("G6_SomebodyLeads", Instance.TABLE_LIVENESS.with("MaxFaults", "0"));

	private final String guarantee;

	private final Instance instance;

	TableMutant(String guarantee, Instance instance) {
		this.guarantee = guarantee;
		this.instance = instance;
	}

	@Override
	public String guarantee() {
		return this.guarantee;
	}

	@Override
	public Instance instance() {
		return this.instance.with("Mutant", '"' + name() + '"');
	}

	@Override
	public String file() {
		return "table/" + name() + ".txt";
	}

}
