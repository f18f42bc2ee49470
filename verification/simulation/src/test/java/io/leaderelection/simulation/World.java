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

package io.leaderelection.simulation;

import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionTimings;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms;
import io.leaderelection.postgresql.advisory.SimulatedAdvisoryLocks;
import io.leaderelection.postgresql.table.SimulatedLeaseTable;
import io.leaderelection.simulation.Timers.Timer;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.ElectionRow;
import io.leaderelection.simulation.server.EventQueue;
import io.leaderelection.simulation.server.LockKey;
import io.leaderelection.simulation.server.LockMode;
import io.leaderelection.simulation.server.LockScope;
import io.leaderelection.simulation.server.ServerClock;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.Statements;
import org.jspecify.annotations.Nullable;

/**
 * One history: nodes, a server and a network between them, all of which depend on the
 * store and the seed only.
 */
public final class World {

	static final long MILLIS = 1_000_000;

	static final long SECONDS = 1_000_000_000;

	private static final ElectionKeys KEYS = ElectionKeys.derive("simulation", "default");

	private static final int HIGHEST_PRIORITY = 2;

	/** chrony slews a clock by up to 8.3 %. */
	private static final double LONGEST_DRIFT = 0.08;

	private final Sentinel sentinel;

	private final SplittableRandom random;

	private final Scheduler scheduler;

	private final SimulatedAdvisoryLocks locks;

	private final @Nullable SimulatedLeaseTable table;

	private final ElectionTimings timings;

	private final Duration lease;

	private final Duration takeoverDelay;

	private final Duration drainTimeout;

	private final long distance;

	private final boolean resetsServer;

	private final boolean proxied;

	private final boolean priorities;

	private final Duration priorityHold;

	private final boolean pools;

	private final int standbys;

	private final List<Node> nodes = new ArrayList<>();

	private final boolean otherElection;

	private final Invariants invariants;

	private final @Nullable List<String> lines;

	private SimServer server;

	private SimServer standby;

	private long clockSetAt;

	private @Nullable Consumer<Node> onNextWin;

	private long otherStoreSince = Long.MAX_VALUE;

	private final Set<Integer> foreign = new HashSet<>();

	private int faults;

	private long calmSince;

	World(Store store, long seed, Sentinel sentinel, ThreadPool pool, boolean recorded) {
		this.sentinel = sentinel;
		this.random = new SplittableRandom(seed);
		SplittableRandom variants = new SplittableRandom(~seed);
		int between = variants.nextInt(4);
		this.resetsServer = between == 0;
		this.proxied = between == 1;
		this.priorities = variants.nextInt(4) == 0;
		this.pools = variants.nextBoolean();
		this.priorityHold = Duration.ofMillis(500L << 2 * variants.nextInt(3));
		this.scheduler = new Scheduler(pool, this.random.split());
		this.locks = new SimulatedAdvisoryLocks(KEYS, sentinel);
		this.table = (store == Store.TABLE) ? new SimulatedLeaseTable(KEYS, sentinel, this.random.nextInt(4) == 0)
				: null;
		this.lines = recorded ? new ArrayList<>() : null;
		this.lease = Duration.ofMillis(oneOf(500, 1000, 1000, 2000, 4000));
		this.takeoverDelay = Duration.ofMillis(oneOf(100, 100, 250, this.lease.toMillis()));
		this.drainTimeout = Duration.ofMillis(oneOf(200, 1000, 1000, 6000));
		this.distance = oneOf(0, 0, 0, 5 * MILLIS, 20 * MILLIS);
		ElectionTimings defaults = ElectionTimings.DEFAULTS;
		this.timings = new ElectionTimings(defaults.lockWait(), defaults.observeInterval(),
				Duration.ofMillis(oneOf(500, 1000, 5000)), defaults.unusableRetry(), defaults.openLimit(),
				defaults.minCallLimit(), defaults.maxCallLimit(), defaults.maxYield(), defaults.stopMargin(),
				Duration.ofMillis(oneOf(750, 1500)));
		this.standbys = (int) oneOf(1, 1, 2, 3);
		this.server = new SimServer(new Events(), newServerClock(), this::pace,
				ServerSettings.DEFAULTS.withPartitionSeed(this.random.nextInt()));
		this.standby = this.server.newStandby(newServerClock());
		this.otherElection = this.random.nextInt(4) == 0;
		this.invariants = new Invariants(this);
		int size = 2 + this.random.nextInt(3);
		for (int i = 1; i <= size; i++) {
			int priority = this.priorities ? variants.nextInt(HIGHEST_PRIORITY + 1) : 0;
			this.nodes.add(new Node(this, "n" + i, i == 1 || chance(80), priority));
		}
		record("lease " + this.lease + ", takeover delay " + this.takeoverDelay + ", drain timeout " + this.drainTimeout
				+ ", " + size + " nodes, of which " + this.nodes.stream().filter(Node::isCandidate).count()
				+ " candidates, " + this.standbys + " standbys"
				+ (this.priorities ? ", priorities " + this.nodes.stream().map(Node::priority).toList() : ""));
	}

