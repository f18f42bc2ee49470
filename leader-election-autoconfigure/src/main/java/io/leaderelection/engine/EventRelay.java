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

import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Delivers the events of one election in order, on one thread of its own that is started
 * when needed and ends when idle.
 */
final class EventRelay {

	private static final Log logger = LogFactory.getLog(EventRelay.class);

	private final Consumer<LeadershipEvent> publisher;

	private final Executor executor;

	private final Runnable onIdle;

	private final Object monitor = new Object();

	private int pending;

	private @Nullable Thread deliverer;

	private @Nullable LeadershipEvent delivered;

	private boolean detached;

	EventRelay(Consumer<LeadershipEvent> publisher, Executor executor, Runnable onIdle) {
		this.publisher = publisher;
		this.executor = executor;
		this.onIdle = onIdle;
	}

	/**
	 * Return an executor with one thread that exists only while there is something to do.
	 */
	static Executor singleThread(ThreadFactory threadFactory) {
		ThreadPoolExecutor executor = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
				threadFactory);
		executor.allowCoreThreadTimeOut(true);
		return executor;
	}

	void enqueue(LeadershipEvent event) {
		synchronized (this.monitor) {
			this.pending++;
		}
		try {
			this.executor.execute(() -> deliver(event));
		}
		catch (Throwable ex) {
			synchronized (this.monitor) {
				this.pending--;
			}
			throw ex;
		}
	}

	boolean isIdle() {
		synchronized (this.monitor) {
			return this.pending == 0;
		}
	}

	/**
	 * Return whether a hand-over has no listener to wait for.
	 */
	boolean isSettled() {
		synchronized (this.monitor) {
			return this.pending == 0 || this.detached;
		}
	}

	/**
	 * If the current thread runs a listener, let no hand-over wait for it, since it waits
	 * for the hand-over.
	 */
	void detachCurrent() {
		synchronized (this.monitor) {
			if (this.deliverer == Thread.currentThread()) {
				this.detached = true;
			}
		}
	}

	/**
	 * Interrupt the listener that is running, if any, of whichever event: those behind it
	 * in the queue are waited for too.
	 */
	void interrupt() {
		synchronized (this.monitor) {
			if (this.deliverer != null) {
				this.deliverer.interrupt();
			}
		}
	}

	/**
	 * Interrupt the listener that is running if it was told of the grant of what is lost
	 * now: the revoked event is behind it in the queue.
	 */
	void interruptGranted(Leadership lost) {
		synchronized (this.monitor) {
			if (this.deliverer != null && this.delivered instanceof LeadershipGrantedEvent granted
					&& granted.getLeadership() == lost) {
				this.deliverer.interrupt();
			}
		}
	}

	private void deliver(LeadershipEvent event) {
		synchronized (this.monitor) {
			this.deliverer = Thread.currentThread();
			this.delivered = event;
		}
		try {
			this.publisher.accept(event);
		}
		catch (Throwable ex) {
			logger.warn("A listener of " + event.getClass().getSimpleName() + " failed (" + event.getLeadership() + ")",
					ex);
		}
		finally {
			boolean idle;
			synchronized (this.monitor) {
				this.deliverer = null;
				this.delivered = null;
				this.detached = false;
				Thread.interrupted();
				idle = (--this.pending == 0);
			}
			if (idle) {
				this.onIdle.run();
			}
		}
	}

}
