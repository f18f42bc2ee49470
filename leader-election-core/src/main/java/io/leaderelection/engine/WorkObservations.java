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

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;

import io.leaderelection.engine.WorkObserver.WorkObservation;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The observations of one unit of work. A failure of one affects neither the others nor
 * the work.
 *
 * @param all the observations, in the order of their beginning
 */
record WorkObservations(List<WorkObservation> all) implements WorkObservation {

	private static final Log logger = LogFactory.getLog(WorkObservations.class);

	static WorkObservations begin(List<WorkObserver> observers, @Nullable WorkObservation first,
			Function<WorkObserver, WorkObservation> begin) {
		List<WorkObservation> all = new ArrayList<>(observers.size() + 1);
		if (first != null) {
			all.add(first);
		}
		for (WorkObserver observer : observers) {
			attempt(() -> all.add(begin.apply(observer)));
		}
		return new WorkObservations(all);
	}

	@Override
	public Map<?, ?> context() {
		Map<Object, Object> context = new HashMap<>();
		this.all.forEach((observation) -> attempt(() -> context.putAll(observation.context())));
		return context;
	}

	@Override
	public void failed(Throwable failure) {
		forEach((observation) -> observation.failed(failure));
	}

	@Override
	public void cancelled() {
		forEach(WorkObservation::cancelled);
	}

	@Override
	public void left() {
		forEach(WorkObservation::left);
	}

	@Override
	public void ended(boolean interrupted) {
		forEach((observation) -> observation.ended(interrupted));
	}

	private void forEach(Consumer<WorkObservation> action) {
		for (int i = this.all.size() - 1; i >= 0; i--) {
			WorkObservation observation = this.all.get(i);
			attempt(() -> action.accept(observation));
		}
	}

	private static void attempt(Runnable action) {
		try {
			action.run();
		}
		catch (Throwable ex) {
			logger.warn("Failed to observe leader work", ex);
		}
	}

}
