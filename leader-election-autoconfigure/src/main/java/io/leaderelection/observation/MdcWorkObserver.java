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

import java.util.Map;

import io.leaderelection.Leadership;
import io.leaderelection.engine.LogContext;
import io.leaderelection.engine.WorkObserver;
import io.leaderelection.engine.WorkObserver.WorkObservation;
import org.jspecify.annotations.Nullable;

/**
 * Has the MDC of the thread that begins leader work contain its election, node and term,
 * until the work leaves that thread. Internal.
 */
public final class MdcWorkObserver implements WorkObserver {

	@Override
	public WorkObservation begin(Leadership leadership, Class<?> type, @Nullable String method, Context context) {
		return MdcValues.replace(Map.of(LogContext.ELECTION, leadership.getElection(), LogContext.NODE,
				leadership.getNodeId(), LogContext.TERM, leadership.getTerm().toString()));
	}

}
