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
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.FireJob.Place;
import io.leaderelection.faults.FireOrder.Violation;
import io.leaderelection.testsupport.Direction;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Nodes with a durable schedule that fires every second, on a server of their own; faults
 * that take leadership from one after the other; and the fires that were committed.
 */
final class DurableFires implements AutoCloseable {

	private static final Duration LIMIT = Duration.ofSeconds(60);

	private static final Duration HOLDING = Duration.ofSeconds(3);

	private static final String RELEASE = "release fire";

	private final PostgreSqlServer server = PostgreSqlServer.start("wal_level=logical");

	private final long seed = System.currentTimeMillis();

	private final SplittableRandom random = new SplittableRandom(this.seed);

	private final long started = System.nanoTime();

	private final Duration skew;

	private final Cluster cluster;

	private final CommitLog log;

	private final FireOrder order = new FireOrder();

	private final Map<NodeProcess, Duration> clocks = new LinkedHashMap<>();

	private final Map<String, Integer> faults = new TreeMap<>();

	/**
	 * Create a new {@code DurableFires} instance.
	 * @param skew how far the clocks of two nodes are from that of the third one
	 */
	DurableFires(Duration skew) {
		this.skew = skew;
		this.server.execute(FireJob.TABLE);
		this.log = new CommitLog(this.server);
		this.cluster = new Cluster(this.server, Cluster.LEASE, Cluster.TAKEOVER_DELAY,
				"leader-election.initialize-schema=always", "leader-election.schedules.transaction-idle-timeout=2s",
				"faults.rate=1s", "faults.work=1ms", "faults.writes.interval=1s")
			.withWritesThroughProxies();
		Stream.of(skew, skew.negated(), Duration.ZERO).forEach(this::launch);
		this.cluster.nodes().forEach(NodeProcess::awaitStarted);
		awaitFire((fire) -> true);
	}

	private void launch(Duration clock) {
		this.clocks.put(this.cluster.launch("faults.fires.clock-offset=" + clock.toMillis() + "ms"), clock);
	}

	Cluster cluster() {
		return this.cluster;
	}

	/**
	 * Inject one fault after the other, each of which ends a term, until a violation has
	 * shown.
	 * @param failovers how many at most
	 */
	DurableFires run(int failovers) throws InterruptedException {
		for (int i = 0; i < failovers && drain().violations().isEmpty(); i++) {
			Entry next = inject(Fault.at(i));
			// By a clock that is behind, no fire may be due for some seconds
			if (this.skew.isZero() || this.random.nextInt(3) == 0) {
				awaitFire((fire) -> fire.time() > next.time());
			}
			Thread.sleep(this.random.nextInt(this.skew.isZero() ? 1000 : 600));
		}
		return this;
	}

	private Entry inject(Fault fault) throws InterruptedException {
		NodeProcess leader = this.cluster.awaitLeader();
		Term term = leader.last(Kind.TRUE_FROM).orElseThrow().requiredTerm();
		Place place = Place.values()[this.random.nextInt(2)];
		Optional<Entry> held = (this.random.nextInt(3) == 0) ? hold(leader, place) : Optional.empty();
		this.faults.merge(fault + (held.isPresent() ? " in " + place : ""), 1, Integer::sum);
		switch (fault) {
			case TERMINATE -> {
				held.ifPresent(this::terminateRun);
				if (held.isPresent() && place == Place.RUN) {
					// The leader itself repeats it
					leader.command(RELEASE);
					awaitFire((fire) -> secondOf(fire) >= secondOf(held.get()));
				}
				this.cluster.takeLeadershipAway(leader);
			}
			case RESIGN -> leader.command("resign");
			case FREEZE -> {
				leader.signal("STOP");
				this.cluster.awaitNext(term);
				leader.signal("CONT");
			}
			case CUT -> {
				if (place == Place.COMMIT) {
					// The server may commit, and the node does not learn it
					this.cluster.proxy(leader).blackHole(Direction.TO_CLIENT);
					leader.command(RELEASE);
				}
				else {
					this.cluster.proxy(leader).blackHole();
				}
				this.cluster.awaitNext(term);
				this.cluster.proxy(leader).heal();
			}
			case KILL -> {
				// Otherwise no node may be left while two of them are starting
				this.cluster.nodes().forEach(NodeProcess::awaitStarted);
				leader.signal("KILL");
				this.cluster.remove(leader);
				launch(this.clocks.get(leader));
			}
			case RESTART -> {
				this.server.stop(this.random.nextBoolean() ? "fast" : "immediate");
				leader.await(Kind.TRUE_UNTIL, term);
				this.server.startAgain();
			}
		}
		if (fault != Fault.KILL) {
			leader.command(RELEASE);
			// Otherwise it seems to lead until it has reported its end
			leader.await(Kind.TRUE_UNTIL, term);
		}
		return this.cluster.awaitNext(term);
	}

