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

import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Function;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;

/**
 * The {@link LeaderElectors} of an application, with one watchdog for all.
 */
public final class DefaultLeaderElectors implements LeaderElectors {

	private final Map<String, DefaultLeaderElector> electors = new LinkedHashMap<>();

	/**
	 * Create a new {@code DefaultLeaderElectors} instance.
	 * @param elections the settings of all elections, the default first
	 * @param stores provides the store of an election
	 * @param publisher receives the events; called by one thread per election
	 */
	public DefaultLeaderElectors(Collection<ElectionSettings> elections,
			Function<ElectionSettings, ElectionStore> stores, Consumer<ElectionEvent> publisher) {
		this(elections, ElectionTimings.DEFAULTS, LogContext.NONE, stores, (elector, event) -> publisher.accept(event));
	}

	/**
	 * Create a new {@code DefaultLeaderElectors} instance.
	 * @param elections the settings of all elections, the default first
	 * @param timings the timings
	 * @param logContext adds key-value pairs to log messages
	 * @param stores provides the store of an election
	 * @param publisher receives the events, with the elector of their election; called by
	 * one thread per election
	 */
	public DefaultLeaderElectors(Collection<ElectionSettings> elections, ElectionTimings timings, LogContext logContext,
			Function<ElectionSettings, ElectionStore> stores,
			BiConsumer<DefaultLeaderElector, ElectionEvent> publisher) {
		WarmUp.begin();
		Watchdog watchdog = new Watchdog(Platform.SYSTEM);
		for (ElectionSettings settings : elections) {
			this.electors.put(settings.election(), new DefaultLeaderElector(settings, timings, logContext,
					stores.apply(settings), watchdog, (event) -> publisher.accept(get(event.getElection()), event)));
		}
	}

	@Override
	public DefaultLeaderElector getDefault() {
		return this.electors.values().iterator().next();
	}

	@Override
	public DefaultLeaderElector get(String election) {
		DefaultLeaderElector elector = this.electors.get(election);
		if (elector == null) {
			throw new IllegalArgumentException(
					"There is no election '" + election + "', only " + this.electors.keySet());
		}
		return elector;
	}

	@Override
	public Set<String> getElections() {
		return Collections.unmodifiableSet(this.electors.keySet());
	}

	@Override
	public Iterator<LeaderElector> iterator() {
		return Collections.<LeaderElector>unmodifiableCollection(this.electors.values()).iterator();
	}

	/**
	 * Return all electors.
	 * @return the electors, the default first
	 */
	public Collection<DefaultLeaderElector> all() {
		return Collections.unmodifiableCollection(this.electors.values());
	}

}
