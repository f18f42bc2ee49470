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

import io.leaderelection.LeadershipEvent;

/**
 * A listener of the application, which may block, fail and resign.
 */
final class Listener {

	private Listener() {
	}

	static void listen(Node node, LeadershipEvent event) {
		World world = node.world();
		int kind = world.random().nextInt(100);
		if (kind < 70) {
			node.step();
		}
		else if (kind < 85) {
			pause(world, world.between(World.MILLIS, 100 * World.MILLIS));
		}
		else if (kind < 90) {
			pause(world, world.between(100 * World.MILLIS, 8 * World.SECONDS));
		}
		else if (kind < 93) {
			world.scheduler().sleepUninterruptibly(world.between(100 * World.MILLIS, 4 * World.SECONDS));
		}
		else if (kind < 97) {
			throw new IllegalStateException("A listener fails");
		}
		else if (kind < 98) {
			node.resign();
		}
		else {
			resignAndWait(node);
		}
	}

	private static void resignAndWait(Node node) {
		try {
			node.resignAndWait(() -> node.world().invariants().listenerDetached(node));
		}
		catch (InterruptedException ex) {
			// The listener ends, as it was asked to
		}
	}

	private static void pause(World world, long nanos) {
		try {
			world.scheduler().sleep(nanos);
		}
		catch (InterruptedException ex) {
			// The listener ends, as it was asked to
		}
	}

}