	/**
	 * Hold the next fire of the leader, unless none is due soon.
	 */
	Optional<Entry> hold(NodeProcess leader, Place place) {
		long from = System.nanoTime();
		leader.command("hold " + place);
		try {
			return Optional.of(leader.await(Kind.HELD, from, HOLDING));
		}
		catch (AssertionError ex) {
			return Optional.empty();
		}
	}

	private void terminateRun(Entry held) {
		this.server.execute("SELECT pg_terminate_backend(" + held.details().split(" ")[1] + ")");
	}

	/**
	 * Wait until a node reports a fire.
	 */
	Entry awaitFire(Predicate<Entry> condition) {
		try {
			return Awaitility.await()
				.until(() -> this.cluster.nodes()
					.stream()
					.flatMap((node) -> node.last(Kind.FIRED).stream())
					.filter(condition)
					.findFirst(), Optional::isPresent)
				.orElseThrow();
		}
		catch (ConditionTimeoutException ex) {
			throw new AssertionError("No fire within " + LIMIT + ": " + this + "\n" + this.cluster.describe(), ex);
		}
	}

	/**
	 * Wait for the fire of this second, by the clock of the server, stop all nodes and
	 * return what was committed.
	 */
	FireOrder finish() {
		long end = Instant.now().getEpochSecond();
		awaitFire((fire) -> secondOf(fire) >= end);
		this.cluster.nodes().forEach((node) -> node.command("stop"));
		this.cluster.nodes().forEach(NodeProcess::awaitEnd);
		return drain();
	}

	private FireOrder drain() {
		this.log.drain().forEach(this.order::add);
		return this.order;
	}

	static long secondOf(Entry fire) {
		return Long.parseLong(fire.details().split(" ")[0]);
	}

	/**
	 * Return the seconds whose fires the nodes have reported as committed.
	 */
	Set<Long> reported() {
		return this.cluster.history().of(Kind.FIRED).stream().map(DurableFires::secondOf).collect(Collectors.toSet());
	}

	/**
	 * Return the seconds whose fires were committed without the knowledge of their nodes.
	 */
	private List<Long> unknown() {
		Set<String> committed = this.order.fires()
			.stream()
			.map((fire) -> fire.term() + " " + fire.second())
			.collect(Collectors.toSet());
		Set<Long> reported = reported();
		return this.cluster.history()
			.of(Kind.NOT_FIRED)
			.stream()
			.filter((entry) -> committed.contains(entry.requiredTerm() + " " + secondOf(entry)))
			.map(DurableFires::secondOf)
			.filter((second) -> !reported.contains(second))
			.toList();
	}

	/**
	 * Describe what has happened, for the message of a failure.
	 */
	String describe() {
		return this.faults + "\n" + this.cluster.describe();
	}

	@Override
	public String toString() {
		Map<FireOrder.Kind, Long> violations = this.order.violations()
			.stream()
			.collect(Collectors.groupingBy(Violation::kind, TreeMap::new, Collectors.counting()));
		return """
				Durable fires with store %s, clocks %s apart, on PostgreSQL %s, seed %d, %d s:
				%d failovers %s
				%d fires in %d terms that have one, violations %s
				%d transactions have failed for their nodes, of which %d were committed nevertheless
				""".formatted(this.cluster.isTable() ? "table" : "advisory-lock", this.skew.multipliedBy(2),
				this.server.query("SHOW server_version").get(0), this.seed,
				Duration.ofNanos(System.nanoTime() - this.started).toSeconds(),
				this.faults.values().stream().mapToInt(Integer::intValue).sum(), this.faults, this.order.committed(),
				this.order.terms(), violations, this.cluster.history().of(Kind.NOT_FIRED).size(), unknown().size());
	}

	@Override
	public void close() {
		this.cluster.close();
		this.server.close();
	}

	/**
	 * What ends a term.
	 */
	private enum Fault {

		TERMINATE, RESIGN, FREEZE, CUT, KILL, RESTART;

		/**
		 * Return a mix in which each comes early, and those that take long are rare.
		 */
		static Fault at(int number) {
			if (number % 50 == 9) {
				return RESTART;
			}
			return switch (number % 10) {
				case 1, 7 -> FREEZE;
				case 3 -> CUT;
				case 5 -> KILL;
				case 2, 6, 8 -> RESIGN;
				default -> TERMINATE;
			};
		}

	}

}
