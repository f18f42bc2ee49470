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

package io.leaderelection;

import java.util.Set;

/**
 * All elections of the application, by name.
 *
 * @since 0.1.0
 */
public interface LeaderElectors extends Iterable<LeaderElector> {

	/**
	 * Return the elector of the default election.
	 * @return the elector of the default election
	 */
	LeaderElector getDefault();

	/**
	 * Return the elector of an election.
	 * @param election the name of the election
	 * @return the elector
	 * @throws IllegalArgumentException if there is no election of that name
	 */
	LeaderElector get(String election);

	/**
	 * Return the names of all elections, the default first.
	 * @return the names
	 */
	Set<String> getElections();

}
