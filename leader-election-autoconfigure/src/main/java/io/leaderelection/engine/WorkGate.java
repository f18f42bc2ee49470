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

import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.stream.Collectors;

import io.leaderelection.Leadership;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * Lets work in while this node leads and knows what is in flight. Work is registered
 * first and leadership checked second, while a hand-over first changes the state and then
 * looks for work: a drain never sees an empty gate beside a job that is about to start.
 */
public final class WorkGate {

	private static final Log logger = LogFactory.getLog(WorkGate.class);

	private final Election election;

	private final Set<Work> inFlight = ConcurrentHashMap.newKeySet();

	private final ThreadLocal<@Nullable Work> current = new ThreadLocal<>();

	private volatile @Nullable TermLeadership cancelled;

	private volatile Consumer<Leadership> entryListener = (leadership) -> {
	};

	WorkGate(Election election) {
		this.election = election;
	}

	/**
	 * Start leader work on the current thread, if this node leads; inside other work of
	 * this election, if the term of that work is still trusted. Costs no I/O.
	 * @param description what the work is; only its {@code toString()} is used, and only
	 * when the work must be reported
	 * @return the work, to be closed on the same thread, or {@code null} if it may not
	 * run
	 */
	public @Nullable Work enter(Object description) {
		Work outer = this.current.get();
		if (outer != null) {
			return outer.leadership().isCurrent() ? new Work(this, outer.leadership(), description, outer) : null;
		}
		TermLeadership leadership = this.election.leadership();
		if (leadership == null) {
			return null;
		}
		Work work = new Work(this, leadership, description, null);
		register(work);
		if (this.election.leadership() != leadership) {
			work.close();
			return null;
		}
		this.current.set(work);
		tellListener(work);
		return work;
	}

	/**
	 * Have somebody told, on its thread, when work begins that is not inside of other
	 * work.
	 * @param listener takes the leadership of the work; must not block
	 */
	public void onEntry(Consumer<Leadership> listener) {
		this.entryListener = listener;
	}

	private void tellListener(Work work) {
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
	@Nullable Work current() {
		return this.current.get();
	}

	void register(Work work) {
		this.inFlight.add(work);
	}

	void unbind() {
		this.current.remove();
	}

	void ended(Work work) {
		if (this.inFlight.remove(work)) {
			this.election.workEnded();
		}
	}

	/**
	 * Return whether a drain has nothing left to wait for. By iteration, since the size
	 * of a concurrent map is no snapshot.
	 */
	boolean isDrained() {
		for (Work work : this.inFlight) {
			if (!work.isDetached()) {
				return false;
			}
		}
		return true;
	}

	int size() {
		return this.inFlight.size();
	}

	boolean isEmpty() {
		return !this.inFlight.iterator().hasNext();
	}

	/**
	 * Interrupt all work in flight of the given term.
	 */
	void interruptAll(TermLeadership leadership) {
		for (Work work : this.inFlight) {
			if (work.leadership() == leadership) {
				interrupt(work);
			}
		}
	}

	void interrupt(Work work) {
		CompletionStage<?> stage = work.interrupt();
		if (stage != null) {
			this.cancelled = work.leadership();
			this.election.runAside(() -> cancel(stage));
		}
	}

	/**
	 * Return whether the end of some work of a term cannot be known: a stage that is
	 * cancelled has completed, but who was to complete it may go on.
	 */
	boolean hasCancelled(TermLeadership leadership) {
		return this.cancelled == leadership;
	}

	private static void cancel(CompletionStage<?> stage) {
		try {
			stage.toCompletableFuture().cancel(true);
		}
		catch (UnsupportedOperationException ex) {
			logger.debug("Leader work of a stage that cannot be cancelled goes on to its end", ex);
		}
	}

	String describe() {
		return this.inFlight.stream().map(Work::describe).collect(Collectors.joining("\n"));
	}

}
