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
import java.util.Map;

import io.leaderelection.simulation.Invariants.Violation;
import org.jspecify.annotations.Nullable;

/**
 * Runs histories, each with the seed of its own. Not for several threads.
 */
final class Simulation {

	private static final long LIMIT = 60 * World.SECONDS;

	private final ThreadPool pool = new ThreadPool();

	private final Store store;

	private final Sentinel sentinel;

	Simulation(Store store, Sentinel sentinel) {
		this.store = store;
		this.sentinel = sentinel;
	}

	/**
	 * Run the history of a seed.
	 */
	Result run(long seed) {
		return run(seed, false);
	}

	/**
	 * Run the history of a seed again, and record what happens.
	 */
	Result record(long seed) {
		return run(seed, true);
	}

	private Result run(long seed, boolean recorded) {
		World world = new World(this.store, seed, this.sentinel, this.pool, recorded);
		Scheduler scheduler = world.scheduler();
		Faults faults = new Faults(world);
		try {
			world.nodes().forEach(Node::start);
			patrol(world);
			faults.schedule();
			while (!faults.areOver() && !scheduler.isStopped()) {
				scheduler.runUntil(scheduler.now() + World.SECONDS);
			}
			faults.end();
			settle(world);
		}
		finally {
			scheduler.close();
		}
		Throwable failure = scheduler.failure();
		if (failure != null) {
			throw new IllegalStateException("The simulation of seed " + seed + " failed", failure);
		}
		Invariants invariants = world.invariants();
		return new Result(seed, invariants.violation(), invariants.grants(), invariants.commits(),
				invariants.refusals(), invariants.excused(), invariants.lossesByLease(), invariants.handOvers(),
				scheduler.now(), scheduler.steps(), scheduler.handOvers(), faults.counts(), world.lines());
	}

	private static void patrol(World world) {
		world.scheduler().after(Invariants.PATROL, () -> {
			world.invariants().patrol();
			patrol(world);
		});
	}

	/**
	 * G6: after the last fault, one node leads and the others follow.
	 */
	private static void settle(World world) {
		Scheduler scheduler = world.scheduler();
		world.record("the faults are over");
		long limit = scheduler.now() + LIMIT;
		String unsettled = "";
		while (unsettled != null && !scheduler.isStopped()) {
			scheduler.runUntil(scheduler.now() + 100 * World.MILLIS);
			unsettled = world.invariants().unsettled();
			if (unsettled != null && scheduler.now() > limit) {
				world.invariants().violated(Check.G6_LIVENESS, unsettled);
			}
		}
	}

	/**
	 * The result of a history.
	 */
	record Result(long seed, @Nullable Violation violation, int grants, int commits, int refusals, int excused,
			int lossesByLease, int handOvers, long time, long steps, long switches, Map<Faults.Kind, Integer> faults,
			List<String> lines) {
	}

}
