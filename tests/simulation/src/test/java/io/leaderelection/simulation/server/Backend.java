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

import java.util.function.Consumer;

/**
 * A session on a simulated server: the process that serves one connection. The methods of
 * the client's side are {@link #submit}, {@link #beginRequest} and {@link #disconnect};
 * call each when its message has arrived. The other ones are for statements.
 */
public final class Backend {

	Backend() {
	}

	public int pid() {
		throw new UnsupportedOperationException();
	}

	public String applicationName() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Return whether the process still exists; it may have begun to end.
	 */
	public boolean isAlive() {
		throw new UnsupportedOperationException();
	}

	/**
	 * Receive a request. It runs when the ones before it are done. A statement takes
	 * effect whether or not its reply reaches the client. There is no reply if the
	 * session ends first.
	 * @param statement the request
	 * @param reply receives the answer when the server sends it
	 */
	public <T> void submit(Statement<T> statement, Consumer<Reply<T>> reply) {
		throw new UnsupportedOperationException();
	}

	/**
	 * Receive the first message of a request of the extended protocol, and no more than
	 * that for now: until the rest arrives by {@link #submit}, no timeout of the server
	 * runs.
	 */
	public void beginRequest() {
	}

	/**
	 * Learn that the client has closed the connection: at once if no statement runs, else
	 * after the statement or at the next look whether the client is there.
	 */
	public void disconnect() {
	}

	/**
	 * Stop this process where it is.
	 */
	public void freeze() {
	}

	/**
	 * Let this process go on after {@link #freeze}.
	 */
	public void thaw() {
	}

}
