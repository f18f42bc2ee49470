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

import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.InvocationCounts.Outcome;
import io.leaderelection.engine.Position.Granted;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The counts of one election since the start of the application, in memory.
 */
public final class ElectionStatistics {

	private static final ElectionLog log = new ElectionLog(LogFactory.getLog(ElectionStatistics.class));

	private final FenceChecks fenceChecks;

	private final LongAdder granted = new LongAdder();

	private final Map<Reason, LongAdder> revoked = new EnumMap<>(Reason.class);

	private final Map<String, InvocationCounts> invocations = new ConcurrentHashMap<>();

	private final List<Listener> listeners = new CopyOnWriteArrayList<>();

	private volatile boolean failed;

	private long ledBefore;

	private long ledSince;

	ElectionStatistics(FenceChecks fenceChecks) {
		this.fenceChecks = fenceChecks;
		for (Reason reason : Reason.values()) {
			this.revoked.put(reason, new LongAdder());
		}
	}

	/**
	 * Return how often this node was granted leadership.
	 * @return the number of grants
	 */
	public long granted() {
		return this.granted.sum();
	}

	/**
	 * Return how often the leadership of this node was revoked for a reason.
	 * @param reason the reason
	 * @return the number of revocations
	 */
	public long revoked(Reason reason) {
		LongAdder count = this.revoked.get(reason);
		return (count != null) ? count.sum() : 0;
	}

	/**
	 * Return how many transactions have passed the fence.
	 * @return the number of transactions
	 */
	public long passedFence() {
		return this.fenceChecks.passed();
	}

	/**
	 * Return how many transactions the fence refused, since their term had ended or a
	 * foreign session held it.
	 * @return the number of transactions
	 */
	public long refusedByFence() {
		return this.fenceChecks.refused();
	}

	/**
	 * Return the counts for guarded methods.
	 * @param method the class and the name of the methods
	 * @return the counts, always the same instance for the same name
	 */
	public InvocationCounts invocations(String method) {
		InvocationCounts counts = this.invocations.get(method);
		return (counts != null) ? counts : addInvocations(method);
	}

	/**
	 * Return how many invocations of guarded methods were skipped.
	 * @return the number of invocations
	 */
	public long skipped() {
		return this.invocations.values().stream().mapToLong((counts) -> counts.get(Outcome.SKIPPED)).sum();
	}

	// Under one lock, so that each listener is called once for each method
	private synchronized InvocationCounts addInvocations(String method) {
		InvocationCounts counts = this.invocations.get(method);
		if (counts == null) {
			InvocationCounts added = new InvocationCounts(method);
			this.invocations.put(method, added);
			tell((listener) -> listener.guarded(added));
			return added;
		}
		return counts;
	}

	/**
	 * Add a listener. It is called at once for each method that is already guarded.
	 * @param listener the listener
	 */
	public synchronized void addListener(Listener listener) {
		this.listeners.add(listener);
		this.invocations.values().forEach((counts) -> tell(listener, (added) -> added.guarded(counts)));
	}

	void acquired(long nanos) {
		tell((listener) -> listener.acquired(nanos));
	}

	void confirmed(long nanos) {
		tell((listener) -> listener.confirmed(nanos));
	}

	void drained(long nanos) {
		tell((listener) -> listener.drained(nanos));
	}

	private void tell(Consumer<Listener> what) {
		for (Listener listener : this.listeners) {
			tell(listener, what);
		}
	}

	private void tell(Listener listener, Consumer<Listener> what) {
		try {
			what.accept(listener);
		}
		catch (Throwable ex) {
			// A failure to count must not end leadership
			if (!this.failed) {
				this.failed = true;
				log.warn("Election listener failed (further failures are not logged)", ex);
			}
		}
	}

	// Called under the lock of the election

	void granted(long now) {
		this.granted.increment();
		this.ledSince = now;
	}

	void revokedFor(Reason reason) {
		LongAdder count = this.revoked.get(reason);
		if (count != null) {
			count.increment();
		}
	}

	void ended(Granted last, long now) {
		this.ledBefore = led(last, now);
	}

	/**
	 * Return for how long this node has led, in nanoseconds. A term whose lease has
	 * expired ends at that time, and not when it is noticed.
	 */
	long led(@Nullable Granted granted, long now) {
		if (granted == null) {
			return this.ledBefore;
		}
		long trusted = granted.leadership().trustedUntil();
		long end = (trusted - now > 0) ? now : trusted;
		return this.ledBefore + end - this.ledSince;
	}

	/**
	 * Receives the durations of the phases of an election, and the methods that it
	 * guards. Called by the election thread, on which confirmations depend, and by
	 * callers of guarded methods: must not block. Exceptions are logged and have no other
	 * effect.
	 */
	public interface Listener {

		/**
		 * Called when this node was granted leadership.
		 * @param nanos the time from winning the lock to the grant
		 */
		default void acquired(long nanos) {
		}

		/**
		 * Called when the store has confirmed a winner or leader.
		 * @param nanos the time from the request to its answer
		 */
		default void confirmed(long nanos) {
		}

		/**
		 * Called when leadership was handed over.
		 * @param nanos the time from the start of the hand-over until the lock was free
		 */
		default void drained(long nanos) {
		}

		/**
		 * Called once for each method that is guarded by the election, as soon as the
		 * method is known.
		 * @param counts the counts of its invocations
		 */
		default void guarded(InvocationCounts counts) {
		}

	}

}
