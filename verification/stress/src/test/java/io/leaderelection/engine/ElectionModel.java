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
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.engine.Position.Ended;
import io.leaderelection.engine.Position.Following;
import io.leaderelection.engine.Position.HandingOver;
import io.leaderelection.engine.Position.Stopped;
import org.jetbrains.lincheck.Lincheck;
import org.jspecify.annotations.Nullable;

/**
 * Transitions of an election by several threads. Lincheck runs them in many schedules,
 * with a switch of threads at any access to shared memory.
 */
public final class ElectionModel {

	private ElectionModel() {
	}

	/**
	 * Run a scenario.
	 * @param arguments the name of the scenario, the number of schedules, and the mistake
	 */
	public static void main(String... arguments) {
		System.setProperty(Mistake.PROPERTY, arguments[2]);
		Scenario scenario = Scenario.valueOf(arguments[0]);
		// Lincheck allows 30 seconds for one schedule, and instruments classes meanwhile
		try {
			Lincheck.runConcurrentTest(1, StressElections::leading);
			Lincheck.runConcurrentTest(1, () -> StressElections.lose(StressElections.leading()));
			Lincheck.runConcurrentTest(Integer.parseInt(arguments[1]), scenario.run);
		}
		catch (Throwable ex) {
			// After a hang, the threads of Lincheck would keep this process alive
			ex.printStackTrace();
			System.exit(1);
		}
	}

	private static void runAll(Runnable... tasks) {
		List<Thread> threads = Stream.of(tasks).map(Thread::new).toList();
		threads.forEach(Thread::start);
		try {
			for (Thread thread : threads) {
				thread.join();
			}
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private static void check(boolean condition, String what) {
		if (!condition) {
			AssertionError violation = new AssertionError("Expected that " + what);
			// Lincheck cannot print each schedule that it has found
			System.err.println(violation);
			throw violation;
		}
	}

	/**
	 * What the threads do.
	 */
	public enum Scenario {

		/** A grant, a resignation and a loss. */
		GRANT_AND_LOSS(Mistake.STATE_BEFORE_LOCK, () -> new OneTerm().run()),

		/** The end of a hand-over, and a loss. */
		HAND_OVER_AND_LOSS(Mistake.STATE_BEFORE_LOCK, () -> new OneTerm().runResigned()),

		/** Work, a hand-over and a resignation. */
		WORK_AND_HAND_OVER(Mistake.DRAIN_BEFORE_HAND_OVER, () -> new WorkAndHandOver().run()),

		/** Two stops and a start. */
		STOP_AND_START(Mistake.LOCK_GIVEN_UP, () -> new StopAndStart().run());

		private final Mistake mistake;

		private final Runnable run;

		Scenario(Mistake mistake, Runnable run) {
			this.mistake = mistake;
			this.run = run;
		}

		/**
		 * Return the mistake that this scenario finds.
		 */
		public Mistake mistake() {
			return this.mistake;
		}

	}

	private static final class OneTerm {

		private final List<ElectionEvent> events = new ArrayList<>();

		private final Election election = StressElections.elected(this.events::add);

		private final Transitions transitions = this.election.transitions();

		private final TermLeadership leadership = StressElections.leadership(this.election);

		private @Nullable CompletableFuture<Boolean> resigned;

		private boolean granted;

		private boolean freed;

		private boolean lost;

		void run() {
			runAll(this::lead, () -> this.resigned = this.election.resign("test"), this::lose);
			checkEnd();
		}

		void runResigned() {
			this.granted = StressElections.grant(this.election, this.leadership);
			this.resigned = this.election.resign("test");
			runAll(this::handOver, this::lose);
			checkEnd();
		}

		private void lose() {
			this.election.lose(Reason.LEASE_EXPIRED);
		}

		private void checkEnd() {
			if (this.granted && !this.freed) {
				// Resigned or lost after the election thread had looked, or not at all
				handOver();
			}
			check(this.election.state().position() instanceof Following, "the node follows");
			check(this.granted == (this.freed || this.lost) && !(this.freed && this.lost),
					"a term is either freed or lost");
			check(this.events.size() == (this.granted ? 2 : 0), "events are delivered once");
			check(!this.granted || this.events.get(0) instanceof LeadershipGrantedEvent, "the grant is first");
			check(this.events.stream()
				.allMatch((event) -> ((LeadershipEvent) event).getLeadership() == this.leadership),
					"events are of this term");
			check(this.resigned != null && this.resigned.isDone() && !(this.lost && this.resigned.join()),
					"a lost term was not handed over");
		}

		private void lead() {
			this.granted = StressElections.grant(this.election, this.leadership);
			if (!this.granted) {
				this.election.handedOver(false);
			}
			else {
				long now = this.election.nanoTime();
				this.transitions.extend(this.leadership, now, now);
				if (this.election.state().position().handOver() != null) {
					handOver();
				}
			}
		}

		private void handOver() {
			if (this.election.isDrained()) {
				this.election.apply(this.transitions::notifyListeners);
			}
			Position after = this.election.apply(this.transitions::endTrust).position();
			this.lost |= after instanceof Ended ended && ended.loss() != null;
			this.freed = after instanceof Ended && !this.lost;
			this.election.handedOver(this.freed);
		}

	}

	private static final class WorkAndHandOver {

		private final List<ElectionEvent> events = new ArrayList<>();

		private final Election election = StressElections.leading(this.events::add, Duration.ofHours(1));

		private volatile boolean working;

		private volatile boolean overlap;

		void run() {
			runAll(this::work, this::handOver, () -> this.election.resign("test"));
			check(!this.overlap, "no work runs when listeners are notified");
			check(this.election.isDrained(), "no work is left");
		}

		private void work() {
			try (Work work = this.election.gate().enter("job")) {
				this.working = work != null;
				// The second event is that of the revocation
				this.overlap |= this.working && this.events.size() > 1;
				this.working = false;
			}
		}

		private void handOver() {
			if (this.election.state().position() instanceof HandingOver && this.election.isDrained()) {
				this.overlap |= this.working;
				this.election.apply(this.election.transitions()::notifyListeners);
			}
		}

	}

	private static final class StopAndStart {

		private final Election election = StressElections.started(StressElections.NO_LISTENER);

		void run() {
			CompletableFuture<?> first = this.election.start();
			List<CompletableFuture<?>> stops = new ArrayList<>();
			stops.add(this.election.stop());
			List<CompletableFuture<?>> starts = new ArrayList<>();
			runAll(this::endIfStopping, () -> starts.add(this.election.start()));
			check(!starts.get(0).isDone(), "a start is not answered by the stop before it");
			stops.add(this.election.stop());
			endIfStopping();
			check(this.election.state().position() instanceof Stopped, "the election has stopped");
			check(first.isDone() && Stream.concat(starts.stream(), stops.stream()).allMatch(CompletableFuture::isDone),
					"each start and stop is answered");
		}

		private void endIfStopping() {
			while (this.election.isStopping() && this.election.end()) {
				this.election.apply(this.election.transitions()::begin);
			}
		}

	}

}