	private long oneOf(long... values) {
		return values[this.random.nextInt(values.length)];
	}

	double rate() {
		return 1 + LONGEST_DRIFT * (2 * this.random.nextDouble() - 1);
	}

	/** How long a step of a session on the server takes. */
	private long pace() {
		return 1000L << this.random.nextInt((this.random.nextInt(64) == 0) ? 14 : 6);
	}

	/**
	 * Return a random duration, the shorter ones as likely as the longer ones.
	 */
	long between(long shortest, long longest) {
		return (long) (shortest * Math.pow((double) longest / shortest, this.random.nextDouble()));
	}

	boolean chance(int percent) {
		return this.random.nextInt(100) < percent;
	}

	public Scheduler scheduler() {
		return this.scheduler;
	}

	SplittableRandom random() {
		return this.random;
	}

	public Sentinel sentinel() {
		return this.sentinel;
	}

	/**
	 * Return the elections that use advisory locks.
	 */
	SimulatedAdvisoryLocks locks() {
		return this.locks;
	}

	AdvisoryLockPrograms programs() {
		return this.locks.programs();
	}

	/**
	 * Return a connection of the application, in a transaction.
	 */
	Connection transaction(SimulatedConnection connection) {
		return SimulatedJdbc.transaction(connection, (this.table != null) ? this.table.texts() : this.locks.texts());
	}

	/**
	 * Return the table that holds the elections, or {@code null} if they use advisory
	 * locks.
	 */
	@Nullable SimulatedLeaseTable table() {
		return this.table;
	}

	/**
	 * Set whether a node leads that uses the other store.
	 */
	void setOtherStore(boolean leads) {
		this.locks.programs().setOtherStore(leads);
		this.otherStoreSince = leads ? this.scheduler.now() : Long.MAX_VALUE;
	}

	/**
	 * Return since when a node leads that uses the other store.
	 */
	long otherStoreSince() {
		return this.otherStoreSince;
	}

	/**
	 * Connect a session of a program that knows nothing of elections, and takes one of
	 * their locks.
	 */
	@Nullable Backend foreign() {
		Backend foreign = this.server.connect("foreign", "application", (end) -> {
		});
		if (foreign != null) {
			List<LockKey> keys = programs().foreignKeys(this.standbys);
			this.foreign.add(foreign.pid());
			foreign.submit(
					Statements.lock(keys.get(this.random.nextInt(keys.size())), LockMode.EXCLUSIVE, LockScope.SESSION),
					(reply) -> {
					});
		}
		return foreign;
	}

	/**
	 * Return whether a session belongs to no node.
	 */
	boolean isForeign(int pid) {
		return this.foreign.contains(pid);
	}

	ElectionTimings timings() {
		return this.timings;
	}

	Duration lease() {
		return this.lease;
	}

	Duration takeoverDelay() {
		return this.takeoverDelay;
	}

	Duration drainTimeout() {
		return this.drainTimeout;
	}

	/**
	 * How long a message between a node and the server takes at least, in nanoseconds.
	 */
	long distance() {
		return this.distance;
	}

	/**
	 * Whether it is the side of the server that breaks when a connection does.
	 */
	boolean resetsServer() {
		return this.resetsServer;
	}

	/**
	 * Whether a proxy is between nodes and server, which nodes see.
	 */
	public boolean isProxied() {
		return this.proxied;
	}

