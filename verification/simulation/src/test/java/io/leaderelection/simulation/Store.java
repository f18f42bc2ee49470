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

package io.leaderelection.simulation;

import java.util.List;
import java.util.Locale;

/**
 * The store of the elections of a history.
 */
enum Store {

	/**
	 * Simulated sessions, which do what those of the library do.
	 */
	ADVISORY_LOCK,

	/**
	 * The sessions of the library on a simulated table.
	 */
	TABLE;

	private static final String CHOSEN = System.getProperty("simulation.store");

	/**
	 * Return the stores to test: that of {@code -Dsimulation.store=table}, or all.
	 */
	static List<Store> chosen() {
		return (CHOSEN != null) ? List.of(valueOf(CHOSEN.toUpperCase(Locale.ROOT).replace('-', '_')))
				: List.of(values());
	}

	@Override
	public String toString() {
		return name().toLowerCase(Locale.ROOT).replace('_', '-');
	}

}
