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
 * Published when this node was granted leadership of an election. When a listener runs,
 * that leadership may already have ended: see {@link Leadership#isCurrent()}.
 * <p>
 * If a listener closes its own context, the {@link LeadershipRevokedEvent} is delivered
 * only after the listeners of that context have been removed, so only listeners of a
 * parent context are called. Close the context from another thread if a listener must
 * react to the revocation.
 *
 * @since 0.1.0
 */
public final class LeadershipGrantedEvent extends LeadershipEvent {

	/**
	 * Create a new {@code LeadershipGrantedEvent} instance.
	 * @param leadership the leadership that was granted
	 */
	public LeadershipGrantedEvent(Leadership leadership) {
		super(leadership);
	}

}
