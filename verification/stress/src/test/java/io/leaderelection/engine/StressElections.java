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

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import io.leaderelection.engine.MistakenParts.Parts;
import org.jspecify.annotations.Nullable;

/**
 * Elections without threads of their own: what the election thread and the watchdog do is
 * done by the test. Listeners and cancellations run on the thread that causes them.
 */
final class StressElections {

	static final Consumer<ElectionEvent> NO_LISTENER = (event) -> {
	};

	static final Runnable NOTHING = () -> {
	};

	private static final Instant SINCE = Instant.EPOCH;

	private StressElections() {
	}

	static Election leading() {
		return leading(NO_LISTENER, Duration.ofHours(1));
	}

	static Election leading(Consumer<ElectionEvent> listener, Duration drainTimeout) {
		return lead(started(listener, drainTimeout));
	}

	static Election elected(Consumer<ElectionEvent> listener) {
		return elect(started(listener));
	}

	/**
	 * Return an election that leads, whose interrupts are made by a test.
	 */
	static Election leading(Interrupter interrupter) {
		return lead(started(interrupter));
	}

	static Election leading(Platform platform) {
		return lead(started(platform, new DirectInterrupter(platform), NO_LISTENER, Duration.ofHours(1)));
	}

	private static Election lead(Election election) {
		grant(elect(election));
		return election;
	}

	private static Election elect(Election election) {
		election.apply((state, now) -> election.transitions().elect(state, term()));
		return election;
	}

	static Election started(Consumer<ElectionEvent> listener) {
		return started(listener, Duration.ofHours(1));
	}

	static Election started(Interrupter interrupter) {
		return started(new InertPlatform(), interrupter, NO_LISTENER, Duration.ofHours(1));
	}

	private static Election started(Consumer<ElectionEvent> listener, Duration drainTimeout) {
		Platform platform = new InertPlatform();
		return started(platform, new DirectInterrupter(platform), listener, drainTimeout);
	}

	private static Election started(Platform platform, Interrupter interrupter, Consumer<ElectionEvent> listener,
			Duration drainTimeout) {
		Election election = create(platform, interrupter, () -> {
			throw new IllegalStateException("Opens no session");
		}, listener, drainTimeout);
		election.apply(election.transitions()::begin);
		return election;
	}

	static Election create(Platform platform, ElectionStore store, Consumer<ElectionEvent> listener,
			Duration drainTimeout) {
		return create(platform, new DirectInterrupter(platform), store, listener, drainTimeout);
	}

	private static Election create(Platform platform, Interrupter interrupter, ElectionStore store,
			Consumer<ElectionEvent> listener, Duration drainTimeout) {
		ElectionSettings settings = new ElectionSettings("default", "node-1", Duration.ofHours(1), Duration.ZERO,
				drainTimeout, true);
		Watchdog watchdog = new Watchdog(platform, interrupter);
		Election election = MistakenParts.election(new Parts(settings, store, platform, listener, watchdog));
		election.effects().runBy(new ElectionLoop(election, store, watchdog));
		return election;
	}

	static TermLeadership grant(Election election) {
		TermLeadership leadership = leadership(election);
		if (!grant(election, leadership)) {
			throw new IllegalStateException("Not granted");
		}
		return leadership;
	}

	static boolean grant(Election election, TermLeadership leadership) {
		return election.apply((state, now) -> election.transitions().grant(state, now, leadership, now.nanos()))
			.leadership() != null;
	}

	static TermLeadership leadership(Election election) {
		return election.newLeadership(term());
	}

	static Term term() {
		return new Term(0, 1, 1);
	}

	static void lose(Election election) {
		election.lose(Reason.SESSION_LOST);
	}

	/**
	 * Hand over, with a deadline for work that has passed.
	 */
	static void handOverAtOnce(Election election) {
		election.resign("test");
		election.apply(election.transitions()::interrupt);
	}

	/**
	 * Have something happen meanwhile.
	 */
	static void spin() {
		for (int i = 0; i < 100; i++) {
			Thread.onSpinWait();
		}
	}

	/**
	 * Interrupts when a test asks for it.
	 */
	static class ManualInterrupter extends Interrupter {

		ManualInterrupter(Platform platform) {
			super(platform, NOTHING, (ex) -> {
				throw new IllegalStateException(ex);
			});
		}

		@Override
		void start() {
			// Needs no thread
		}

		@Override
		boolean signal() {
			// An actor interrupts
			return true;
		}

		@Override
		void interrupt(Thread thread) {
			MistakenParts.delayInterrupt();
			super.interrupt(thread);
		}

		@Override
		void await(BooleanSupplier made, long limit) {
			MistakenParts.awaitInterrupt(made, () -> super.await(made, limit));
		}

	}

	/**
	 * Interrupts on the thread that asks for it.
	 */
	static final class DirectInterrupter extends ManualInterrupter {

		DirectInterrupter(Platform platform) {
			super(platform);
		}

		@Override
		boolean signal() {
			interruptAll();
			return true;
		}

	}

	static class InertPlatform implements Platform {

		@Override
		public long nanoTime() {
			return System.nanoTime();
		}

		@Override
		public Instant now() {
			return SINCE;
		}

		@Override
		public Lock newLock() {
			return MistakenParts.lock();
		}

		@Override
		public void park(Object blocker, long nanos) {
			Thread.onSpinWait();
		}

		@Override
		public void unpark(Thread thread) {
		}

		@Override
		public Thread newThread(String name, Runnable task) {
			return NoThread.INSTANCE;
		}

		@Override
		public Worker newWorker(String name) {
			return Runnable::run;
		}

	}

	/**
	 * Stands for a thread whose task is run by the test. One for all, since a state of a
	 * test must not start a thread.
	 */
	static final class NoThread extends Thread {

		static final NoThread INSTANCE = new NoThread();

		private NoThread() {
			super(NoThread::parkForEver);
			setDaemon(true);
			super.start();
		}

		@Override
		public synchronized void start() {
		}

		private static void parkForEver() {
			while (true) {
				LockSupport.park();
			}
		}

	}

	/**
	 * A session on which nothing happens.
	 */
	interface IdleSession extends StoreSession {

		@Override
		default Acquisition acquire(Duration timeout) throws SessionException {
			return new Acquisition.Won(term(), Acquisition.Ending.CLEAN, true);
		}

		@Override
		default View observe() {
			return View.NONE;
		}

		@Override
		default Confirmation confirm(boolean whole) throws SessionException {
			return new Confirmation(null, false, null);
		}

		@Override
		default @Nullable String passBarrier(Duration timeout) {
			return null;
		}

		@Override
		default Duration probe(Duration longest) {
			return Duration.ofMillis(1);
		}

		@Override
		default boolean release(boolean clean) {
			return true;
		}

		@Override
		default void close() {
		}

		@Override
		default void abort() {
		}

	}

}
