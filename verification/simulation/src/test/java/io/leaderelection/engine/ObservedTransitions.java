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

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.Position.Ended;
import io.leaderelection.engine.Position.Loss;
import org.jspecify.annotations.Nullable;

/**
 * Transitions that remember how leadership was lost: the state forgets it as soon as the
 * session has ended.
 */
class ObservedTransitions extends Transitions {

	private volatile @Nullable Loss loss;

	ObservedTransitions(ElectionSettings settings, ElectionTimings timings) {
		super(settings, timings);
	}

	/**
	 * Return the last loss.
	 */
	@Nullable Loss loss() {
		return this.loss;
	}

	@Override
	ElectionState lose(ElectionState state, Moment now, @Nullable Reason cause) {
		ElectionState after = super.lose(state, now, cause);
		if (after.position() instanceof Ended ended && ended.loss() != null) {
			this.loss = ended.loss();
		}
		return after;
	}

}
