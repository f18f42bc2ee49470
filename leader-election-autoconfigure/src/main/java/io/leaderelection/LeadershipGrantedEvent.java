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
 * Published when this node was granted leadership of an election. By the time a listener
 * runs, the leadership may be over again: see {@link Leadership#isCurrent()}.
 * <p>
 * A listener that closes its own context keeps the {@link LeadershipRevokedEvent} waiting
 * until the listeners of that context are gone, and only those of a parent context are
 * called. Close the context from another thread if something must react to the
 * revocation.
 */
public final class LeadershipGrantedEvent extends LeadershipEvent {

	/**
	 * Create a new {@code LeadershipGrantedEvent} instance.
	 * @param source the elector
	 * @param leadership the leadership that was granted
	 */
	public LeadershipGrantedEvent(LeaderElector source, Leadership leadership) {
		super(source, leadership);
	}

}
