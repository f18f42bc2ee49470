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

package io.leaderelection.engine;

import java.time.Instant;
import java.util.SplittableRandom;
import java.util.concurrent.locks.Lock;

import io.leaderelection.simulation.Process;
import io.leaderelection.simulation.Scheduler;
import io.leaderelection.simulation.TaskLock;

/**
 * The platform of a simulated process: its clocks, tasks and locks.
 */
public class SimulatedPlatform implements Platform {

	private static final Instant EPOCH = Instant.parse("2026-01-01T00:00:00Z");

	private final Scheduler scheduler;

	private final Process process;

	private final SplittableRandom random;

	public SimulatedPlatform(Scheduler scheduler, Process process, SplittableRandom random) {
		this.scheduler = scheduler;
		this.process = process;
		this.random = random;
	}

	@Override
	public long nanoTime() {
		this.scheduler.step();
		return this.process.clock();
	}

	@Override
	public Instant now() {
		this.process.allocate();
		return EPOCH.plusNanos(this.process.clock());
	}

	@Override
	public long random(long bound) {
		return this.random.nextLong(bound);
	}

	@Override
	public Lock newLock() {
		return new TaskLock(this.scheduler, this.process);
	}

	@Override
	public void park(Object blocker, long nanos) {
		this.scheduler.park(this.process, nanos);
	}

	@Override
	public void unpark(Thread thread) {
		this.scheduler.unpark(thread);
	}

	@Override
	public Thread newThread(String name, Runnable task) {
		this.process.allocate();
		return this.scheduler.newTask(this.process, name, task);
	}

	@Override
	public Worker newWorker(String name) {
		return new SimulatedWorker(this, this.process, name);
	}

}
