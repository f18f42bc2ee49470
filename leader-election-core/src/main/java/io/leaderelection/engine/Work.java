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
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;

import io.leaderelection.Leadership;
import io.leaderelection.engine.WorkObserver.WorkObservation;
import org.jspecify.annotations.Nullable;

/**
 * A unit of leader work in flight, bound to the term in which it was started. Opened by
 * {@link WorkGate#enter(Object)} and closed on the same thread.
 */
public final class Work implements AutoCloseable {

	/**
	 * The work that each thread has begun last, of any election, and what interrupts the
	 * task in which it runs. In an array, which remains when the work has ended: to set a
	 * value again would take longer. The array does not keep the class loader of this
	 * class.
	 */
	private static final ThreadLocal<@Nullable Object[]> latest = ThreadLocal.withInitial(() -> new Object[2]);

	private final WorkGate gate;

	private final TermLeadership leadership;

	private final Object description;

	private final int sequence;

	private final @Nullable Work outer;

	/** Where the thread of this work keeps its latest work. */
	private final @Nullable Object[] slot;

	private final @Nullable Work enclosing;

	/**
	 * The outermost work on the thread: the lock of all nested work, which also counts
	 * the interrupts.
	 */
	private final Work root;

	private @Nullable Thread thread;

	private @Nullable Runnable cancellation;

	private @Nullable CompletionStage<?> stage;

	private @Nullable WorkObservation observation;

	private boolean interrupted;

	private boolean leaving;

	private boolean closed;

	private boolean ended;

	private volatile boolean detached;

	/** The work that a drain leaves to a service, and that this work is part of. */
	private volatile @Nullable Work service;

	// Used in the root only: the number of interrupted units that have not left the
	// thread, whether the thread is to be interrupted for them, is being interrupted, or
	// has been, and whether it was interrupted before
	private int interrupts;

	private boolean pending;

	private volatile boolean delivering;

	private boolean delivered;

	private boolean foreignInterrupt;

	Work(WorkGate gate, TermLeadership leadership, Object description, int sequence) {
		this.gate = gate;
		this.leadership = leadership;
		this.description = description;
		this.sequence = sequence;
		this.outer = null;
		this.slot = latest.get();
		this.enclosing = (Work) this.slot[0];
		this.root = (this.enclosing != null) ? this.enclosing.root : this;
		this.thread = Thread.currentThread();
	}

	/**
	 * Create work inside other work of the same election on the same thread.
	 */
	Work(Work outer, Object description) {
		this.gate = outer.gate;
		this.leadership = outer.leadership;
		this.description = description;
		this.sequence = outer.sequence;
		this.outer = outer;
		this.slot = outer.slot;
		this.enclosing = null;
		this.root = outer.root;
		this.service = outer.service;
	}

	/**
	 * Become part of the service that other work is part of, if any. Called before this
	 * work is registered.
	 */
	void joinServiceOf(Work origin) {
		this.service = origin.service;
	}

	/**
	 * Return the work of the current thread in an election.
	 * @return the outermost work, or {@code null}
	 */
	static @Nullable Work current(WorkGate gate) {
		Work work = (Work) latest.get()[0];
		while (work != null && work.gate != gate) {
			work = work.enclosing;
		}
		return work;
	}

	/**
	 * Set what interrupts the task in which work of the current thread runs. If the work
	 * and the task are interrupted, the thread remains interrupted when the work has
	 * ended, as for enclosing work.
	 * @param interruption interrupts the task, or {@code null} if there is none
	 */
	static void setTask(@Nullable Interruption interruption) {
		@Nullable Object[] slot = latest.get();
		slot[1] = interruption;
	}

	/**
	 * Set this work as the one that the current thread has begun last.
	 */
	void bind() {
		this.slot[0] = this;
	}

	private void unbind() {
		if (this.slot[0] == this) {
			this.slot[0] = this.enclosing;
		}
	}

	/**
	 * Return the leadership in whose term this work was started.
	 * @return the leadership
	 */
	public Leadership getLeadership() {
		return this.leadership;
	}

	/**
	 * Have an observation end with this work. Called before it continues on other
	 * threads.
	 * @param observation the observation, for instance the counts to be incremented
	 */
	public void endWith(WorkObservation observation) {
		this.observation = observation;
	}

	/**
	 * Have the observers of the election observe this work from here on.
	 * @param type the class of the object that was passed to an elector
	 */
	public void instrument(Class<?> type) {
		instrument(type, null, (key) -> null);
	}

