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
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SerialWorker;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.context.Lifecycle;
import org.springframework.context.Phased;
import org.springframework.context.SmartLifecycle;

/**
 * A bean that leadership starts and stops. All its starts and stops run one after the
 * other in the order in which they were requested, on a thread of their own: a long stop
 * delays only the next start of this bean.
 */
public final class LeaderService {

	private static final Log logger = LogFactory.getLog(LeaderService.class);

	private static final Duration LONGEST_STOP = Duration.ofSeconds(30);

	private final String name;

	private final Lifecycle bean;

	private final int phase;

	private final SerialWorker worker;

	// Set by the worker only
	private volatile State state = State.STOPPED;

	private volatile @Nullable ElectionServices services;

	/** Whether the application has started the bean and has not stopped it since. */
	private volatile boolean requested;

	private volatile boolean removed;

	private volatile CompletableFuture<@Nullable Void> lastStop = CompletableFuture
		.<@Nullable Void>completedFuture(null);

	/**
	 * Create a new {@code LeaderService} instance.
	 * @param name the name of the bean
	 * @param bean the target of the proxy that prevents other callers from starting it
	 */
	public LeaderService(String name, Lifecycle bean) {
		this(name, bean, new SerialWorker("service-" + name));
	}

	LeaderService(String name, Lifecycle bean, SerialWorker worker) {
		this.name = name;
		this.bean = bean;
		this.phase = (bean instanceof Phased phased) ? phased.getPhase() : 0;
		this.worker = worker;
	}

	/**
	 * Start the bean if this node leads its election, unless it is started. Does not
	 * wait.
	 */
	public void start() {
		this.requested = true;
		ElectionServices owner = this.services;
		if (owner != null) {
			owner.startAgain(this);
		}
	}

	/**
	 * Stop the bean until leadership is granted again or {@link #start()} is called. Does
	 * not wait. While the election stops, leadership stops the bean; this method then
	 * stops it only if it is still running afterwards.
	 * @return a future that completes when the bean has stopped or has failed to stop
	 */
	public CompletableFuture<@Nullable Void> stop() {
		this.requested = false;
		ElectionServices owner = this.services;
		HandOver handOver = (owner != null) ? owner.handOver() : null;
		return (handOver != null) ? stopAfter(handOver) : submitStop();
	}

	private CompletableFuture<@Nullable Void> stopAfter(HandOver handOver) {
		try {
			return CompletableFuture
				.runAsync(handOver::await,
						(await) -> Platform.SYSTEM.newThread("service-" + this.name + "-stop", await).start())
				.thenCompose((over) -> submitStop());
		}
		catch (OutOfMemoryError ex) {
			// No thread can be created
			return submitStop();
		}
	}

	/**
	 * Stop the bean until leadership is granted again or {@link #start()} is called, and
	 * wait until it has stopped. The wait is bounded, and shorter if an earlier stop has
	 * not ended yet: a bean that did not stop when leadership ended is unlikely to stop
	 * now.
	 * <p>
	 * The container stops a {@link SmartLifecycle} by {@link #stop()}, and any other bean
	 * by this method. While the election stops, this method waits until leadership has
	 * stopped such a bean.
	 * @throws Throwable the exception that the bean has thrown
	 */
	public void stopAndWait() throws Throwable {
		this.requested = false;
		ElectionServices owner = this.services;
		HandOver handOver = (owner != null) ? owner.handOver() : null;
		if (handOver != null && !(this.bean instanceof SmartLifecycle) && !this.worker.isCurrentThread()) {
			handOver.await();
		}
		Duration limit = this.lastStop.isDone() ? LONGEST_STOP : ElectionSettings.GRACE;
		CompletableFuture<?> stopped = submitStop();
		// The bean would wait for itself
		if (this.worker.isCurrentThread()) {
			return;
		}
		try {
			stopped.get(limit.toNanos(), TimeUnit.NANOSECONDS);
		}
		catch (ExecutionException ex) {
			throw ex.getCause();
		}
		catch (TimeoutException ex) {
			interrupt(stopped);
			logger.warn(
					"Service " + this + " has not stopped within " + limit.toSeconds() + "s, no longer waiting for it");
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			logger.warn("Service " + this + " may not have stopped: interrupted while waiting for it");
		}
	}

	void stopUnlessLeading() {
		ElectionServices owner = this.services;
		if (owner != null) {
			owner.stopUnlessLeading(this);
		}
	}

	/**
	 * Never start the bean again. If it is running, it is stopped when leadership ends.
	 */
	public void remove() {
		this.removed = true;
	}

