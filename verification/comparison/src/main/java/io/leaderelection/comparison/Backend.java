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

package io.leaderelection.comparison;

import java.util.List;
import java.util.Map;

/**
 * The server that the nodes of a candidate use. It ends with the driver.
 */
interface Backend extends AutoCloseable {

	int port();

	/**
	 * The option of a node that says where the server is.
	 * @param node the number of the node
	 * @param port the port of the server, or of a proxy before it
	 * @param parameters parameters of the JDBC URL
	 */
	default String address(int node, int port, List<String> parameters) {
		return "address=127.0.0.1:" + port;
	}

	/**
	 * Ends the sessions of a node that leads an election.
	 */
	void endSessions(int node, String election) throws Exception;

	/**
	 * What the server has counted since its start, and its {@code connections}.
	 */
	Map<String, Double> counters();

	@Override
	void close();

	/**
	 * Starts a server with some options.
	 */
	interface Starter {

		Backend start(List<String> options) throws Exception;

	}

}
