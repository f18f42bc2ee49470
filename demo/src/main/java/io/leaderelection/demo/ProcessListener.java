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

package io.leaderelection.demo;

import java.time.Instant;

/**
 * Is notified of the start and the end of the process of a node.
 */
interface ProcessListener {

	void started(NodeProcess node);

	void ended(NodeProcess node, End end);

	/**
	 * The end of a process.
	 *
	 * @param lastRan until when it can have run
	 * @param frozen whether it was frozen
	 * @param killed whether it was killed here
	 */
	record End(Instant lastRan, boolean frozen, boolean killed) {

	}

}
