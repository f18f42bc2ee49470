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

package io.leaderelection.comparison;

import java.time.Duration;

import io.leaderelection.LeaderElector;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;

/**
 * A node's part in an election, as the documentation of a candidate shows it: a bean of
 * the application of a {@link Node}, which closes it in an orderly stop.
 */
interface Adapter {

	/**
	 * Whether this node leads, as the API of the candidate answers.
	 */
	boolean isLeader();

	/**
	 * Runs leader-only work if this node leads, with the check that the candidate offers.
	 */
	default void runIfLeader(Runnable work) {
		if (isLeader()) {
			work.run();
		}
	}

	/**
	 * How long the job pauses between two attempts to run.
	 */
	default Duration pause() {
		return Duration.ofMillis(20);
	}

	/**
	 * This project, configured by its properties.
	 *
	 * @param elector its API
	 */
	@EnableAutoConfiguration
	record ThisProject(LeaderElector elector) implements Adapter {

		@Override
		public boolean isLeader() {
			return this.elector.isLeader();
		}

		@Override
		public void runIfLeader(Runnable work) {
			this.elector.runIfLeader(work);
		}

	}

}
