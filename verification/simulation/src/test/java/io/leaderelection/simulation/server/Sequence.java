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

import java.util.List;

/**
 * Several statements in one message, with the result of the last one.
 *
 * @param <T> the type of the result
 */
public final class Sequence<T> extends Statement<T> {

	private final List<Statement<T>> statements;

	private int index;

	/**
	 * Create a new {@code Sequence} instance.
	 * @param statements the statements
	 */
	public Sequence(List<Statement<T>> statements) {
		this.statements = statements;
	}

	@Override
	protected int step(int step, Backend backend) throws SqlError {
		return next(this.statements.get(this.index).step(step, backend));
	}

	@Override
	protected int handle(int step, SqlError error, Backend backend) throws SqlError {
		if (this.index == this.statements.size()) {
			// Cancelled after the last one, and before the message has ended
			throw error;
		}
		return next(this.statements.get(this.index).handle(step, error, backend));
	}

	private int next(int next) {
		if (next != END) {
			return next;
		}
		answer(this.statements.get(this.index).result());
		this.index++;
		return (this.index < this.statements.size()) ? 0 : END;
	}

}
