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
import java.util.concurrent.CompletionException;

import io.leaderelection.Leadership;
import io.leaderelection.engine.WorkObserver;
import io.leaderelection.engine.WorkObserver.WorkObservation;
import io.leaderelection.observation.LeaderWorkObservationContext.Outcome;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import io.micrometer.observation.contextpropagation.ObservationThreadLocalAccessor;
import org.jspecify.annotations.Nullable;

/**
 * Makes a Micrometer observation of leader work. Internal.
 */
public final class MicrometerWorkObserver implements WorkObserver {

	private static final LeaderWorkObservationConvention DEFAULT_CONVENTION = new DefaultLeaderWorkObservationConvention();

	private static final WorkObservation NONE = (interrupted) -> {
	};

	private final ObservationRegistry registry;

	private final @Nullable LeaderWorkObservationConvention convention;

	/**
	 * Create a new {@code MicrometerWorkObserver} instance.
	 * @param registry the registry
	 * @param convention the convention, or {@code null} for the default
	 */
	public MicrometerWorkObserver(ObservationRegistry registry, @Nullable LeaderWorkObservationConvention convention) {
		this.registry = registry;
		this.convention = convention;
	}

	@Override
	public WorkObservation begin(Leadership leadership, Class<?> type, @Nullable String method, Context context) {
		LeaderWorkObservationContext observed = new LeaderWorkObservationContext(leadership, type, method);
		Observation observation = LeaderWorkObservationDocumentation.LEADER_WORK.observation(this.convention,
				DEFAULT_CONVENTION, () -> observed, this.registry);
		if (observation.isNoop()) {
			// The current observation, and that of a subscriber, remain
			return NONE;
		}
		if (context.get(ObservationThreadLocalAccessor.KEY) instanceof Observation parent) {
			observation.parentObservation(parent);
		}
		Observation.Scope previous = this.registry.getCurrentObservationScope();
		try {
			observation.start();
			return new Observed(observation, observed, observation.openScope(), this.registry, previous);
		}
		catch (RuntimeException | Error ex) {
			tryAlso(() -> closeFrom(previous), ex);
			// Stops handlers that have been started, unless one that has not fails here
			tryAlso(observation::stop, ex);
			throw ex;
		}
	}

	private static void tryAlso(Runnable action, Throwable failure) {
		try {
			action.run();
		}
		catch (RuntimeException | Error ex) {
			failure.addSuppressed(ex);
		}
	}

	/**
	 * Close a scope that may be open although a handler failed while it was opened.
	 */
	private void closeFrom(Observation.@Nullable Scope previous) {
		Observation.Scope current = this.registry.getCurrentObservationScope();
		if (current != null && current != previous) {
			close(current, this.registry, previous);
		}
	}

	/**
	 * Close a scope. It calls the handlers before it restores the previous one, which
	 * must not depend on their success: the thread is used for other work.
	 */
	private static void close(Observation.Scope scope, ObservationRegistry registry,
			Observation.@Nullable Scope previous) {
		try {
			scope.close();
		}
		catch (RuntimeException | Error ex) {
			registry.setCurrentObservationScope(previous);
			throw ex;
		}
	}

	private static final class Observed implements WorkObservation {

		private final Observation observation;

		private final LeaderWorkObservationContext context;

		private final Observation.Scope scope;

		private final ObservationRegistry registry;

		private final Observation.@Nullable Scope previous;

		private volatile boolean cancelled;

		Observed(Observation observation, LeaderWorkObservationContext context, Observation.Scope scope,
				ObservationRegistry registry, Observation.@Nullable Scope previous) {
			this.observation = observation;
			this.context = context;
			this.scope = scope;
			this.registry = registry;
			this.previous = previous;
		}

		@Override
		public Map<?, ?> context() {
			return Map.of(ObservationThreadLocalAccessor.KEY, this.observation);
		}

		@Override
		public void failed(Throwable failure) {
			Throwable cause = (failure instanceof CompletionException) ? failure.getCause() : null;
			this.observation.error((cause != null) ? cause : failure);
		}

		@Override
		public void cancelled() {
			this.cancelled = true;
		}

		@Override
		public void left() {
			close(this.scope, this.registry, this.previous);
		}

		@Override
		public void ended(boolean interrupted) {
			this.context.setOutcome(outcome(interrupted));
			this.observation.stop();
		}

		private Outcome outcome(boolean interrupted) {
			if (interrupted) {
				return Outcome.INTERRUPTED;
			}
			if (this.context.getError() != null) {
				return Outcome.ERROR;
			}
			return this.cancelled ? Outcome.UNKNOWN : Outcome.SUCCESS;
		}

	}

}
