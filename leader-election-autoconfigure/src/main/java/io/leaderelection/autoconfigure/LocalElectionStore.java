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

package io.leaderelection.autoconfigure;

import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.engine.ElectionSessions;
import io.leaderelection.engine.LocalSessions;

/**
 * {@link ElectionStore} without a database.
 */
final class LocalElectionStore implements ElectionStore {

	private final boolean leads;

	LocalElectionStore(Mode mode) {
		this.leads = (mode == Mode.ALWAYS);
	}

	@Override
	public void check() {
	}

	@Override
	public ElectionSessions sessions(ElectionDefinition definition) {
		return this.leads ? LocalSessions.always() : LocalSessions.never();
	}

}
