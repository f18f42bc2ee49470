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

import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;

import io.leaderelection.Leadership;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Admits work while this node leads, and tracks the work in flight. Work is registered
 * first, and leadership is checked second. A hand-over changes the state first, and
 * checks for work second. A drain therefore never finds the gate empty while work is
 * about to start. Not final, since seeded mistakes extend it.
 */
public class WorkGate implements Interrupter.Source {

	private static final Log logger = LogFactory.getLog(WorkGate.class);

	private final Owner owner;

	private final Executor cancellers;

	private final Interrupter interrupter;

	private final Set<Work> inFlight = ConcurrentHashMap.newKeySet();

	private final AtomicLong innerWork = new AtomicLong();

	/** Not unique: a race of two threads costs a collision of two hashes. */
	private int sequence;

	private volatile List<WorkObserver> observers = List.of();

	private volatile Consumer<Leadership> entryListener = (leadership) -> {
	};

	/**
	 * Create a new {@code WorkGate} instance.
	 * @param owner determines whether this node leads
	 * @param cancellers executes the cancellation of work, which is code of the
	 * application
	 * @param interrupter interrupts the threads of work
	 */
	WorkGate(Owner owner, Executor cancellers, Interrupter interrupter) {
		this.owner = owner;
		this.cancellers = cancellers;
		this.interrupter = interrupter;
		interrupter.add(this);
	}

	/**
	 * Start leader work on the current thread, if this node leads. Inside other work of
	 * this election, work is admitted if the term of the outer work is still trusted.
	 * Performs no I/O.
	 * @param description the description of the work; only its {@code toString()} is
	 * used, and only when the work must be reported
	 * @return the work, to be closed on the same thread, or {@code null} if it may not
	 * run
	 */
	public @Nullable Work enter(Object description) {
		return enter(description, null);
	}

	/**
	 * Start leader work on the current thread, as {@link #enter(Object)}, or inside other
	 * work on another thread that caused this call.
	 * @param description the description of the work
	 * @param origin the work that caused this call, or {@code null} if it is not known;
	 * work on the current thread takes precedence
	 * @return the work, to be closed on the same thread, or {@code null} if it may not
	 * run
	 */
	public @Nullable Work enter(Object description, @Nullable Work origin) {
		Work outer = current();
		if (outer != null) {
			return outer.leadership().isCurrent() ? new Work(outer, description) : null;
		}
		if (origin != null) {
			Work work = enterWithin(origin, description);
			if (work != null) {
				return work;
			}
		}
		// The second check reads the clock
		TermLeadership leadership = this.owner.leading();
		if (leadership == null || (origin != null && !origin.isOf(leadership))) {
			return null;
		}
		Work work = new Work(this, leadership, description, ++this.sequence);
		register(work);
		if (!this.owner.admitsWork(leadership)) {
			work.close();
			return null;
		}
		return begin(work);
	}

	/**
	 * Start work on the current thread inside work of another thread, if that is still in
	 * flight. The inner work is registered first: a drain that no longer finds the outer
	 * work finds the inner work.
	 */
	private @Nullable Work enterWithin(Work origin, Object description) {
		Work work = new Work(this, origin.leadership(), description, ++this.sequence);
		work.joinServiceOf(origin);
		registerInner(work);
		if (!this.inFlight.contains(origin) || origin.leadership().isInterrupted()
				|| !origin.leadership().isCurrent()) {
			work.close();
			return null;
		}
		return begin(work);
	}

	private Work begin(Work work) {
		work.bind();
		notifyListener(work);
		return work;
	}

	/**
	 * Set a listener that is called, on the thread of the work, when work begins that is
	 * not inside other work.
	 * @param listener receives the leadership of the work; must not block
	 */
	public void onEntry(Consumer<Leadership> listener) {
		this.entryListener = listener;
	}

	/**
	 * Set the observers of work that is {@linkplain Work#instrument instrumented}.
	 * @param observers the observers, none by default
	 */
	public void setObservers(List<WorkObserver> observers) {
		this.observers = List.copyOf(observers);
	}

	List<WorkObserver> observers() {
		return this.observers;
	}

	private void notifyListener(Work work) {
		try {
			this.entryListener.accept(work.leadership());
		}
		catch (Throwable ex) {
			work.close();
			throw ex;
		}
	}

	/**
	 * Return the work on the current thread.
	 * @return the outermost work, or {@code null}
	 */
	public @Nullable Work current() {
		return Work.current(this);
	}

