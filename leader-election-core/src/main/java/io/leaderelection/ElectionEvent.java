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

package io.leaderelection;

/**
 * An event of an election. Events of one election are delivered in order, one at a time,
 * on a dedicated thread. A slow listener delays later events and a hand-over, but never
 * the lease. This order does not apply to asynchronous listeners.
 *
 * @since 0.1.0
 */
public abstract sealed class ElectionEvent permits LeadershipEvent, LeaderChangedEvent {

	private final String election;

	ElectionEvent(String election) {
		this.election = election;
	}

	/**
	 * Return the name of the election that has changed.
	 * @return the name of the election
	 */
	public String getElection() {
		return this.election;
	}

}
