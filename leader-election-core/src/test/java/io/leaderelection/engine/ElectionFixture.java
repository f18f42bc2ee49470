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
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.Leader;
import io.leaderelection.LeaderChangedEvent;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.Term;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Holder;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.fail;

/**
 * An election with a fake store and a fake clock. Its thread is the thread of the test:
 * {@link #run()} returns when the campaign has ended, and what is to happen meanwhile is
 * put on the agenda with {@link #at} or scripted in the {@link FakeStore}. No thread
 * plays the watchdog unless the test does.
 */
class ElectionFixture {

	static final Duration LEASE = Duration.ofSeconds(5);

	static final Duration TRUST = Duration.ofMillis(3750);

	static final Duration DRAIN_TIMEOUT = Duration.ofSeconds(20);

	static final Term TERM = new Term(0, 1, 775);

	/** Another leader. */
	static final Holder OTHER = new Holder("node-2", "pid 2", TERM, Instant.EPOCH, NodeProfile.DEFAULT, null);

	/** The candidates of an election with it. */
	static final List<Candidate> BOTH = List.of(new Candidate("node-1", "pid 1"), new Candidate("node-2", "pid 2"));

	private static final Duration END_OF_TEST = Duration.ofMinutes(30);

	final FakeTime time = new FakeTime();

	/**
	 * What happened, in order: calls on the store except for confirming and probing,
	 * events, and what the test adds.
	 */
	final List<String> trace = new CopyOnWriteArrayList<>();

	final FakeStore store = new FakeStore(this.time, this.trace);

	final List<LeadershipEvent> events = new CopyOnWriteArrayList<>();

	final Election election;

	private final ElectionLoop loop;

	/**
	 * Runs listeners, by default on the thread that made the transition.
	 */
	Executor relay = Runnable::run;

	/**
	 * Runs what cancels work and completes resignations.
	 */
	Executor other = Runnable::run;

	/** The other leaders of which listeners were notified. */
	final List<Leader> leaders = new ArrayList<>();

	Consumer<LeadershipEvent> listener = (event) -> {
	};

	Runnable leaderListener = FakeTime.NOTHING;

	private final Deque<Runnable> campaigns = new ArrayDeque<>();

	private boolean starting;

	ElectionFixture() {
		this(settings(Duration.ofMillis(100), true));
	}

	ElectionFixture(ElectionSettings settings) {
		this.time.executors = List.of((task) -> this.relay.execute(task), (task) -> this.other.execute(task));
		this.time.threads = ElectionThread::new;
		FakeTime idle = new FakeTime();
		idle.threads = IdleThread::new;
		Watchdog watchdog = new Watchdog(idle, new DirectInterrupter(this.time));
		this.election = new Election(settings, ElectionTimings.DEFAULTS,
				new Transitions(settings, ElectionTimings.DEFAULTS), this.store, this.time, this::publish,
				new ElectionLog(LogFactory.getLog(Election.class)), watchdog);
		this.loop = new ElectionLoop(this.election, this.store, watchdog);
		this.election.effects().runBy(this.loop);
		this.time.at(END_OF_TEST, this::endOfTest);
	}

	static ElectionSettings settings(Duration takeoverDelay, boolean candidate) {
		return new ElectionSettings("default", "node-1", LEASE, takeoverDelay, DRAIN_TIMEOUT, candidate);
	}

	private void publish(ElectionEvent event) {
		if (event instanceof LeadershipEvent leadership) {
			this.events.add(leadership);
			this.trace.add(describe(leadership));
			this.listener.accept(leadership);
		}
		else if (event instanceof LeaderChangedEvent changed) {
			this.leaders.add(changed.getLeader());
			this.leaderListener.run();
		}
	}

	private static String describe(LeadershipEvent event) {
		long term = event.getLeadership().getTerm().transactionId();
		return (event instanceof LeadershipRevokedEvent revoked) ? "revoked " + term + " " + revoked.getReason()
				: "granted " + term;
	}

	private void endOfTest() {
		this.store.failures.add(new AssertionError("The campaign goes on for ever: " + this.trace));
		this.election.stop();
	}

	/**
	 * Put something on the agenda.
	 */
	ElectionFixture at(Duration moment, Runnable action) {
		this.time.at(moment, () -> {
			try {
				action.run();
			}
			catch (AssertionError ex) {
				this.store.failures.add(ex);
				this.election.stop();
			}
		});
		return this;
	}

	ElectionFixture stopAt(Duration moment) {
		return at(moment, this.election::stop);
	}

	CompletableFuture<@Nullable Void> start() {
		this.starting = true;
		try {
			return this.election.start();
		}
		finally {
			this.starting = false;
		}
	}

	/**
	 * Run the campaign that was started first, or a new one, to its end.
	 */
	void run() {
		if (this.campaigns.isEmpty()) {
			start();
		}
		this.campaigns.remove().run();
		if (!this.store.failures.isEmpty()) {
			throw this.store.failures.get(0);
		}
		if (Thread.interrupted()) {
			fail("The thread was left interrupted");
		}
	}

	/**
	 * Take the campaign that was started first, for another thread to run.
	 */
	Runnable takeCampaign() {
		return this.campaigns.remove();
	}

	/**
	 * Let the election thread hang for a time while the watchdog does its duty. Ends when
	 * the watchdog has aborted the session.
	 */
	void hang(Duration duration) {
		Duration end = this.time.elapsed().plus(duration);
		FakeStore.FakeSession session = this.store.session;
		while (this.time.elapsed().compareTo(end) < 0) {
			Duration next = Duration.ofNanos(checkDeadlines());
			if (session != null && session.isAborted()) {
				return;
			}
			Duration remaining = end.minus(this.time.elapsed());
			this.time.advance((next.compareTo(remaining) < 0) ? next : remaining);
		}
	}

	/**
	 * Play the watchdog.
	 */
	long checkDeadlines() {
		return this.loop.checkDeadlines();
	}

	/**
	 * Let another node lead.
	 */
	void letOtherLead() {
		this.store.leader = OTHER;
		this.store.candidates = BOTH;
	}

	/**
	 * Let the session end.
	 */
	void loseSession() {
		this.store.fail(FakeStore.Call.PROBE);
	}

	ElectionStatus status() {
		return ElectionStatus.of(this.election);
	}

	boolean isLeader() {
		return this.election.leadership() != null;
	}

	/**
	 * Return what happened since an entry of the trace, that one included.
	 */
	List<String> traceFrom(String entry) {
		List<String> all = new ArrayList<>(this.trace);
		return all.subList(all.indexOf(entry), all.size());
	}

	List<String> tracedEvents() {
		return this.trace.stream()
			.filter((entry) -> entry.startsWith("granted") || entry.startsWith("revoked"))
			.toList();
	}

	/**
	 * Keeps the task of the election thread for {@link #run()}; all other tasks are short
	 * and run at once.
	 */
	private final class ElectionThread extends Thread {

		private final Runnable task;

		ElectionThread(Runnable task) {
			this.task = task;
		}

		@Override
		public void start() {
			if (ElectionFixture.this.starting) {
				ElectionFixture.this.campaigns.add(this.task);
			}
			else {
				this.task.run();
			}
		}

	}

	private static final class IdleThread extends Thread {

		IdleThread(Runnable task) {
		}

		@Override
		public void start() {
			// No thread plays the watchdog unless the test does
		}

	}

}
