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

package io.leaderelection.observation;

import io.leaderelection.Leadership;
import io.leaderelection.engine.LogContext;
import io.leaderelection.engine.WorkObserver;
import io.leaderelection.engine.WorkObserver.WorkObservation;
import org.jspecify.annotations.Nullable;
import org.slf4j.MDC;

/**
 * Has the MDC of the thread that begins leader work contain its election, node and term,
 * until the work leaves that thread. Internal.
 */
public final class MdcWorkObserver implements WorkObserver {

	@Override
	public WorkObservation begin(Leadership leadership, Class<?> type, @Nullable String method, Context context) {
		Previous previous = new Previous(MDC.get(LogContext.ELECTION), MDC.get(LogContext.NODE),
				MDC.get(LogContext.TERM));
		MDC.put(LogContext.ELECTION, leadership.getElection());
		MDC.put(LogContext.NODE, leadership.getNodeId());
		MDC.put(LogContext.TERM, leadership.getTerm().toString());
		return previous;
	}

	/**
	 * The values to be restored: those of the work that encloses this work, or none.
	 */
	private record Previous(@Nullable String election, @Nullable String node,
			@Nullable String term) implements WorkObservation {

		@Override
		public void left() {
			restore(LogContext.ELECTION, this.election);
			restore(LogContext.NODE, this.node);
			restore(LogContext.TERM, this.term);
		}

		private static void restore(String key, @Nullable String value) {
			if (value != null) {
				MDC.put(key, value);
			}
			else {
				MDC.remove(key);
			}
		}

		@Override
		public void ended(boolean interrupted) {
		}

	}

}
