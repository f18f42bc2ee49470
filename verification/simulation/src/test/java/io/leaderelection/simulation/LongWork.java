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

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.Work;
import org.jspecify.annotations.Nullable;

/**
 * Work that continues after its thread has left it, until it ends or is cancelled. The
 * cancellation may block, fail or have no effect.
 */
final class LongWork {

	private static final int INNER = 3;

	private static final long LONGEST = 8 * World.SECONDS;

	private final Node node;

	private final World world;

	private final Scheduler scheduler;

	private @Nullable Object id;

	private boolean cancelled;

	LongWork(Node node) {
		this.node = node;
		this.world = node.world();
		this.scheduler = this.world.scheduler();
	}

	void begin() {
		try (Work work = this.node.elector().elector().gate().enter("long work")) {
			if (work != null) {
				this.id = this.world.invariants().workBegan(this.node, work.getLeadership());
				try {
					this.scheduler.newTask(this.node.process(), "long work", () -> run(work)).start();
				}
				catch (OutOfMemoryError ex) {
					ended();
					return;
				}
				work.continueUntilEnd(this::cancel);
			}
		}
	}

	private void run(Work work) {
		long left = this.world.chance(10) ? this.world.random().nextLong(LONGEST)
				: this.world.between(World.MILLIS, LONGEST);
		while (left > 0 && !this.cancelled) {
			long slice = Math.min(left, 20 * World.MILLIS);
			this.scheduler.sleepUninterruptibly(slice);
			left -= slice;
		}
		if (this.world.chance(20)) {
			abandon(work);
			return;
		}
		if (this.world.chance(50)) {
			beginInside(work);
		}
		ended();
		work.end();
	}

	/**
	 * Have work begin inside this work while this work ends, now and then as the last
	 * that a hand-over waits for.
	 */
	private void beginInside(Work work) {
		if (this.world.chance(50)) {
			this.node.resign();
			this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS / 10, 100 * World.MILLIS));
		}
		for (int left = INNER; left > 0; left--) {
			this.node.spawn("inner work", () -> workInside(work));
		}
		for (int left = this.world.random().nextInt(8); left > 0; left--) {
			this.node.step();
		}
	}

	/**
	 * The application does not want the result any longer, but the code goes on for a
	 * while. It ends before the engine assumes that it has ended.
	 */
	private void abandon(Work work) {
		Object began = this.id;
		if (began != null) {
			this.world.invariants().workAbandoned(this.node, began);
		}
		work.endCancelled();
		long longest = Math.max(this.world.drainTimeout().toNanos(), ElectionSettings.GRACE.toNanos()) / 5 * 4;
		this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS, longest));
		ended();
	}

	private void workInside(Work outer) {
		try (Work inner = this.node.elector().elector().gate().enter("inner work", outer)) {
			if (inner != null) {
				Object began = this.world.invariants().workBegan(this.node, inner.getLeadership());
				this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS, 100 * World.MILLIS));
				if (this.node.isUp()) {
					this.world.invariants().workEnded(this.node, began);
				}
			}
		}
	}

	private void ended() {
		Object began = this.id;
		if (began != null && this.node.isUp()) {
			this.world.invariants().workEnded(this.node, began);
		}
	}

	private void cancel() {
		int kind = this.world.random().nextInt(10);
		if (kind < 3) {
			this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS, 3 * World.SECONDS));
		}
		else if (kind < 5) {
			throw new IllegalStateException("A cancellation fails");
		}
		else if (kind < 6) {
			return;
		}
		this.cancelled = true;
	}

}
