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

import java.util.function.Consumer;

import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Delivers the events of one election in order, on a dedicated thread. Adding an event
 * cannot fail: if no thread can be created, events wait in a queue of the relay itself.
 */
final class EventRelay {

	private static final ElectionLog log = new ElectionLog(LogFactory.getLog(EventRelay.class));

	private final Consumer<LeadershipEvent> publisher;

	private final Platform.Workers worker;

	private final Runnable onIdle;

	private final Runnable onStarvation;

	private final Runnable delivery = this::deliverAll;

	private final Object monitor = new Object();

	private @Nullable Delivery first;

	private @Nullable Delivery last;

	private boolean scheduled;

	private @Nullable Thread deliverer;

	private boolean detached;

	/**
	 * Create a new {@code EventRelay} instance.
	 * @param publisher delivers an event to the listeners
	 * @param worker a worker with one thread
	 * @param onIdle called when all events have been delivered
	 * @param onStarvation called when an event waits for {@link #revive()}
	 */
	EventRelay(Consumer<LeadershipEvent> publisher, Platform.Workers worker, Runnable onIdle, Runnable onStarvation) {
		this.publisher = publisher;
		this.worker = worker;
		this.onIdle = onIdle;
		this.onStarvation = onStarvation;
	}

	/**
	 * Deliver an event after the events that were added before.
	 */
	void enqueue(Delivery added) {
		synchronized (this.monitor) {
			if (this.last != null) {
				this.last.next = added;
			}
			else {
				this.first = added;
			}
			this.last = added;
		}
		if (!schedule()) {
			this.onStarvation.run();
		}
	}

	/**
	 * Set whether the thread is kept while it is idle.
	 */
	void retain(boolean retained) {
		this.worker.retain(retained);
	}

	/**
	 * Create a thread if one is needed.
	 * @return whether there is one
	 */
	boolean revive() {
		return schedule() && this.worker.revive();
	}

	private boolean schedule() {
		synchronized (this.monitor) {
			if (this.scheduled || this.first == null) {
				return true;
			}
			this.scheduled = true;
		}
		boolean accepted = false;
		try {
			this.worker.execute(this.delivery);
			accepted = true;
		}
		catch (Throwable ex) {
			// No memory: the watchdog retries, and there may be no memory for a message
			return false;
		}
		finally {
			if (!accepted) {
				synchronized (this.monitor) {
					this.scheduled = false;
				}
			}
		}
		return true;
	}

	boolean isIdle() {
		synchronized (this.monitor) {
			return this.first == null;
		}
	}

	/**
	 * Return whether a hand-over has no listener to wait for.
	 */
	boolean isSettled() {
		synchronized (this.monitor) {
			return this.first == null || this.detached;
		}
	}

	/**
	 * If the current thread runs a listener, exclude it from hand-overs, since it waits
	 * for the hand-over itself.
	 */
	void detachCurrent() {
		synchronized (this.monitor) {
			if (this.deliverer == Thread.currentThread()) {
				this.detached = true;
			}
		}
	}

	/**
	 * Interrupt the running listener, if any, of any event: a hand-over also waits for
	 * the events behind it in the queue.
	 */
	void interrupt() {
		synchronized (this.monitor) {
			if (this.deliverer != null) {
				this.deliverer.interrupt();
			}
		}
	}

	/**
	 * Interrupt the running listener if it handles the grant of the leadership that is
	 * now lost: the revoked event is behind it in the queue.
	 */
	void interruptGranted(Leadership lost) {
		synchronized (this.monitor) {
			if (this.deliverer != null && this.first != null
					&& this.first.event instanceof LeadershipGrantedEvent granted && granted.getLeadership() == lost) {
				this.deliverer.interrupt();
			}
		}
	}

	private void deliverAll() {
		boolean delivered = false;
		try {
			for (Delivery current = begin(); current != null; current = begin()) {
				deliver(current);
			}
			delivered = true;
		}
		finally {
			if (!delivered) {
				synchronized (this.monitor) {
					this.scheduled = false;
				}
			}
		}
	}

	private void deliver(Delivery current) {
		try {
			this.publisher.accept(current.event);
		}
		catch (Throwable ex) {
			log.warn("A listener of " + current.event.getClass().getSimpleName() + " failed ("
					+ current.event.getLeadership() + ")", ex);
		}
		finally {
			end(current);
		}
	}

	// The event stays in the queue while it is delivered
	private @Nullable Delivery begin() {
		synchronized (this.monitor) {
			this.scheduled = this.first != null;
			this.deliverer = this.scheduled ? Thread.currentThread() : null;
			return this.first;
		}
	}

	private void end(Delivery delivered) {
		boolean idle;
		synchronized (this.monitor) {
			this.first = delivered.next;
			this.last = (this.first != null) ? this.last : null;
			this.deliverer = null;
			this.detached = false;
			Thread.interrupted();
			idle = this.first == null;
		}
		if (idle) {
			this.onIdle.run();
		}
	}

	/**
	 * An event on its way to the listeners.
	 */
	static final class Delivery {

		private final LeadershipEvent event;

		private @Nullable Delivery next;

		Delivery(LeadershipEvent event) {
			this.event = event;
		}

	}

}