	/**
	 * Return whether the bean is never started again.
	 * @return whether it has also stopped
	 */
	public boolean isRemoved() {
		return this.removed && this.state == State.STOPPED;
	}

	/**
	 * Return whether a grant starts the bean.
	 */
	boolean isAutoStartup() {
		return this.requested || !(this.bean instanceof ListenerContainer container) || container.isAutoStartup();
	}

	/**
	 * Have starts and stops be interrupted by the node of an elector.
	 */
	void interruptedBy(DefaultLeaderElector elector) {
		elector.interruptTasksOf(this.worker);
	}

	/**
	 * Let the node forget the bean if it is removed and has stopped.
	 * @return whether it has
	 */
	boolean forget() {
		if (isRemoved()) {
			this.worker.useOwnInterrupter();
			return true;
		}
		return false;
	}

	void joined(ElectionServices owner) {
		this.services = owner;
	}

	int phase() {
		return this.phase;
	}

	/**
	 * Start the bean after the starts and stops that were requested before, unless it is
	 * no longer wanted then.
	 */
	CompletableFuture<@Nullable Void> submitStart(BooleanSupplier wanted) {
		return submit(() -> {
			if (!this.removed && wanted.getAsBoolean()) {
				doStart();
			}
		});
	}

	/**
	 * Stop the bean after the starts and stops that were requested before.
	 */
	CompletableFuture<@Nullable Void> submitStop() {
		CompletableFuture<@Nullable Void> stop = submit(this::doStop);
		this.lastStop = stop;
		return stop;
	}

	/**
	 * Wait until the last stop has ended, with or without a failure.
	 * @return whether it has ended
	 */
	boolean awaitStop(Duration timeout) throws InterruptedException {
		try {
			this.lastStop.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
			return true;
		}
		catch (ExecutionException ex) {
			return true;
		}
		catch (TimeoutException ex) {
			return false;
		}
	}

	private CompletableFuture<@Nullable Void> submit(Step step) {
		CompletableFuture<@Nullable Void> result = new CompletableFuture<>();
		AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();
		// An interrupt of the task does not concern those who are notified of its end
		if (!this.worker.add(result, () -> failure.set(run(step, result)), () -> complete(result, failure.get()))) {
			result.completeExceptionally(new IllegalStateException("No thread can be created for service " + this));
		}
		return result;
	}

	private static @Nullable Throwable run(Step step, CompletableFuture<@Nullable Void> result) {
		try {
			// It has failed if no thread could be created in time
			if (!result.isDone()) {
				step.run();
			}
			return null;
		}
		catch (Throwable ex) {
			return ex;
		}
	}

	private static void complete(CompletableFuture<@Nullable Void> result, @Nullable Throwable failure) {
		if (failure != null) {
			result.completeExceptionally(failure);
		}
		else {
			result.complete(null);
		}
	}

	private void doStart() throws InterruptedException {
		// A container that has started itself takes no part in the work of this term
		boolean foreign = this.state == State.STOPPED && this.bean instanceof ListenerContainer
				&& this.bean.isRunning();
		if (this.state == State.UNKNOWN || foreign) {
			doStop();
		}
		if (!this.bean.isRunning()) {
			this.state = State.UNKNOWN;
			this.bean.start();
		}
		this.state = State.STARTED;
	}

	private void doStop() throws InterruptedException {
		boolean running = this.bean.isRunning();
		if (this.state == State.STOPPED && !running) {
			return;
		}
		this.state = State.UNKNOWN;
		if (running && this.bean instanceof SmartLifecycle smart) {
			CountDownLatch stopped = new CountDownLatch(1);
			smart.stop(stopped::countDown);
			stopped.await();
		}
		else {
			this.bean.stop();
		}
		if (this.bean.isRunning()) {
			throw new IllegalStateException("Service " + this + " is still running after it was stopped");
		}
		this.state = State.STOPPED;
	}

	/**
	 * Interrupt the start or stop that is in progress, if any.
	 */
	void interrupt() {
		this.worker.interrupt();
	}

	/**
	 * Interrupt the start or stop with the given future, if it is in progress.
	 */
	void interrupt(CompletableFuture<?> task) {
		this.worker.interrupt(task);
	}

	@Override
	public String toString() {
		return "'" + this.name + "'";
	}

	/** A start or stop. */
	private interface Step {

		void run() throws InterruptedException;

	}

	/** The state of the bean. */
	private enum State {

		STOPPED, STARTED,

		/**
		 * The last start or stop has failed.
		 */
		UNKNOWN

	}

}