	/**
	 * Have the observers of the election observe this work from here on.
	 * @param type the class of the method, or of the object that was passed to an elector
	 * @param method the name of the method, or {@code null}
	 * @param context the context of the subscriber
	 */
	public void instrument(Class<?> type, @Nullable String method, WorkObserver.Context context) {
		List<WorkObserver> observers = this.gate.observers();
		if (!observers.isEmpty()) {
			WorkObservation begun = WorkObservations.begin(observers, this.observation,
					(observer) -> observer.begin(this.leadership, type, method, context));
			synchronized (this.root) {
				this.observation = begun;
			}
		}
	}

	/**
	 * Return what to add to the context of the publisher that does this work.
	 * @return the values by their keys, none unless the work is observed
	 */
	public Map<?, ?> context() {
		WorkObservation observation = observation();
		return (observation != null) ? observation.context() : Map.of();
	}

	/**
	 * Have the observers know that this work has failed.
	 * @param failure the failure
	 */
	public void failed(Throwable failure) {
		WorkObservation observation = observation();
		if (observation != null) {
			observation.failed(failure);
		}
	}

	private @Nullable WorkObservation observation() {
		synchronized (this.root) {
			return this.observation;
		}
	}

	/**
	 * Have this work continue after the current thread has left it, until {@link #end()}
	 * is called by any thread. If the work is interrupted, the cancellation is called
	 * too.
	 * @param cancellation makes the work end soon; called on a separate thread, at once
	 * if the work should already have ended, and possibly more than once
	 */
	public void continueUntilEnd(Runnable cancellation) {
		boolean late;
		synchronized (this.root) {
			this.cancellation = cancellation;
			late = this.interrupted;
		}
		if (this.outer != null) {
			this.gate.registerInner(this);
		}
		if (late || !this.leadership.isCurrent() || this.leadership.isInterrupted()) {
			this.gate.interrupt(this);
		}
	}

	/**
	 * Have this work continue after the current thread has left it, until {@link #end()},
	 * as the work of a service. A service is stopped after a drain. Until this work has
	 * ended, a drain therefore waits neither for it nor for work inside it, which may
	 * still begin.
	 */
	public void continueInService() {
		this.service = this;
		continueUntilEnd(() -> {
		});
		this.gate.detached();
	}

	/**
	 * Have this work continue until the given stage completes, as
	 * {@link #continueUntilEnd}.
	 * @param stage the stage, to be cancelled instead of interrupted
	 */
	public void continueUntil(CompletionStage<?> stage) {
		// A resignation would wait for this work
		if (!(stage instanceof Resignation)) {
			continueUntil(stage, (failure) -> {
			});
		}
	}

	/**
	 * Have this work continue until the given stage has completed and an action has
	 * returned, as {@link #continueUntilEnd}.
	 * @param stage the stage, to be cancelled instead of interrupted
	 * @param action receives the failure of the stage, if it has failed
	 */
	public void continueUntil(CompletionStage<?> stage, Consumer<@Nullable Throwable> action) {
		synchronized (this.root) {
			this.stage = stage;
		}
		continueUntilEnd(() -> stage.toCompletableFuture().cancel(true));
		try {
			stage.whenComplete((result, failure) -> {
				if (failure != null) {
					failed(failure);
				}
				endAfter(action, failure);
			});
		}
		catch (RuntimeException ex) {
			endAfter(action, ex);
			throw ex;
		}
	}

	private void endAfter(Consumer<@Nullable Throwable> action, @Nullable Throwable failure) {
		try {
			action.accept(failure);
		}
		finally {
			end();
		}
	}

	/**
	 * End the continuation of this work. The work has ended only when it has been closed
	 * too: until then, its thread may enter further work inside it.
	 */
	public void end() {
		boolean over;
		boolean lost;
		WorkObservation observation;
		synchronized (this.root) {
			this.ended = true;
			over = this.closed;
			lost = wasInterrupted();
			observation = endObservation(over);
		}
		if (over) {
			ended(observation, lost);
		}
	}

	/**
	 * Return whether nothing of this work is left to be done, although its end may still
	 * have to be noted: what depends on its result can run before that.
	 * @return whether it has ended
	 */
	public boolean hasEnded() {
		CompletionStage<?> continued;
		synchronized (this.root) {
			if (this.ended) {
				return true;
			}
			continued = this.stage;
		}
		try {
			return continued != null && continued.toCompletableFuture().isDone();
		}
		catch (UnsupportedOperationException ex) {
			return false;
		}
	}

	/**
	 * End the continuation of this work because its result is no longer wanted: the code
	 * that would have ended it may still be running.
	 */
	public void endCancelled() {
		boolean early;
		synchronized (this.root) {
			early = !this.ended;
		}
		if (early) {
			this.gate.cancelled(this.leadership);
			WorkObservation observation = observation();
			if (observation != null) {
				observation.cancelled();
			}
		}
		end();
	}

