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

import java.util.Map;

/**
 * Adds key-value pairs to log messages of an election, for logs that can be queried.
 */
@FunctionalInterface
public interface LogContext {

	/** The key of the group of nodes that share their elections. */
	String GROUP = "leader.group";

	/** The key of the election. */
	String ELECTION = "leader.election";

	/** The key of the id of this node. */
	String NODE = "leader.node";

	/** The key of the term of this node. */
	String TERM = "leader.term";

	/** The key of the reason why leadership ends. */
	String REASON = "leader.reason";

	/** The key of the id of the leader that this node follows. */
	String LEADER = "leader.current";

	/** The key of the term of the leader that this node follows. */
	String LEADER_TERM = "leader.current-term";

	/** Adds nothing. */
	LogContext NONE = (values, message) -> message.run();

	/**
	 * Log a message with key-value pairs.
	 * @param values the values by their keys
	 * @param message logs the message on the current thread
	 */
	void log(Map<String, String> values, Runnable message);

}
