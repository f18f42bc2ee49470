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

package io.leaderelection.faults;

import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.Callable;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Injects faults into the leader of a cluster, as often as {@code -Dsuite.runs} says, and
 * checks after each what was recorded.
 */
final class FaultRuns implements AutoCloseable {

	static final int RUNS = Integer.getInteger("suite.runs", 1);

	/**
	 * What a machine with too few cores may add to any time.
	 */
	static final Duration SLACK = Duration.ofSeconds(5);

	/**
	 * The longest time between two observations of a node that watches, as documented.
	 */
	static final Duration LONGEST_WATCH = Duration.ofMillis(7500);

	/**
	 * After how long a delay was reported.
	 */
	private static final Duration REPORT = Duration.ofSeconds(1);

	private static final int MOST_TRIES = 3;

	private final Cluster cluster;

	private final Figures figures = new Figures();

	FaultRuns(Cluster cluster) {
		this.cluster = cluster;
	}

	Cluster cluster() {
		return this.cluster;
	}

	Duration lease() {
		return this.cluster.lease();
	}

	Duration takeoverDelay() {
		return this.cluster.takeoverDelay();
	}

	/**
	 * Run a fault after which another node is to lead.
	 * @param fault its name
	 * @param injection injects it into the leader
	 * @param expectation what is to happen
	 */
	void run(String fault, Step<NodeProcess> injection, Step<Outcome> expectation) {
		run(fault, () -> this.cluster.awaitSessions().awaitLeader(), injection, expectation);
	}

	/**
	 * Run a fault of a node that was brought into some state, after which another node is
	 * to lead.
	 * @param fault its name
	 * @param arrangement brings about the state and gives the node
	 * @param injection injects the fault into that node
	 * @param expectation what is to happen
	 */
	void run(String fault, Callable<NodeProcess> arrangement, Step<NodeProcess> injection, Step<Outcome> expectation) {
		for (int run = 0; run < RUNS; run++) {
			try {
				runOnce(fault, arrangement, injection, expectation);
			}
			catch (RuntimeException | AssertionError ex) {
				ex.addSuppressed(new IllegalStateException(this.cluster.describe()));
				this.cluster.repair();
				throw ex;
			}
		}
	}

	private void runOnce(String fault, Callable<NodeProcess> arrangement, Step<NodeProcess> injection,
			Step<Outcome> expectation) {
		NodeProcess node = arrange(arrangement);
		Term term = this.cluster.newestTerm();
		long at = System.nanoTime();
		injection.take(node);
		Outcome outcome = new Outcome(node, term, at, this.cluster.awaitNext(term));
		expectation.take(outcome);
		this.figures.add(fault, at, node.find(Kind.TRUE_UNTIL, term), Optional.of(outcome.next()));
		this.cluster.awaitLeader();
		this.cluster.verify();
	}

	private static NodeProcess arrange(Callable<NodeProcess> arrangement) {
		try {
			return arrangement.call();
		}
		catch (RuntimeException ex) {
			throw ex;
		}
		catch (Exception ex) {
			throw new IllegalStateException(ex);
		}
	}

	/**
	 * Run a fault that the leader is to survive in its term. A machine that stalls for
	 * longer than trust lasts, which is a fault of its own, gets further tries.
	 * @param fault its name
	 * @param injection injects it into the leader and ends it
	 */
	void runWithoutSuccession(String fault, Step<NodeProcess> injection) {
		for (int run = 0; run < RUNS; run++) {
			int tries = 1;
			while (!survives(fault, injection, tries == MOST_TRIES)) {
				tries++;
			}
			this.cluster.verify();
		}
	}

	private boolean survives(String fault, Step<NodeProcess> injection, boolean last) {
		NodeProcess leader = this.cluster.awaitLeader();
		Entry began = leader.last(Kind.TRUE_FROM).orElseThrow();
		long at = System.nanoTime();
		injection.take(leader);
		this.cluster.awaitSampleOfLeader(System.nanoTime() + this.cluster.lease().toNanos());
		boolean survived = leader.leads() && leader.last(Kind.TRUE_FROM).filter(began::equals).isPresent();
		assertThat(survived || !last).as(leader::describe).isTrue();
		if (survived) {
			this.figures.add(fault, at, Optional.empty(), Optional.empty());
		}
		return survived;
	}

