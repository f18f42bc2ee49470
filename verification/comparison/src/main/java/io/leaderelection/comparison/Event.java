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

/**
 * What a node has reported.
 *
 * @param node the number of the node
 * @param kind what has happened
 * @param time when, of {@link System#nanoTime()}
 */
record Event(int node, Kind kind, long time) {

	/**
	 * What happens on a node.
	 */
	enum Kind {

		/** The application has started. */
		STARTED,

		/** The node has begun to lead. */
		GRANTED,

		/** A run of the leader-only job begins. */
		RUN,

		/** The node has led for the last time. */
		REVOKED,

		/** An orderly stop has begun. */
		STOPPING,

		/** The process has ended. */
		ENDED

	}

}
