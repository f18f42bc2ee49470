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

package io.leaderelection.engine;

import java.time.Instant;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import org.jspecify.annotations.Nullable;

/**
 * A change of the leader, as observed by one node.
 *
 * @param time the time, by the clock of this node
 * @param kind the kind of the change
 * @param node the node that leads or led
 * @param term its term, or {@code null} if it is not known
 * @param reason why leadership was revoked, if this node led
 * @param cause who or what requested the end of the term
 */
public record Transition(Instant time, Kind kind, String node, @Nullable Term term, @Nullable Reason reason,
		@Nullable String cause) {

	/** The kind of a change. */
	public enum Kind {

		/**
		 * This node was granted leadership.
		 */
		GRANTED,

		/** The leadership of this node was revoked. */
		REVOKED,

		/** Another node was observed as leader. */
		FOLLOWED,

		/** This node has requested another node to resign. */
		REQUESTED

	}

}
