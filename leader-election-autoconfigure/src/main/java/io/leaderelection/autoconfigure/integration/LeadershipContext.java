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

package io.leaderelection.autoconfigure.integration;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;

import org.springframework.integration.leader.Context;

/**
 * The {@link Context} of a role in one term.
 */
final class LeadershipContext implements Context {

	private final LeaderElector elector;

	private final Leadership leadership;

	private final String role;

	/**
	 * Create a new {@code LeadershipContext} instance.
	 * @param elector the elector of the election
	 * @param event the event of the term
	 * @param role the role that follows the election
	 */
	LeadershipContext(LeaderElector elector, LeadershipEvent event, String role) {
		this.elector = elector;
		this.leadership = event.getLeadership();
		this.role = role;
	}

	/**
	 * Return whether this node leads in the term of this context. Becomes {@code false}
	 * when a hand-over begins, and remains so if this node leads again.
	 */
	@Override
	public boolean isLeader() {
		return this.elector.isLeader() && this.leadership.isCurrent();
	}

	/**
	 * Hand leadership over if this node leads in the term of this context. Does not wait.
	 */
	@Override
	public void yield() {
		if (isLeader()) {
			this.elector.resign();
		}
	}

	@Override
	public String getRole() {
		return this.role;
	}

	@Override
	public String toString() {
		return "LeadershipContext [role=" + this.role + ", leadership=" + this.leadership + "]";
	}

}
