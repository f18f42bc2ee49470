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

import java.time.Duration;

import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.engine.ElectionSessions;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.LocalSessions;

/**
 * {@link ElectionStore} without a database.
 */
final class LocalElectionStore implements ElectionStore {

	private static final Duration LEASE = Duration.ofHours(24);

	private final boolean leads;

	LocalElectionStore(Mode mode) {
		this.leads = (mode == Mode.ALWAYS);
	}

	@Override
	public void check() {
	}

	/**
	 * Return settings with a lease that outlasts a pause at a breakpoint, since nobody
	 * else could take over.
	 */
	@Override
	public ElectionSettings settings(ElectionDefinition definition) {
		ElectionSettings settings = definition.settings();
		return new ElectionSettings(settings.election(), settings.nodeId(), LEASE, Duration.ZERO,
				settings.drainTimeout(), settings.candidate());
	}

	@Override
	public ElectionSessions sessions(ElectionDefinition definition) {
		return this.leads ? LocalSessions.always() : LocalSessions.never();
	}

}
