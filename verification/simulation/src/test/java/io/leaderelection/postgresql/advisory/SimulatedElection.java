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

package io.leaderelection.postgresql.advisory;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.SortedMap;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.function.Consumer;

import io.leaderelection.Term;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Acquired;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Confirmed;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.NodeRow;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Observation;
import io.leaderelection.postgresql.advisory.ElectionOperation.Kind;
import io.leaderelection.postgresql.advisory.ElectionOperation.KnownLeader;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.ServerClock;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.SessionEnd;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import io.leaderelection.simulation.server.Timeout;
import io.leaderelection.simulation.server.VirtualTime;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * The sessions of an election on the simulated server, which do what
 * {@link AdvisoryLockSession} does.
 */
final class SimulatedElection extends ComparedElection {

	private final VirtualTime time = new VirtualTime();

	private final SimServer server;

	private final AdvisoryLockPrograms programs;

	private final Map<Integer, Session> sessions = new HashMap<>();

	private final Map<Integer, Integer> numbers = new HashMap<>();

	/** The sessions in which the terms were won. */
	private final List<Integer> winners = new ArrayList<>();

	private final TreeMap<Integer, String> answers = new TreeMap<>();

	SimulatedElection(ElectionKeys keys, int standbys, int[] priorities, Random random, ServerSettings settings,
			Mutant mutant) {
		super(keys, standbys, priorities);
		this.server = new SimServer(this.time, new ServerClock(this.time, 1, Duration.ofDays(20_000).toNanos()),
				() -> random.nextInt(1000), settings);
		this.programs = new AdvisoryLockPrograms(keys, mutant);
		countFrom(this.server.nextTransactionId());
	}

	@Override
	SortedMap<Integer, String> run(ElectionOperation operation) {
		this.answers.keySet().removeIf((each) -> !this.answers.get(each).equals(WAITS));
		int number = operation.session();
		Session session = this.sessions.get(number);
		switch (operation.kind()) {
			case OPEN -> open(number);
			case WATCH -> {
				open(number);
				this.answers.put(number, WAITS);
				this.sessions.get(number).watch();
			}
			case CLOSE -> {
				session.backend.disconnect();
				this.answers.remove(number);
			}
			case TERMINATE -> this.server.terminate(session.backend.pid());
			case EXPIRE -> session.expire();
			case RESET_STATISTICS -> this.server.resetStatistics();
			case CANCEL -> {
				session.patient = false;
				this.server.cancel(session.backend.pid());
			}
			default -> {
				session.patient = operation.mayWait();
				this.answers.put(number, WAITS);
				session.run(operation);
			}
		}
		do {
			this.time.advance(1_000_000);
		}
		while (isBusy());
		return new TreeMap<>(this.answers);
	}

	private boolean isBusy() {
		for (Map.Entry<Integer, String> answer : this.answers.entrySet()) {
			Session session = this.sessions.get(answer.getKey());
			if (answer.getValue().equals(WAITS) && !(session.patient && isWaiting(session.backend.pid()))) {
				return true;
			}
		}
		return this.numbers.keySet()
			.stream()
			.map(this.server::backend)
			.anyMatch((backend) -> backend != null && this.sessions.values()
				.stream()
				.noneMatch((session) -> session.backend == backend && !session.expires));
	}

	private boolean isWaiting(int pid) {
		boolean[] waiting = new boolean[1];
		this.server.visitLocks((key, mode, each, granted) -> waiting[0] |= each == pid && !granted);
		return waiting[0];
	}

	private void open(int number) {
		Backend backend = this.server.connect("node-" + number, "postgres", (end) -> {
			if (end == SessionEnd.TERMINATED) {
				this.answers.replace(number, LOST);
			}
		});
		this.numbers.put(backend.pid(), number);
		this.sessions.put(number, new Session(number, backend));
		if (number < FIRST_WRITER) {
			backend.submit(AdvisoryLockPrograms.settings(LEASE_MILLIS, LEASE_MILLIS, WAIT_MILLIS, "token-" + number),
					(reply) -> {
					});
		}
	}

	@Override
	SortedSet<String> locks() {
		TreeSet<String> locks = new TreeSet<>();
		this.server.visitLocks((key, mode, pid, granted) -> locks
			.add(describe(this.numbers.get(pid), key.parts(), key.high(), key.low(), mode == LockMode.SHARE, granted)));
		return locks;
	}

	@Override
	public void close() {
	}

	private final class Session {

		private final int number;

		private final Backend backend;

		private boolean patient;

		private boolean expires;

		private boolean published;

		private boolean node;

		private int seat;

		private boolean inBlock;

		private @Nullable Term term;

		private long confirmations;

		private @Nullable List<Integer> knownPids;

		private String known = "";

		private Session(int number, Backend backend) {
			this.number = number;
			this.backend = backend;
		}

		/**
		 * Have the server end this session, since its client is silent.
		 */
		private void expire() {
			this.expires = true;
			this.backend.submit(Statements.set(Timeout.IDLE_SESSION, 1, false), (reply) -> {
			});
		}

