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
import java.util.List;
import java.util.function.Predicate;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.LocalStore;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;

/**
 * {@link ElectionStoreFactory} without a database.
 */
final class LocalElectionStoreFactory implements ElectionStoreFactory {

	private static final Log logger = LogFactory.getLog(LocalElectionStoreFactory.class);

	private static final Duration LEASE = Duration.ofHours(24);

	private final ElectionDefinitions definitions;

	private final ObjectProvider<LocalStore> manual;

	private final @Nullable String url;

	/**
	 * Create a new {@code LocalElectionStoreFactory} instance.
	 * @param definitions the elections
	 * @param manual provides the store of each election if a test controls them
	 * @param url the URL of the application's database, if it is configured
	 */
	LocalElectionStoreFactory(ElectionDefinitions definitions, ObjectProvider<LocalStore> manual,
			@Nullable String url) {
		this.definitions = definitions;
		this.manual = manual;
		this.url = url;
	}

	@Override
	public void check() {
		boolean controlled = this.manual.getIfAvailable() != null;
		String message = "No election takes place, this node "
				+ (controlled ? "leads when a test grants leadership" : describe()) + " (leader-election.mode=always)";
		if (!controlled && this.definitions.all().stream().anyMatch(LocalElectionStoreFactory::isCandidate)
				&& this.url != null && JdbcUrl.isPostgreSql(this.url)) {
			logger.warn(message + ". So does each other node, although a PostgreSQL database is configured: remove "
					+ "leader-election.mode except for development and tests");
		}
		else {
			logger.info(message);
		}
	}

	private static boolean isCandidate(ElectionDefinition definition) {
		return definition.settings().candidate();
	}

	private String describe() {
		List<String> notLed = this.definitions.all()
			.stream()
			.filter(Predicate.not(LocalElectionStoreFactory::isCandidate))
			.map(ElectionDefinition::election)
			.toList();
		if (notLed.size() == this.definitions.all().size()) {
			return "never leads";
		}
		return "always leads" + (notLed.isEmpty() ? "" : ", but not the elections " + notLed);
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
	public ElectionStore create(ElectionDefinition definition) {
		LocalStore store = this.manual.getIfAvailable();
		return (store != null) ? store : LocalStore.always();
	}

}
