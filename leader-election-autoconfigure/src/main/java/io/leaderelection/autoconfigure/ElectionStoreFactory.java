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

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;

/**
 * Creates the {@link ElectionStore} of each election, according to
 * {@code leader-election.mode}.
 */
interface ElectionStoreFactory {

	/**
	 * Check the configuration, without opening a connection.
	 * @throws InvalidUsageException if it cannot be used
	 */
	void check();

	/**
	 * Return the settings of an election in this mode.
	 * @param definition the election
	 * @return the settings
	 */
	default ElectionSettings settings(ElectionDefinition definition) {
		return definition.settings();
	}

	/**
	 * Return the store of an election.
	 * @param definition the election
	 * @return the store
	 */
	ElectionStore create(ElectionDefinition definition);

}
