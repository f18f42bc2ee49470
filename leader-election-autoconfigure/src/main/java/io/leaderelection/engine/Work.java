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

import java.util.concurrent.CompletionStage;

import io.leaderelection.Leadership;
import org.jspecify.annotations.Nullable;

/**
 * One piece of leader work in flight, bound to the term in which it was started. Opened
 * by {@link WorkGate#enter(Object)} and closed on the same thread.
 */
public final class Work implements AutoCloseable {

	private final WorkGate gate;

	private final TermLeadership leadership;

	private final Object description;

	private final @Nullable Work outer;

	private @Nullable Thread thread;

	private @Nullable CompletionStage<?> stage;

	private boolean interrupted;

	private boolean interruptedBefore;

	private volatile boolean detached;

	Work(WorkGate gate, TermLeadership leadership, Object description, @Nullable Work outer) {
		this.gate = gate;
		this.leadership = leadership;
		this.description = description;
		this.outer = outer;
		this.thread = (outer != null) ? null : Thread.currentThread();
	}

	/**
	 * Return the leadership in whose term this work was started.
	 * @return the leadership
	 */
	public Leadership getLeadership() {
		return this.leadership;
	}

	/**
	 * Let this work last until the given stage completes instead of until
	 * {@link #close()}. It is cancelled instead of interrupted then.
	 * @param stage the stage
	 */
	public void lastUntil(CompletionStage<?> stage) {
		boolean late;
		synchronized (this) {
			this.stage = stage;
			late = this.interrupted;
		}
		if (this.outer != null) {
			this.gate.register(this);
		}
		try {
			stage.whenComplete((result, failure) -> this.gate.ended(this));
		}
		catch (RuntimeException ex) {
			this.gate.ended(this);
			throw ex;
		}
		if (late || !this.leadership.isCurrent() || (this.outer != null && this.outer.isInterrupted())) {
			this.gate.interrupt(this);
		}
	}

	/**
	 * Leave the current thread. Unless it lasts longer by {@link #lastUntil}, the work
	 * has ended; an interrupt that was meant for it does not outlive it.
	 */
	@Override
	public void close() {
		if (this.outer == null) {
			this.gate.unbind();
		}
		boolean lasting;
		synchronized (this) {
			this.thread = null;
			if (this.interrupted && !this.interruptedBefore) {
				Thread.interrupted();
			}
			lasting = (this.stage != null);
		}
		if (!lasting && this.outer == null) {
			this.gate.ended(this);
		}
	}

	TermLeadership leadership() {
		return this.leadership;
	}

	/**
	 * Interrupt the thread of this work, or return the stage to cancel: that runs code of
	 * the application, so it is left to a thread that may be held up.
	 */
	@Nullable CompletionStage<?> interrupt() {
		synchronized (this) {
			if (this.thread != null && !this.interrupted) {
				this.interrupted = true;
				this.interruptedBefore = this.thread.isInterrupted();
				this.thread.interrupt();
			}
			return this.stage;
		}
	}

	private synchronized boolean isInterrupted() {
		return this.interrupted;
	}

	/**
	 * Count this work out of the drain, since its own thread waits for the drain.
	 */
	void detach() {
		this.detached = true;
	}

	boolean isDetached() {
		return this.detached;
	}

	/**
	 * Return what this work is and where its thread is, for a warning.
	 */
	String describe() {
		StringBuilder result = new StringBuilder().append(name());
		synchronized (this) {
			if (this.thread != null) {
				result.append(" on thread '").append(this.thread.getName()).append('\'');
				for (StackTraceElement element : this.thread.getStackTrace()) {
					result.append("\n\tat ").append(element);
				}
			}
		}
		return result.toString();
	}

	private String name() {
		try {
			return String.valueOf(this.description);
		}
		catch (RuntimeException ex) {
			return this.description.getClass().getName();
		}
	}

}
