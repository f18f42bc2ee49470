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
import io.micrometer.observation.Observation;
import org.jspecify.annotations.Nullable;

/**
 * {@link Observation.Context Context} of the observation of leader work.
 *
 * @since 0.1.0
 */
public class LeaderWorkObservationContext extends Observation.Context {

	private final Leadership leadership;

	private final Class<?> target;

	private final @Nullable String method;

	private volatile Outcome outcome = Outcome.UNKNOWN;

	/**
	 * Create a new {@code LeaderWorkObservationContext} instance.
	 * @param leadership the leadership in whose term the work runs
	 * @param target the class of the method, or of the object that was passed to
	 * {@code LeaderElector}
	 * @param method the name of the method, or {@code null} if the work is an object that
	 * was passed to {@code LeaderElector}
	 */
	public LeaderWorkObservationContext(Leadership leadership, Class<?> target, @Nullable String method) {
		this.leadership = leadership;
		this.target = target;
		this.method = method;
	}

	/**
	 * Return the leadership in whose term the work runs.
	 * @return the leadership
	 */
	public Leadership getLeadership() {
		return this.leadership;
	}

	/**
	 * Return the class that does the work: that of a {@code @LeaderOnly} method, or of
	 * the object that was passed to {@code LeaderElector}.
	 * @return the class
	 */
	public Class<?> getTarget() {
		return this.target;
	}

	/**
	 * Return the {@code @LeaderOnly} method that does the work.
	 * @return the name of the method, or {@code null} if the work is an object that was
	 * passed to {@code LeaderElector}
	 */
	public @Nullable String getMethod() {
		return this.method;
	}

	/**
	 * Return the outcome of the work.
	 * @return the outcome, {@link Outcome#UNKNOWN} until the work has ended
	 */
	public Outcome getOutcome() {
		return this.outcome;
	}

	/**
	 * Set the outcome of the work.
	 * @param outcome the outcome
	 */
	public void setOutcome(Outcome outcome) {
		this.outcome = outcome;
	}

	/**
	 * The outcome of leader work.
	 */
	public enum Outcome {

		/** The work has completed. */
		SUCCESS,

		/** The work has failed. */
		ERROR,

		/**
		 * The work was interrupted or cancelled, since leadership was lost or a hand-over
		 * could not wait any longer.
		 */
		INTERRUPTED,

		/** The work has not ended, or its subscriber has cancelled it. */
		UNKNOWN

	}

}
