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

package io.leaderelection.simulation.server;

import org.jspecify.annotations.Nullable;

/**
 * A request as a program of steps on the server. Each step is indivisible; other sessions
 * run between two steps, and the session may be cancelled, ended or stopped there. All
 * that arrives as one request of the simple query protocol is one statement and, outside
 * of a transaction block, one transaction.
 * <p>
 * A statement is submitted once.
 *
 * @param <T> the type of the result
 */
public abstract class Statement<T> {

	/** The step after the last one. */
	protected static final int END = -1;

	private @Nullable T result;

	/**
	 * Run a step. If it makes the session wait for a lock or sleep, the next step runs
	 * after that.
	 * @param step the number of the step, which is 0 for the first one
	 * @param backend the session
	 * @return the number of the next step, or {@link #END}
	 * @throws SqlError if the step fails
	 */
	protected abstract int step(int step, Backend backend) throws SqlError;

	/**
	 * Handle an error of a step, as an {@code EXCEPTION} clause does, or let it end the
	 * statement.
	 * @param step the step that failed: it threw the error, waited when it happened, or
	 * was the next to run
	 * @param error the error
	 * @param backend the session
	 * @return the number of the next step
	 * @throws SqlError if it is not handled here
	 */
	protected int handle(int step, SqlError error, Backend backend) throws SqlError {
		throw error;
	}

	/**
	 * Set the result.
	 */
	protected final void answer(@Nullable T value) {
		this.result = value;
	}

	/**
	 * Return whether the statement is allowed in a transaction that has failed.
	 */
	protected boolean endsTransaction() {
		return false;
	}

	final @Nullable T result() {
		return this.result;
	}

}