	@Override
	public void close() {
		try {
			// Both kinds of rows are written in turn, or nothing was checked of one of
			// them
			Awaitility.await()
				.atMost(SLACK.multipliedBy(10))
				.untilAsserted(() -> assertThat(this.cluster.historyWithRows().rows()).anyMatch(TermRow::fenced)
					.anyMatch((row) -> !row.fenced()));
			this.cluster.stopAndVerify();
			this.figures.write();
		}
		finally {
			this.cluster.close();
		}
	}

	/**
	 * A step of a run.
	 *
	 * @param <T> what it is about
	 */
	@FunctionalInterface
	interface Step<T> {

		void apply(T subject) throws Exception;

		default void take(T subject) {
			try {
				apply(subject);
			}
			catch (RuntimeException ex) {
				throw ex;
			}
			catch (Exception ex) {
				throw new IllegalStateException(ex);
			}
		}

	}

	/**
	 * What has come of a fault.
	 */
	final class Outcome {

		private final NodeProcess old;

		private final Term term;

		private final long at;

		private final Entry next;

		private Outcome(NodeProcess old, Term term, long at, Entry next) {
			this.old = old;
			this.term = term;
			this.at = at;
			this.next = next;
		}

		NodeProcess old() {
			return this.old;
		}

		Entry next() {
			return this.next;
		}

		/**
		 * When the fault was injected.
		 */
		long at() {
			return this.at;
		}

		/**
		 * The next leader was there within a time.
		 */
		void nextWithin(Duration bound) {
			assertThat(Duration.ofNanos(this.next.time() - this.at)).isLessThan(bound.plus(SLACK));
		}

		/**
		 * The next leader was there within a time of the fault, apart from delays of its
		 * threads.
		 */
		void tookOverWithin(Duration bound) {
			assertNext(this.at, bound);
		}

		/**
		 * The next leader was there within a time of the end of the old leader's
		 * listeners, apart from delays of its threads.
		 */
		void handedOverWithin(Duration bound) {
			assertNext(this.old.await(Kind.REVOKED_ENDED, this.term).time(), bound);
		}

		private void assertNext(long from, Duration bound) {
			long time = this.next.time() - from;
			// A node reports a delay after it
			Awaitility.await().atMost(REPORT).untilAsserted(() -> {
				long delayed = FaultRuns.this.cluster.history().delayed(this.next.node(), from, this.next.time());
				assertThat(Duration.ofNanos(time - delayed))
					.as("%s after %s, of which it was delayed for %s", this.next, Duration.ofNanos(time),
							Duration.ofNanos(delayed))
					.isLessThan(bound);
			});
		}

		/**
		 * The next leader was not exempted from the takeover delay.
		 */
		void nextNotBeforeTakeoverDelay() {
			assertThat(Duration.ofNanos(this.next.time() - this.at))
				.isGreaterThanOrEqualTo(FaultRuns.this.takeoverDelay());
		}

		/**
		 * The old leader stepped down within a time, by its own record.
		 */
		void steppedDownWithin(Duration bound) {
			Entry lastTrue = this.old.await(Kind.TRUE_UNTIL, this.term);
			assertThat(Duration.ofNanos(lastTrue.time() - this.at)).isLessThan(bound);
		}

		/**
		 * The old leader notified its listeners.
		 */
		Entry revoked() {
			return this.old.await(Kind.REVOKED, this.term);
		}

		/**
		 * The old leader notified its listeners, with this reason.
		 */
		void revokedBecause(String reason) {
			assertThat(revoked().details()).isEqualTo(reason);
		}

		/**
		 * Put a new node in the place of the old one, which has ended or is beyond help.
		 */
		void replaceOld() {
			FaultRuns.this.cluster.replace(this.old);
		}

	}

}
