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

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;

import io.leaderelection.engine.WorkObserver.WorkObservation;

/**
 * Counts the invocations of the guarded methods with one name. Each invocation is counted
 * once.
 */
public final class InvocationCounts implements WorkObservation {

	private final String method;

	private final Map<Outcome, LongAdder> counts = new EnumMap<>(Outcome.class);

	InvocationCounts(String method) {
		this.method = method;
		for (Outcome outcome : Outcome.values()) {
			this.counts.put(outcome, new LongAdder());
		}
	}

	/**
	 * Return the method.
	 * @return the class and the name of the method
	 */
	public String method() {
		return this.method;
	}

	/**
	 * Return how many invocations had an outcome.
	 * @param outcome the outcome
	 * @return the number since the start of the application
	 */
	public long get(Outcome outcome) {
		return adder(outcome).sum();
	}

	/**
	 * Count an invocation that was refused.
	 * @param rejected whether its caller received an exception
	 */
	public void refused(boolean rejected) {
		adder(rejected ? Outcome.REJECTED : Outcome.SKIPPED).increment();
	}

	@Override
	public void ended(boolean interrupted) {
		adder(interrupted ? Outcome.INTERRUPTED : Outcome.RUN).increment();
	}

	private LongAdder adder(Outcome outcome) {
		LongAdder adder = this.counts.get(outcome);
		if (adder == null) {
			throw new IllegalArgumentException("No count of " + outcome);
		}
		return adder;
	}

	/**
	 * The outcome of an invocation.
	 */
	public enum Outcome {

		/**
		 * Ran to its end, with or without an exception.
		 */
		RUN,

		/**
		 * Not run, since this node did not lead, no fire of its durable schedule was due,
		 * or another call of a method that runs on grant was running.
		 */
		SKIPPED,

		/**
		 * Not run, since this node did not lead, and its caller received an exception.
		 */
		REJECTED,

		/**
		 * Interrupted or cancelled before its end, since leadership was lost or a
		 * hand-over could not wait any longer.
		 */
		INTERRUPTED

	}

}
