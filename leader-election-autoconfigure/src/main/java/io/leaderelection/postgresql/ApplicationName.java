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

package io.leaderelection.postgresql;

import io.leaderelection.engine.SessionNames;

/**
 * The {@code application_name} of a session, by which people and other nodes know who it
 * is.
 */
final class ApplicationName {

	private final SessionNames names;

	private final String value;

	ApplicationName(String election, String nodeId) {
		this.names = new SessionNames(election);
		this.value = this.names.of(nodeId);
	}

	/**
	 * Return the node id in the name of another session of the same election.
	 */
	String nodeOf(String applicationName) {
		return this.names.nodeOf(applicationName);
	}

	@Override
	public String toString() {
		return this.value;
	}

}
