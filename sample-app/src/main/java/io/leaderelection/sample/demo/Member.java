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

package io.leaderelection.sample.demo;

import java.io.IOException;
import java.time.Instant;

/**
 * A node, and what it says.
 *
 * @param node the node
 * @param probe asks it
 */
record Member(NodeProcess node, NodeProbe probe) {

	/**
	 * Do something to the node.
	 * @param action what
	 * @param ended told of the end of a process that is started
	 * @return a message for the page
	 * @throws RefusedException if it makes no sense now
	 */
	String act(String action, NodeProcess.Ended ended) throws IOException, InterruptedException {
		switch (action) {
			case "resign" -> {
				return resign();
			}
			case "kill" -> {
				this.node.kill();
				return this.node.name() + " was killed: kill -9 " + this.node.pid();
			}
			case "freeze" -> {
				this.node.freeze();
				return this.node.name() + " is frozen: kill -STOP " + this.node.pid();
			}
			case "thaw" -> {
				this.node.thaw();
				return this.node.name() + " runs again: kill -CONT " + this.node.pid();
			}
			case "cut" -> {
				refuseIf(this.node.state() == NodeProcess.State.DEAD || this.node.proxy().isCut(), "cannot be cut off");
				this.node.proxy().cut();
				return this.node.name() + " is cut off: what it and the database send is swallowed";
			}
			case "reconnect" -> {
				refuseIf(!this.node.proxy().isCut(), "is not cut off");
				this.node.proxy().reconnect();
				return this.node.name() + " is connected again: its old connections are reset";
			}
			case "start" -> {
				refuseIf(this.node.state() != NodeProcess.State.DEAD, "runs");
				this.node.start(ended);
				return this.node.name() + " starts";
			}
			default -> throw new RefusedException("There is no action '" + action + "'");
		}
	}

	private void refuseIf(boolean refused, String why) {
		if (refused) {
			throw new RefusedException(this.node.name() + " " + why);
		}
	}

	private String resign() throws IOException {
		refuseIf(this.node.state() != NodeProcess.State.RUNNING, "is " + this.node.state());
		String refusal = this.probe.resign();
		if (refusal != null) {
			throw new RefusedException(this.node.name() + " does not resign: " + refusal);
		}
		return this.node.name() + " was asked to resign";
	}

	DemoState.Node state() {
		NodeView view = this.probe.view();
		// A process that has just been started has not said anything
		boolean said = view.pid() == this.node.pid() || this.node.state() == NodeProcess.State.DEAD;
		var leadership = said ? view.leadership() : null;
		if (leadership != null && (view.stale() || this.node.state() == NodeProcess.State.FROZEN)) {
			leadership = leadership.deepCopy().put("stale", true);
		}
		Instant seen = view.seenAt();
		return new DemoState.Node(this.node.name(), this.node.url(), this.node.pid(), this.node.state().toString(),
				this.node.proxy().isCut(), view.health(), leadership,
				(said && seen != null) ? Long.valueOf(seen.toEpochMilli()) : null, view.metrics().leaderTicks(),
				view.metrics().allTicks());
	}

}
