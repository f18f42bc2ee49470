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

package io.leaderelection.demo;

import java.time.Duration;
import java.time.Instant;

import tools.jackson.databind.node.ObjectNode;

/**
 * An answer of a node. Its metrics were requested right after it.
 *
 * @param asked when it was asked
 * @param leadership the answer of its leadership endpoint
 * @param answered when it had answered
 * @param metrics its metrics
 * @param measured when the metrics had been answered
 */
record NodeObservation(Instant asked, ObjectNode leadership, Instant answered, NodeMetrics metrics, Instant measured) {

	private static final Duration PROMPT = Duration.ofMillis(100);

	/**
	 * Whether the time of the metrics is known precisely enough to calculate with them.
	 */
	boolean isPrompt() {
		return Duration.between(this.answered, this.measured).compareTo(PROMPT) <= 0;
	}

	/**
	 * Until when the node considers itself the leader without a further confirmation.
	 */
	Instant trustedUntil() {
		return this.asked.plus(Duration.parse(this.leadership.path("leaseRemaining").asString()));
	}

}