		private void run(ElectionOperation operation) {
			AdvisoryLockPrograms programs = SimulatedElection.this.programs;
			long wait = operation.patient() ? WAIT_MILLIS : 1;
			switch (operation.kind()) {
				case BECOME_CANDIDATE -> submit(programs.becomeCandidate(seats(this.number), profile()), (seat) -> {
					this.published = true;
					this.seat = seat;
					this.node |= seat != 0;
					say("admitted " + (seat != 0));
				});
				case WITHDRAW -> submit(programs.withdraw(), (done) -> {
					this.seat = 0;
					this.node = true;
					say("done");
				});
				case ACQUIRE -> submit(programs.acquire(wait, false, this.seat,
						SimulatedElection.this.profile(this.number).priority(), predecessor(operation.predecessor())),
						this::acquired);
				case OBSERVE ->
					join(() -> submit(programs.observe(), (observation) -> describe(observation, this::say)));
				case REQUEST -> submit(programs.requestResignation(term(operation.term())),
						(requested) -> say("requested " + requested));
				case CONFIRM ->
					submit(programs.confirm(Objects.requireNonNull(this.term), ++this.confirmations), this::confirmed);
				case PASS_BARRIER -> submit(programs.passBarrier(wait, LEASE_MILLIS), (barrier) -> say(barrier.passed()
						? "passed" : "blocked by " + SimulatedElection.this.numbers.get(barrier.holder())));
				case RELEASE ->
					submit(programs.release(Objects.requireNonNull(this.term), operation.patient(), 1000, 200),
							(succeeded) -> say("succeeded " + succeeded));
				case FENCE -> inBlock(() -> submit(programs.fence(term(operation.term()), LEASE_MILLIS),
						(held) -> say(held ? "passed" : "refused")));
				case COMMIT, ROLLBACK -> end(operation.kind() == Kind.COMMIT);
				default -> throw new IllegalStateException(operation.toString());
			}
		}

		private List<Integer> profile() {
			return this.published ? List.of()
					: List.of(Profiles.key(SimulatedElection.this.profile(this.number), true));
		}

		private @Nullable Predecessor predecessor(@Nullable KnownLeader known) {
			if (known == null) {
				return null;
			}
			return new Predecessor(SimulatedElection.this.winners.get(known.term()), termObject(known.term()));
		}

		private void acquired(Acquired acquired) {
			if (acquired.won()) {
				this.seat = 0;
				this.term = new Term(0, acquired.timeline(), acquired.transactionId());
				SimulatedElection.this.winners.add(this.backend.pid());
				say(won(this.term,
						acquired.clean() ? Ending.CLEAN : acquired.abandoned() ? Ending.ABANDONED : Ending.UNKNOWN,
						acquired.clear()));
			}
			else {
				say("held");
			}
		}

		private void watch() {
			submit(SimulatedElection.this.programs.watch(seats(this.number)),
					(watched) -> describe(watched.observation(), (view) -> {
						say(watched(view, watched.taken() < seats(this.number).size()));
						this.backend.disconnect();
					}));
		}

		private void describe(Observation observation, Consumer<String> next) {
			List<Integer> pids = new ArrayList<>(observation.candidates());
			pids.add(0, observation.holder());
			if (pids.equals(this.knownPids)) {
				next.accept(this.known);
				return;
			}
			submit(SimulatedElection.this.programs.describe(pids), (rows) -> {
				Map<Integer, NodeRow> byPid = new HashMap<>();
				rows.forEach((row) -> byPid.put(row.pid(), row));
				NodeRow leader = byPid.get(observation.holder());
				this.known = ((leader != null) ? leader.applicationName() + " " + words(term(leader)) : "nobody") + " "
						+ observation.candidates()
							.stream()
							.map((pid) -> byPid.get(pid).applicationName())
							.sorted()
							.toList();
				boolean complete = observation.holder() == 0 || (leader != null && term(leader) != null);
				this.knownPids = complete ? pids : null;
				next.accept(this.known);
			});
		}

		private @Nullable Term term(NodeRow row) {
			if (row.termObject() == null || row.notice() == null) {
				return null;
			}
			long timeline = row.notice() & ((1 << ElectionKeys.TIMELINE_BITS) - 1);
			return new Term(0, timeline, ElectionKeys.transactionId(timeline, row.termObject(),
					row.notice() >>> ElectionKeys.TIMELINE_BITS));
		}

		private Term term(int index) {
			return SimulatedElection.this.term(index);
		}

		private void confirmed(Confirmed row) {
			if (row.held() != 2 || row.inRecovery() || row.pid() != this.backend.pid()
					|| row.number() != this.confirmations || row.idleSessionMillis() != LEASE_MILLIS
					|| row.idleInTransactionMillis() != LEASE_MILLIS || !("token-" + this.number).equals(row.token())) {
				say(LOST);
				return;
			}
			Integer predecessor = row.predecessors().isEmpty() ? null : row.predecessors().get(0);
			boolean requested = row.requests()
				.stream()
				.anyMatch((pid) -> row.candidates().contains(pid) || row.observers().contains(pid));
			say("predecessor " + ((predecessor != null) ? SimulatedElection.this.numbers.get(predecessor) : null)
					+ (requested ? " requested" : ""));
		}

		private void join(Runnable next) {
			if (this.node) {
				next.run();
				return;
			}
			submit(SimulatedElection.this.programs.withdraw(), (done) -> {
				this.seat = 0;
				this.node = true;
				next.run();
			});
		}

		private void inBlock(Runnable next) {
			if (this.inBlock) {
				next.run();
				return;
			}
			this.inBlock = true;
			submit(Statements.begin(), (done) -> next.run());
		}

		private void end(boolean commit) {
			if (!this.inBlock) {
				say("done");
				return;
			}
			this.inBlock = false;
			submit(commit ? Statements.commit(null) : Statements.rollback(), (done) -> say("done"));
		}

		private <T> void submit(Statement<T> statement, Consumer<T> next) {
			this.backend.submit(statement, (reply) -> {
				if (reply.error() != null) {
					say(LOST);
				}
				else {
					next.accept(reply.result());
				}
			});
		}

		private void say(String answer) {
			SimulatedElection.this.answers.put(this.number, answer);
		}

	}

}
