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

package io.leaderelection.sample.demo;

import java.time.Instant;

import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * What a node said last.
 *
 * @param pid the process that said so
 * @param leadership what its leadership endpoint said
 * @param seenAt when
 * @param metrics what its metrics said
 * @param health what its health endpoint said, {@code null} if it did not answer
 * @param stale whether it did not answer since
 */
record NodeView(long pid, @Nullable ObjectNode leadership, @Nullable Instant seenAt, NodeMetrics metrics,
		@Nullable String health, boolean stale) {

	static final NodeView NONE = new NodeView(-1, null, null, new NodeMetrics(0, 0, 0), null, true);

	NodeView withHealth(@Nullable String health) {
		return new NodeView(this.pid, this.leadership, this.seenAt, this.metrics, health, this.stale);
	}

	NodeView asStale() {
		return new NodeView(this.pid, this.leadership, this.seenAt, this.metrics, null, true);
	}

	@Nullable String role() {
		return text("role");
	}

	/**
	 * The term in which this node leads.
	 */
	@Nullable String term() {
		return text("term");
	}

	@Nullable Instant lastConfirmation() {
		String time = text("lastConfirmation");
		return (time != null) ? Instant.parse(time) : null;
	}

	private @Nullable String text(String field) {
		ObjectNode leadership = this.leadership;
		return (leadership != null && leadership.hasNonNull(field)) ? leadership.get(field).asString() : null;
	}

}
