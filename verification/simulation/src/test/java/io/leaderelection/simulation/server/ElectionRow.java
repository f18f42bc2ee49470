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

package io.leaderelection.simulation.server;

import java.util.UUID;

import org.jspecify.annotations.Nullable;

/**
 * A version of a row of the table of elections.
 *
 * @param term the transaction id of the last takeover, 0 before the first one
 * @param timeline the timeline of the server when it was taken over
 * @param owner the session that leads, or {@code null}
 * @param clean whether the work of the last term had ended when it was released
 * @param uncleanAt when a term of which work may still run was last released, in true
 * time, or 0
 */
public record ElectionRow(long term, long timeline, @Nullable UUID owner, boolean clean, long uncleanAt) {

	/** A row as it is inserted. */
	public static final ElectionRow NEW = new ElectionRow(0, 0, null, true, 0);

	/**
	 * Return this row after a takeover.
	 */
	public ElectionRow taken(long newTerm, long newTimeline, UUID newOwner) {
		return new ElectionRow(newTerm, newTimeline, newOwner, false, this.uncleanAt);
	}

	/**
	 * Return this row after the end of its owner.
	 */
	public ElectionRow expired() {
		return new ElectionRow(this.term, this.timeline, this.owner, true, this.uncleanAt);
	}

	/**
	 * Return this row after a release.
	 */
	public ElectionRow freed(boolean newClean, long now) {
		return new ElectionRow(this.term, this.timeline, null, newClean, newClean ? this.uncleanAt : now);
	}

}
