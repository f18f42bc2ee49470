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

package io.leaderelection.lifecycle;

import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.DefaultLeaderElector;

/**
 * Takes part in each grant and in its end, at its place in the
 * {@link LeadershipSequence}.
 */
@FunctionalInterface
public interface LeadershipParticipant {

	/**
	 * Called when leadership was granted.
	 * @param elector the elector of the election
	 * @param event the event
	 */
	void granted(DefaultLeaderElector elector, LeadershipGrantedEvent event);

	/**
	 * Called when leadership has ended or is about to end. An orderly hand-over frees the
	 * lock when this method has returned.
	 * @param elector the elector of the election
	 * @param event the event
	 */
	default void revoked(DefaultLeaderElector elector, LeadershipRevokedEvent event) {
	}

}