	/**
	 * Whether nodes have pools, by which they may observe an election.
	 */
	boolean hasPools() {
		return this.pools;
	}

	/**
	 * How many nodes may wait for the lock at once, if they use advisory locks.
	 */
	int standbys() {
		return this.standbys;
	}

	/**
	 * Return whether nodes have priorities.
	 */
	public boolean hasPriorities() {
		return this.priorities;
	}

	ElectionSettings settings(String node, boolean candidate, int priority) {
		return new ElectionSettings("default", node, this.lease, this.takeoverDelay, FastTakeover.AUTO,
				this.drainTimeout, candidate, this.standbys, new NodeProfile(NodeProfile.PROTOCOL, priority, Map.of()),
				this.priorityHold);
	}

	/**
	 * Set what is told which node wins next.
	 */
	void onNextWin(Consumer<Node> listener) {
		this.onNextWin = listener;
	}

	void won(Node node) {
		Consumer<Node> listener = this.onNextWin;
		this.onNextWin = null;
		if (listener != null) {
			listener.accept(node);
		}
	}

	static ElectionKeys keys() {
		return KEYS;
	}

	boolean hasOtherElection() {
		return this.otherElection;
	}

	List<Node> nodes() {
		return this.nodes;
	}

	Invariants invariants() {
		return this.invariants;
	}

	/**
	 * Return the row of the election, or {@code null} if there is none.
	 */
	@Nullable ElectionRow row() {
		return this.server.table().elections().row(SimulatedLeaseTable.ELECTION);
	}

	/**
	 * Return the sessions with transactions that have passed the fence of the table.
	 */
	List<Integer> fenced() {
		return this.server.fenced();
	}

	/**
	 * Return the sessions with transactions that share a lock on the row of the election.
	 */
	List<Integer> fenceHolders() {
		return this.server.table().elections().sharers(SimulatedLeaseTable.ELECTION);
	}

	/**
	 * Set the clock of the server.
	 */
	void stepClock(long nanos) {
		this.server.clock().step(nanos);
		if (nanos > 0) {
			this.clockSetAt = this.scheduler.now();
		}
	}

	/**
	 * Return whether the clock of the server was set forward within the last leases.
	 */
	boolean isClockSet() {
		return this.clockSetAt != 0 && this.scheduler.now() - this.clockSetAt < 3 * this.lease.toNanos();
	}

	private ServerClock newServerClock() {
		return new ServerClock(new Events(), rate(), 1_700_000_000L * SECONDS);
	}

	SimServer server() {
		return this.server;
	}

	/**
	 * The primary is lost, and clients find its standby in its place.
	 * @param complete whether nothing durable is lost
	 */
	void failOver(boolean complete) {
		if (complete) {
			this.server.replicateTo(this.standby);
		}
		this.server.crash();
		this.server = this.standby;
		// Its process ids are others
		this.foreign.clear();
	}

	void promote() {
		this.server.promote();
		this.standby = this.server.newStandby(newServerClock());
	}

	void faultBegins() {
		this.faults++;
	}

	void faultEnds() {
		this.faults--;
		this.calmSince = this.scheduler.now();
	}

	/**
	 * Return since when nothing has disturbed the server.
	 */
	long calmSince() {
		return (this.faults > 0) ? Long.MAX_VALUE : this.calmSince;
	}

	boolean isRecorded() {
		return this.lines != null;
	}

	void record(String text) {
		record(null, text);
	}

	/**
	 * Record what happens, if this history is recorded.
	 */
	void record(@Nullable Node node, String text) {
		if (this.lines != null) {
			this.lines.add("%14.6f ms  %-6s %s".formatted(this.scheduler.now() / 1e6, (node != null) ? node.name() : "",
					text));
		}
	}

	List<String> lines() {
		return (this.lines != null) ? this.lines : List.of();
	}

	/**
	 * The time of the scheduler for the server.
	 */
	private final class Events implements EventQueue {

		@Override
		public long time() {
			return World.this.scheduler.now();
		}

		@Override
		public Event schedule(long delay, Runnable action) {
			Timer timer = World.this.scheduler.after(delay, action);
			return () -> World.this.scheduler.cancel(timer);
		}

	}

}
