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

import org.jspecify.annotations.Nullable;

/**
 * Thrown by a method that is guarded with {@code @LeaderOnly(policy = REJECT)} when it is
 * called on a node that does not lead, or by work whose term has ended.
 *
 * @since 0.1.0
 */
public class NotLeaderException extends IllegalStateException {

	private final String election;

	/**
	 * Create a new {@code NotLeaderException} instance.
	 * @param election the name of the election
	 * @param message the message
	 */
	public NotLeaderException(String election, @Nullable String message) {
		super(message);
		this.election = election;
	}

	/**
	 * Return the name of the election that this node does not lead.
	 * @return the name of the election
	 */
	public String getElection() {
		return this.election;
	}

}
