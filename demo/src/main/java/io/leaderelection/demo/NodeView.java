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

import java.time.Instant;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * The last report of a node.
 *
 * @param pid the process that reported
 * @param observation the report, {@code null} if there is none yet
 * @param stale whether it did not answer since
 */
record NodeView(long pid, @Nullable NodeObservation observation, boolean stale) {

	static final NodeView NONE = new NodeView(-1, null, true);

	NodeView asStale() {
		return new NodeView(this.pid, this.observation, true);
	}

	NodeMetrics metrics() {
		return (this.observation != null) ? this.observation.metrics() : NodeMetrics.NONE;
	}

	/**
	 * Whether this is a report of a process since some time, and the node still answers.
	 */
	boolean isFresh(long pid, Instant since) {
		return !this.stale && this.pid == pid && this.observation != null && this.observation.asked().isAfter(since);
	}

	@Nullable Instant lastConfirmation() {
		JsonNode time = (this.observation != null) ? this.observation.leadership().get("lastConfirmation") : null;
		return (time != null && !time.isNull()) ? Instant.parse(time.asString()) : null;
	}

}
