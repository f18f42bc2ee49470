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
 * Instances that hold and that TLC checks within seconds.
 */
enum SmallInstance {

	/** Fence, terms and hand-over, with everything at any time. */
	FENCE(Instance.FENCE.with("MaxTerm", "2")),

	HAND_OVER(Instance.HAND_OVER),

	LEASE(Instance.LEASE),

	/**
	 * The takeover delay and the condition on nodes are for sessions that the server
	 * ends, and only for these.
	 */
	SILENCE(Instance.SILENCE),

	/** No condition on nodes is needed if the takeover delay is the lease. */
	DELAY_OF_A_LEASE(Instance.LEASE.with("Delay", "2").with("PromptNotice", "FALSE")),

	LIVENESS(Instance.LIVENESS.with("Work", "FALSE")),

	LIVENESS_WITH_CAUSE(Instance.LIVENESS_WITH_CAUSE),

	SEATS(Instance.SEATS),

	/** Fence, terms and hand-over with the lease table, with everything at any time. */
	NODE_FENCE(Instance.NODE_FENCE.faults("LOSS", "END").with("MaxBeat", "4").with("MaxSessions", "1")),

	/** A hand-over with late messages. */
	NODE_RELEASES(Instance.NODE_RELEASES),

	NODE_LEASE(Instance.NODE_SHORT_LEASE.with("MaxBeat", "4")),

	/** A term is kept without faults. */
	NODE_TERM(Instance.NODE_TERM),

	NODE_DELAY(Instance.NODE_DELAY),

	/** A session that owns an election has a row. */
	NODE_END(Instance.NODE_END),

	/** One session with two elections. */
	NODE_ELECTIONS(Instance.NODE_SHORT_LEASE.nodes(1)
		.elections(2)
		.faults("LOSS", "LATE", "END")
		.with("MaxTerm", "1")
		.with("MaxBeat", "4")
		.with("MaxSessions", "1")),

	NODE_LIVENESS(Instance.NODE_LIVENESS.faults("END").with("Leave", "FALSE")),

	/** What is owned but not led is freed. */
	NODE_UNLED(NODE_LIVENESS.instance.property("G6_NothingUnled"));

	private final Instance instance;

	SmallInstance(Instance instance) {
		this.instance = instance;
	}

	Instance instance() {
		return this.instance;
	}

}
