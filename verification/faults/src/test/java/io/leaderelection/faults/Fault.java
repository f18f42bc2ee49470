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

package io.leaderelection.faults;

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

import io.leaderelection.faults.FencedWriter.Place;

/**
 * A row of the table of faults: how a fault is arranged, injected and healed, what is to
 * happen, and in which ring it runs on which topology. The soak draws from the same rows.
 */
final class Fault {

	private static final Step<FaultScene> NOTHING = (scene) -> {
	};

	final String name;

	final Step<FaultScene> injection;

	final Map<Topology, Integer> rings = new EnumMap<>(Topology.class);

	final List<Step<FaultScene>> expectations = new ArrayList<>();

	Step<FaultScene> arrangement = NOTHING;

	Step<FaultScene> healing = NOTHING;

	/** Where a transaction of the leader is held meanwhile, if one is. */
	Place place;

	/** How many leases it lasts if the leader is to survive it, otherwise negative. */
	double survived = -1;

	/** Whether the target ends, and another node is started in its place. */
	boolean replaces;

	/** Whether the leader is to notice that its session has ended. */
	boolean endsSession;

	boolean inSoak;

	/** Whether a proxy may reset the connection of a leader that is alive. */
	boolean resets;

	/**
	 * Create a new {@code Fault} instance.
	 * @param name its name, also in the table of figures
	 * @param injection injects it into the target, which is the leader unless the
	 * arrangement says otherwise
	 * @param traits what else there is to say
	 */
	Fault(String name, Step<FaultScene> injection, Trait... traits) {
		this.name = name;
		this.injection = injection;
		for (Trait trait : traits) {
			trait.addTo(this);
		}
	}

	boolean isHealed() {
		return this.healing != NOTHING;
	}

	/**
	 * What there is to say about a fault.
	 */
	@FunctionalInterface
	interface Trait {

		void addTo(Fault fault);

	}

}