	private void register(Work work) {
		this.inFlight.add(work);
	}

	/**
	 * Register work while other work of its term is in flight and the gate may be closed.
	 */
	void registerInner(Work work) {
		register(work);
		// Before the outer work can end, and after the inner work can be found
		this.innerWork.incrementAndGet();
	}

	void ended(Work work) {
		if (this.inFlight.remove(work)) {
			this.owner.workEnded();
		}
	}

	boolean isInFlight(Work work) {
		return this.inFlight.contains(work);
	}

	/**
	 * Note that a drain no longer waits for some work.
	 */
	void detached() {
		this.owner.workEnded();
	}

	/**
	 * Return whether a drain has nothing left to wait for.
	 */
	boolean isDrained() {
		return isNone((work) -> !work.isDetached());
	}

	/**
	 * Return the number of units of work in flight, without those that last as long as a
	 * service.
	 */
	int size() {
		return (int) this.inFlight.stream().filter((work) -> !work.isService()).count();
	}

	boolean isEmpty() {
		return isNone((work) -> true);
	}

	/**
	 * Return whether no work in flight matches. Iterates, since the size of a concurrent
	 * map is not a snapshot. Iterates again if inner work was registered meanwhile: it
	 * may be at a position that the iteration had passed, while its outer work has ended
	 * at a position that it had not reached.
	 */
	private boolean isNone(Predicate<Work> condition) {
		long before;
		do {
			before = this.innerWork.get();
			for (Work work : this.inFlight) {
				if (condition.test(work)) {
					return false;
				}
			}
		}
		while (this.innerWork.get() != before);
		return true;
	}

	/**
	 * Interrupt all work in flight of the given term. Inner work that is registered
	 * meanwhile, possibly at a position that the iteration has passed, checks for the
	 * interrupt itself.
	 */
	void interruptAll(TermLeadership leadership) {
		// Work that begins from here on checks for the interrupt itself
		leadership.interrupt();
		// Threads first, since a cancellation may fail for lack of memory
		for (Work work : this.inFlight) {
			if (work.isOf(leadership)) {
				work.interrupt();
			}
		}
		this.interrupter.signal();
		for (Work work : this.inFlight) {
			if (work.isOf(leadership)) {
				cancel(work);
			}
		}
	}

	@Override
	public void deliverInterrupts(Interrupter by) {
		this.inFlight.forEach((work) -> work.deliverInterrupt(by));
	}

	/**
	 * Wait until the interrupt of the current thread has been made.
	 */
	void awaitInterrupt(BooleanSupplier made) {
		this.interrupter.await(made, this.owner.settings().longestEnd().toNanos());
	}

	void interrupt(Work work) {
		cancel(work);
		this.interrupter.signal();
	}

	private void cancel(Work work) {
		Runnable cancellation = work.interrupt();
		if (cancellation != null) {
			cancelled(work.leadership());
			this.cancellers.execute(() -> cancel(work, cancellation));
		}
	}

	/**
	 * Record that the end of some work of a term cannot be determined: cancelled work
	 * counts as ended, but its code may still be running. The time for which it may still
	 * run is limited as for other work.
	 */
	void cancelled(TermLeadership leadership) {
		leadership.recordResidue("cancelled work",
				this.owner.nanoTime() + this.owner.settings().longestEnd().toNanos());
	}

	private static void cancel(Work work, Runnable cancellation) {
		try {
			cancellation.run();
		}
		catch (UnsupportedOperationException ex) {
			logger.debug("Leader work that cannot be cancelled continues until its end: " + work.name(), ex);
		}
		catch (Throwable ex) {
			logger.warn("Failed to cancel leader work: " + work.name(), ex);
		}
	}

	String describe(Function<Work, String> form) {
		return this.inFlight.stream().map(form).collect(Collectors.joining("\n"));
	}

	/** Determines whether this node leads. */
	interface Owner {

		ElectionSettings settings();

		long nanoTime();

		/**
		 * Return the leadership of this node, trusted or not, or {@code null} if it does
		 * not lead or hands over.
		 */
		@Nullable TermLeadership leading();

		/**
		 * Return whether work of a leadership may start: it leads and is trusted.
		 */
		boolean admitsWork(TermLeadership leadership);

		/**
		 * Called when work has ended.
		 */
		void workEnded();

	}

}
