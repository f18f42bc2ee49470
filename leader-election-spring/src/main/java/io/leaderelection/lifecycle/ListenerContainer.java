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

package io.leaderelection.lifecycle;

import java.time.Duration;

import io.leaderelection.engine.Work;
import io.leaderelection.engine.WorkGate;
import org.jspecify.annotations.Nullable;

import org.springframework.context.SmartLifecycle;

/**
 * The container that calls a listener for messages, as a service: leadership starts and
 * stops it. The calls of one term are leader work inside one unit of work, which lasts
 * until the container has stopped. They are therefore admitted while a hand-over drains
 * other work: a message that has been received is processed, and none is refused.
 */
public final class ListenerContainer implements SmartLifecycle {

	private static final Duration LONGEST_WAIT = Duration.ofSeconds(30);

	private static final Duration INTERVAL = Duration.ofMillis(10);

	private final String name;

	private final SmartLifecycle container;

	private final WorkGate gate;

	private final LeaderService service;

	private volatile @Nullable Work work;

	/**
	 * Create a new {@code ListenerContainer} instance.
	 * @param name the name of the listener for messages
	 * @param container the container
	 * @param gate the gate of the election
	 */
	public ListenerContainer(String name, SmartLifecycle container, WorkGate gate) {
		this.name = name;
		this.container = container;
		this.gate = gate;
		this.service = new LeaderService(name, this);
	}

	/**
	 * Return the service by which leadership starts and stops the container.
	 * @return the service
	 */
	public LeaderService service() {
		return this.service;
	}

	/**
	 * Return the work that the calls of the listener are part of.
	 * @return the work, or {@code null} unless the container is started
	 */
	public @Nullable Work work() {
		return this.work;
	}

	/**
	 * Wait until the container is stopping, before a call is refused because this node
	 * does not lead. Otherwise the container would call the listener again at once, and
	 * give the message up after some attempts. The container may have started itself.
	 */
	public void awaitStopping() {
		if (isRunning()) {
			this.service.stopUnlessLeading();
		}
		long deadline = System.nanoTime() + LONGEST_WAIT.toNanos();
		try {
			while (isRunning() && deadline - System.nanoTime() > 0) {
				Thread.sleep(INTERVAL.toMillis());
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	@Override
	public void start() {
		Work entered = this.gate.enter(this.name);
		if (entered == null) {
			throw new IllegalStateException("This node no longer leads");
		}
		try (entered) {
			entered.continueInService();
		}
		// A container that has stopped by itself was not stopped by leadership
		stopped(this.work);
		this.work = entered;
		try {
			this.container.start();
		}
		catch (Throwable ex) {
			stopped(entered);
			throw ex;
		}
	}

	@Override
	public void stop(Runnable callback) {
		// The end of a stop that was given up may come in a later term
		Work ending = this.work;
		try {
			this.container.stop(() -> {
				stopped(ending);
				callback.run();
			});
		}
		catch (Throwable ex) {
			// What is left of the work is waited for
			stopped(ending);
			throw ex;
		}
	}

	@Override
	public void stop() {
		try {
			this.container.stop();
		}
		finally {
			stopped(this.work);
		}
	}

	private void stopped(@Nullable Work ended) {
		if (ended != null) {
			ended.end();
		}
		if (this.work == ended) {
			this.work = null;
		}
	}

	@Override
	public boolean isRunning() {
		return this.container.isRunning();
	}

	@Override
	public boolean isAutoStartup() {
		return this.container.isAutoStartup();
	}

	@Override
	public int getPhase() {
		return this.container.getPhase();
	}

	@Override
	public String toString() {
		return this.name;
	}

}
