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
import java.util.Locale;

import io.leaderelection.autoconfigure.LeaderElectionProperties.Mode;
import io.leaderelection.engine.ElectionSessions;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.LocalSessions;
import io.leaderelection.engine.ManualSessions;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * {@link ElectionSessionsFactory} without a database.
 */
final class LocalElectionSessionsFactory implements ElectionSessionsFactory {

	private static final Log logger = LogFactory.getLog(LocalElectionSessionsFactory.class);

	private static final Duration LEASE = Duration.ofHours(24);

	private final Mode mode;

	private final boolean leader;

	/**
	 * Create a new {@code LocalElectionSessionsFactory} instance.
	 * @param mode any mode except {@link Mode#POSTGRESQL}
	 * @param leader whether this node leads from the start in mode manual
	 */
	LocalElectionSessionsFactory(Mode mode, boolean leader) {
		this.mode = mode;
		this.leader = leader;
	}

	@Override
	public void check() {
		logger.info("No election takes place, this node " + switch (this.mode) {
			case ALWAYS -> "always leads";
			case NEVER -> "never leads";
			default -> "leads when a test grants leadership";
		} + " (leader-election.mode=" + this.mode.name().toLowerCase(Locale.ROOT) + ")");
	}

	/**
	 * Return settings with a lease that is longer than a pause at a breakpoint, since no
	 * other node could take over.
	 */
	@Override
	public ElectionSettings settings(ElectionDefinition definition) {
		ElectionSettings settings = definition.settings();
		return new ElectionSettings(settings.election(), settings.nodeId(), LEASE, Duration.ZERO,
				settings.fastTakeover(), settings.drainTimeout(), settings.candidate(), settings.standbys(),
				settings.profile(), settings.priorityHold());
	}

	@Override
	public ElectionSessions sessions(ElectionDefinition definition) {
		return switch (this.mode) {
			case ALWAYS -> LocalSessions.always();
			case NEVER -> LocalSessions.never();
			default -> new ManualSessions(this.leader);
		};
	}

}
