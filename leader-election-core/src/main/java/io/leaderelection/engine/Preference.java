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

import java.util.Objects;

import io.leaderelection.Term;
import io.leaderelection.engine.StoreSession.Holder;
import org.jspecify.annotations.Nullable;

/**
 * Decides when a candidate requests a leader of lower priority to hand over: after a time
 * in which that leader has led and this node has waited for the lock, both without
 * interruption. That time doubles with each request, until this node has led for the
 * longest of these times. A node that cannot lead for that long therefore asks less often
 * with each request. Confined to the election thread.
 */
final class Preference {

	private static final int MOST_DOUBLINGS = 6;

	private final int priority;

	private final long hold;

	private @Nullable Term term;

	/** The term whose end was requested last. */
	private @Nullable Term requested;

	private long since;

	private int requests;

	Preference(ElectionSettings settings) {
		this.priority = settings.profile().priority();
		this.hold = settings.priorityHold().toNanos();
	}

	/**
	 * Observe the leader while this node waits for the lock.
	 * @return whether to request its resignation now
	 */
	boolean isDue(@Nullable Holder leader, long now) {
		Term led = (leader != null && isLower(leader.profile())) ? leader.term() : null;
		if (led == null || !led.equals(this.term)) {
			this.term = led;
			this.since = now;
			return false;
		}
		return now - this.since >= hold(this.requests);
	}

	/**
	 * A profile that is not known yet, or that a node of an earlier version does not
	 * publish, is not a low priority.
	 */
	private boolean isLower(NodeProfile profile) {
		return profile.protocol() != NodeProfile.UNKNOWN.protocol() && profile.priority() < this.priority;
	}

	/**
	 * Record that the resignation of the leader was requested. A leader that does not
	 * obey is asked again, which counts as one request.
	 * @return whether this is the first request in its term
	 */
	boolean requested(long now) {
		boolean first = !Objects.equals(this.term, this.requested);
		this.since = now;
		this.requested = this.term;
		this.requests = first ? Math.min(this.requests + 1, MOST_DOUBLINGS) : this.requests;
		return first;
	}

	/**
	 * Begin to wait for the lock.
	 */
	void begin() {
		this.term = null;
	}

	/**
	 * Record that this node has held the lock for some time.
	 */
	void led(long nanos) {
		if (nanos >= hold(MOST_DOUBLINGS)) {
			this.requests = 0;
		}
	}

	private long hold(int doublings) {
		return this.hold << doublings;
	}

}
