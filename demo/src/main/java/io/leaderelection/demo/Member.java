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

package io.leaderelection.demo;

import java.io.IOException;

import tools.jackson.databind.node.ObjectNode;

/**
 * A node, and its reports.
 *
 * @param node the node
 * @param probe asks it
 */
record Member(NodeProcess node, NodeProbe probe) {

	/**
	 * Do something to the node.
	 * @param action what
	 * @return a message for the page
	 * @throws RefusedException if it is not possible now
	 */
	String act(Action action) throws IOException, InterruptedException {
		String name = this.node.name();
		return switch (action) {
			case RESIGN -> resign();
			case KILL -> {
				this.node.kill();
				yield name + " was killed: kill -9 " + this.node.pid();
			}
			case FREEZE -> {
				this.node.freeze();
				yield name + " is frozen: kill -STOP " + this.node.pid();
			}
			case THAW -> {
				this.node.thaw();
				yield name + " runs again: kill -CONT " + this.node.pid();
			}
			case CUT -> {
				refuseIf(this.node.state() == ProcessState.DEAD || this.node.isCut(), "cannot be cut off");
				this.node.cut();
				yield name + " is cut off: what it and the database send is dropped";
			}
			case RECONNECT -> {
				refuseIf(!this.node.isCut(), "is not cut off");
				this.node.reconnect();
				yield name + " is connected again: its old connections are reset";
			}
			case START -> {
				refuseIf(this.node.state() != ProcessState.DEAD, "runs");
				this.node.start();
				yield name + " starts";
			}
			case END -> throw new IllegalArgumentException("A visitor cannot request END");
		};
	}

	private void refuseIf(boolean refused, String why) {
		if (refused) {
			throw new RefusedException(this.node.name() + " " + why);
		}
	}

	private String resign() throws IOException {
		refuseIf(this.node.state() != ProcessState.RUNNING, "is " + this.node.state());
		String refusal = this.probe.client().resign();
		if (refusal != null) {
			throw new RefusedException(this.node.name() + " does not resign: " + refusal);
		}
		return this.node.name() + " was asked to resign";
	}

	DemoState.Node state() {
		NodeView view = this.probe.view();
		boolean dead = this.node.state() == ProcessState.DEAD;
		// A process that has just been started has not reported
		NodeObservation observation = (dead || view.pid() == this.node.pid()) ? view.observation() : null;
		ObjectNode leadership = (observation != null && !dead) ? observation.leadership() : null;
		if (leadership != null && (view.stale() || this.node.state() == ProcessState.FROZEN)) {
			leadership = leadership.deepCopy().put("stale", true);
		}
		return new DemoState.Node(this.node.name(), this.node.url(), this.node.pid(), this.node.state().toString(),
				this.node.isCut(), this.probe.health(), leadership,
				(observation != null) ? Long.valueOf(observation.asked().toEpochMilli()) : null,
				(observation != null) ? Long.valueOf(observation.metrics().leaderTicks()) : null,
				(observation != null) ? Long.valueOf(observation.metrics().allTicks()) : null);
	}

}