	/**
	 * Leave the current thread. The work has then ended, unless {@link #continueUntilEnd}
	 * was called. An interrupt for this work is cleared.
	 */
	@Override
	public void close() {
		unbind();
		WorkObservation observation = this.observation;
		if (observation != null) {
			observation.left();
		}
		if (!leave(false)) {
			try {
				this.gate.awaitInterrupt(() -> !this.root.delivering);
			}
			finally {
				leave(true);
			}
		}
	}

	/**
	 * Let no further interrupt begin, and leave the thread.
	 * @param late whether to leave although an interrupt is being made
	 * @return whether the work has left
	 */
	private boolean leave(boolean late) {
		boolean over;
		boolean lost;
		boolean marked;
		WorkObservation observation;
		synchronized (this.root) {
			this.leaving = true;
			marked = this.thread != null && this.interrupted;
			if (marked) {
				if (this.root.delivering && !late) {
					return false;
				}
				this.root.endInterrupt();
			}
			this.thread = null;
			this.closed = true;
			over = (this.cancellation == null || this.ended);
			lost = wasInterrupted();
			observation = endObservation(over);
		}
		if (marked && this.slot[1] instanceof Interruption task) {
			task.restore();
		}
		if (over) {
			ended(observation, lost);
		}
		return true;
	}

	// An interrupt of enclosing work remains, even if the closed work has cleared the
	// flag
	private void endInterrupt() {
		this.interrupts--;
		if (this.interrupts > 0) {
			if (this.delivered) {
				Thread.currentThread().interrupt();
			}
			return;
		}
		if (this.delivered && !this.foreignInterrupt) {
			Thread.interrupted();
		}
		this.pending = false;
		this.delivered = false;
	}

	private boolean wasInterrupted() {
		return this.interrupted || (this.outer != null && this.outer.interrupted);
	}

	private @Nullable WorkObservation endObservation(boolean over) {
		WorkObservation observation = this.observation;
		if (over) {
			this.observation = null;
		}
		return observation;
	}

	// Not under the lock, since observers are code of the application
	private void ended(@Nullable WorkObservation observation, boolean lost) {
		if (observation != null) {
			observation.ended(lost);
		}
		this.gate.ended(this);
	}

	TermLeadership leadership() {
		return this.leadership;
	}

	boolean isOf(TermLeadership term) {
		return this.leadership == term;
	}

	/**
	 * Mark the thread of this work to be interrupted, and return the cancellation of its
	 * continuation. Both run code of the application, so they must be made on threads
	 * that may block.
	 */
	@Nullable Runnable interrupt() {
		synchronized (this.root) {
			if (this.thread != null && !this.interrupted) {
				this.root.interrupts++;
				this.root.pending = true;
			}
			this.interrupted = true;
			return (this.ended) ? null : this.cancellation;
		}
	}

	/**
	 * Interrupt the thread of this work if it is marked.
	 */
	void deliverInterrupt(Interrupter interrupter) {
		Thread interrupted;
		synchronized (this.root) {
			interrupted = this.thread;
			if (interrupted == null || !this.interrupted || this.leaving || !this.root.pending
					|| this.root.delivering) {
				return;
			}
			if (!this.root.delivered) {
				this.root.foreignInterrupt = interrupted.isInterrupted();
			}
			this.root.pending = false;
			this.root.delivered = true;
			this.root.delivering = true;
		}
		try {
			interrupter.interrupt(interrupted);
		}
		finally {
			this.root.delivering = false;
			interrupter.interrupted(interrupted);
		}
	}

	/**
	 * Exclude this work from the drain, since its own thread waits for the drain.
	 */
	void detach() {
		this.detached = true;
	}

	boolean isDetached() {
		Work service = this.service;
		return this.detached || (service != null && this.gate.isInFlight(service));
	}

	/**
	 * Return whether this work lasts as long as a service.
	 */
	boolean isService() {
		return this.service == this;
	}

	/**
	 * Return a description of this work with the stack of its thread, for a warning.
	 */
	String describe() {
		StringBuilder result = new StringBuilder().append(name());
		synchronized (this.root) {
			if (this.thread != null) {
				result.append(" on thread '").append(this.thread.getName()).append('\'');
				for (StackTraceElement element : this.thread.getStackTrace()) {
					result.append("\n\tat ").append(element);
				}
			}
		}
		return result.toString();
	}

	String name() {
		try {
			return String.valueOf(this.description);
		}
		catch (RuntimeException ex) {
			return this.description.getClass().getName();
		}
	}

	@Override
	public boolean equals(@Nullable Object other) {
		return this == other;
	}

	/**
	 * Return a hash that is the same in each run of the same history, so that the
	 * iteration order of sets of work is reproducible.
	 */
	@Override
	public int hashCode() {
		return this.sequence;
	}

}
