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

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.Term;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.ResignationAnswer;
import io.leaderelection.engine.SimulatedElector;
import io.leaderelection.engine.SimulatedPlatform;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.postgresql.table.SimulatedLeaseTable;
import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.impl.NoOpLog;
import org.jspecify.annotations.Nullable;

/**
 * A node: a process with the real engine and an application, and after a crash another
 * process.
 */
public final class Node {

	private static final int WORKERS = 2;

	private static final long CANCEL_TIMEOUT = 2 * World.SECONDS;

	/** In messages, if two elections share a connection. */
	private static final int SHORTEST_LEASE = 100;

	/** A little longer than from the start of the last confirmation until the grant. */
	private static final long REST_OF_DELAY = 6 * World.MILLIS;

	private final World world;

	private final String name;

	private final boolean candidate;

	private final int priority;

	private final Link link;

	private final List<SimulatedConnection> connections = new ArrayList<>();

	private final List<Runnable> onThaw = new ArrayList<>();

	private final List<CompletableFuture<Boolean>> resignations = new ArrayList<>();

	private Process process;

	private SimulatedElector elector;

	private @Nullable SimulatedElector other;

	private @Nullable SimulatedConnection winner;

	private @Nullable Term won;

	private @Nullable SimulatedConnection pooled;

	private boolean poolEmpty;

	private boolean requestsHang;

	/** By the clock of this node, or 0. */
	private long requestHangsSince;

	private boolean appenderBlocked;

	private boolean suspending;

	private boolean suspended;

	private int faults;

	private long calmSince;

	private int starts;

	Node(World world, String name, boolean candidate, int priority) {
		this.world = world;
		this.name = name;
		this.candidate = candidate;
		this.priority = priority;
		this.link = new Link(world.scheduler(), world.random(), world.distance());
		this.process = newProcess();
		this.elector = newElector();
	}

	private Process newProcess() {
		Process created = this.world.scheduler()
			.newProcess(this.name + "." + ++this.starts, this.world.between(1, 1L << 50), this.world.rate());
		created.onDeath((task, failure) -> this.world.record(this, "thread '" + task + "' died: " + failure));
		return created;
	}

	private SimulatedElector newElector() {
		ElectionSettings settings = this.world.settings(id(), this.candidate, this.priority);
		SimulatedElector created = new SimulatedElector(this.world.sentinel(), settings, this.world.timings(),
				sessions(settings), this.world.scheduler(), this.process, this.world.random(), this::listen, log());
		this.process.observe(() -> this.world.invariants().observe(this));
		return created;
	}

	private ElectionStore sessions(ElectionSettings settings) {
		SimulatedLeaseTable table = this.world.table();
		Platform platform = new SimulatedPlatform(this.world.scheduler(), this.process, this.world.random());
		return (table != null) ? table.store(this, settings, platform)
				: this.world.locks().store(this, settings, platform);
	}

	/**
	 * With the table, all elections of a node share a session and its lease. Where
	 * messages take long, the requests of two elections on one connection are too much
	 * for a short lease.
	 */
	private boolean isShared() {
		return this.world.table() != null && this.world.lease().toNanos() >= SHORTEST_LEASE * this.world.distance();
	}

	private String id() {
		return this.process.name();
	}

	/**
	 * Begin to take part, and to work.
	 */
	void start() {
		LeaderElector elections = this.elector.elector();
		spawn("start", () -> startAgain(this.elector));
		if (this.world.hasOtherElection()) {
			ElectionSettings settings = new ElectionSettings("other", id(),
					isShared() ? this.world.lease() : Duration.ofHours(1), Duration.ZERO, Duration.ofMillis(200), true);
			SimulatedElector created = new SimulatedElector(this.world.sentinel(), settings, this.world.timings(),
					isShared() ? sessions(settings) : new LocalStore(), this.elector, (event) -> {
					}, log());
			this.other = created;
			spawn("start", () -> startAgain(created));
		}
		for (int i = 0; i < WORKERS; i++) {
			spawn("worker", new FencedWork(this, elections)::repeat);
		}
	}

	/**
	 * End this process at once.
	 * @param noticed whether the server learns of it
	 */
	void crash(boolean noticed) {
		this.world.record(this, noticed ? "crashes" : "crashes, and its machine too");
		this.world.invariants().crashed(this);
		this.connections.forEach((connection) -> {
			if (noticed && !connection.isBroken()) {
				connection.disconnect();
			}
		});
		this.connections.clear();
		this.onThaw.clear();
		this.resignations.clear();
		this.world.scheduler().end(this.process);
	}

	/**
	 * Begin another process after a crash.
	 */
	void restart() {
		this.process = newProcess();
		this.appenderBlocked = false;
		this.suspending = false;
		this.suspended = false;
		this.winner = null;
		this.pooled = null;
		this.poolEmpty = false;
		this.requestHangsSince = 0;
		this.won = null;
		this.elector = newElector();
		this.world.record(this, "begins");
		start();
	}

	/**
	 * Run something on a task of its own.
	 */
	void spawn(String description, Runnable body) {
		try {
			this.world.scheduler().newTask(this.process, description, body).start();
		}
		catch (OutOfMemoryError ex) {
			this.world.record(this, "no thread for '" + description + "'");
		}
	}

	/**
	 * Run something on a task of its own, or on this one if there is no other.
	 */
	private void runAside(String description, Runnable body) {
		try {
			this.world.scheduler().newTask(this.process, description, body).start();
		}
		catch (OutOfMemoryError ex) {
			body.run();
		}
	}

	/**
	 * Stop in an orderly way, and then start again or begin another process.
	 */
	void stopAndStart(boolean sameProcess, long pause) {
		Process stopped = this.process;
		spawn("stop", () -> {
			stop();
			if (sameProcess) {
				this.world.scheduler().sleepUninterruptibly(pause);
				this.world.record(this, "starts again");
				startAgain(this.elector);
			}
			else {
				this.world.scheduler().after(0, () -> {
					if (!stopped.hasEnded()) {
						crash(true);
						this.world.scheduler().after(pause, this::restart);
					}
				});
			}
		});
	}

	/**
	 * Suspend the candidacy for a while, unless it is.
	 */
	void suspendAndResume(long duration) {
		DefaultLeaderElector suspendable = this.elector.elector();
		spawn("suspend", () -> {
			if (this.suspending) {
				return;
			}
			this.suspending = true;
			untilThereIsMemory(suspendable::suspendCandidacy);
			this.suspended = true;
			this.world.scheduler().sleepUninterruptibly(duration);
			this.suspended = false;
			untilThereIsMemory(suspendable::resumeCandidacy);
			this.suspending = false;
		});
	}

	private void startAgain(SimulatedElector started) {
		untilThereIsMemory(started.elector()::start);
	}

	/**
	 * Request something again that has failed for lack of memory, as an application does.
	 */
	private void untilThereIsMemory(Runnable request) {
		while (true) {
			try {
				request.run();
				return;
			}
			catch (OutOfMemoryError ex) {
				this.world.scheduler().sleepUninterruptibly(100 * World.MILLIS);
			}
		}
	}

	/**
	 * Stop, and wait until it is complete.
	 */
	void stop() {
		this.world.record(this, "stops");
		Process stopping = this.process;
		List<CompletableFuture<?>> stops = new ArrayList<>();
		untilThereIsMemory(() -> stops.add(this.elector.elector().stop()));
		CompletableFuture<?> stopped = stops.get(0);
		long waited = 0;
		while (!stopped.isDone()) {
			this.world.scheduler().sleepUninterruptibly(5 * World.MILLIS);
			waited += (this.appenderBlocked || stopping.isShort()) ? 0 : 5 * World.MILLIS;
			this.world.invariants().stopping(this, waited);
		}
		this.world.record(this, "stopped");
	}

	/**
	 * Hand leadership over.
	 */
	CompletableFuture<Boolean> resign() {
		CompletableFuture<Boolean> handedOver = this.elector.elector().resign();
		this.resignations.removeIf(CompletableFuture::isDone);
		this.resignations.add(handedOver);
		return handedOver;
	}

	/**
	 * Ask the leader to hand over, whichever node that is.
	 */
	void request() {
		long hangingSince = this.requestHangsSince;
		boolean leads = this.elector.holdsLock();
		ResignationAnswer answer = this.elector.elector().requestResignation(null, "test");
		if (answer.isRequested() && !leads && !this.elector.holdsLock() && hangingSince != 0
				&& this.requestHangsSince == hangingSince) {
			this.world.invariants().requested(this, hangingSince);
		}
	}

	/**
	 * A request is sent, whose answer may never come.
	 */
	void requests() {
		Process requesting = this.process;
		this.requestHangsSince = requesting.clock();
		while (this.requestsHang && requesting == this.process) {
			this.world.scheduler().sleepUninterruptibly(50 * World.MILLIS);
		}
		this.requestHangsSince = (requesting == this.process) ? 0 : this.requestHangsSince;
	}

	void setRequestsHanging(boolean hanging) {
		this.requestsHang = hanging;
	}

	/**
	 * Hand leadership over, and wait for it in leader work or in a listener, which the
	 * hand-over does not wait for from then on.
	 * @param detached called before the wait
	 */
	void resignAndWait(Runnable detached) throws InterruptedException {
		CompletableFuture<Boolean> handedOver = resign();
		if (handedOver.isDone()) {
			return;
		}
		detached.run();
		try {
			// Detaches the caller. The time of the wait is virtual
			handedOver.get(0, TimeUnit.NANOSECONDS);
		}
		catch (TimeoutException | ExecutionException ex) {
			while (!handedOver.isDone()) {
				this.world.scheduler().sleep(5 * World.MILLIS);
			}
		}
	}

	boolean isCandidate() {
		return this.candidate;
	}

	int priority() {
		return this.priority;
	}

	boolean isSuspended() {
		return this.suspended;
	}

	/**
	 * Return whether each hand-over that was requested has ended.
	 */
	boolean hasHandedOver() {
		return this.resignations.stream().allMatch(CompletableFuture::isDone);
	}

	private void listen(ElectionEvent published) {
		if (!(published instanceof LeadershipEvent event)) {
			return;
		}
		step();
		this.world.invariants().event(this, event);
		try {
			Listener.listen(this, event);
		}
		finally {
			if (isUp()) {
				this.world.invariants().eventEnded(this, event);
			}
		}
	}

	private Log log() {
		return new NoOpLog() {

			@Override
			public void info(Object message) {
				append(message, null);
			}

			@Override
			public void warn(Object message) {
				append(message, null);
			}

			@Override
			public void warn(Object message, Throwable failure) {
				append(message, failure);
			}

			@Override
			public void error(Object message, Throwable failure) {
				append(message, failure);
			}

		};
	}

	private void append(Object message, @Nullable Throwable failure) {
		while (this.appenderBlocked) {
			this.world.scheduler().sleepUninterruptibly(10 * World.MILLIS);
		}
		if (this.world.isRecorded()) {
			// Without what differs from run to run
			String line = String.valueOf(message)
				.lines()
				.findFirst()
				.orElse("")
				.replaceAll("\\$\\$Lambda\\S*| on thread '.*'", "");
			this.world.record(this, "log: " + line + ((failure != null) ? ": " + failure : ""));
		}
	}

	// As seen by sessions

	public World world() {
		return this.world;
	}

	public String name() {
		return this.process.name();
	}

	public Process process() {
		return this.process;
	}

	public SplittableRandom random() {
		return this.world.random();
	}

	public void step() {
		this.world.scheduler().step();
	}

	Link link() {
		return this.link;
	}

	void opened(SimulatedConnection connection) {
		this.connections.removeIf(SimulatedConnection::isBroken);
		this.connections.add(connection);
	}

	/**
	 * A session has won.
	 * @param ending how the leadership of the predecessor has ended
	 * @param connection the connection of the session, if it has one of its own
	 */
	void won(Term term, Ending ending, @Nullable SimulatedConnection connection) {
		this.world.record(this, "won term " + term + ": " + ending);
		if (connection != null) {
			this.won = term;
			this.winner = connection;
			this.world.invariants().won(this, term, connection);
			if (ending == Ending.ABANDONED) {
				this.world.invariants().wonFromAbandoned(this, term);
			}
		}
		this.world.won(this);
	}

	/**
	 * A session has waited for the lock, or has read that it must not take over. Now and
	 * then this node freezes just then, so that what it has read is old when it goes on.
	 * @param connection the connection of the session, if it has one of its own
	 */
	void held(@Nullable SimulatedConnection connection) {
		if (connection != null) {
			this.world.invariants().waited(this, connection);
			return;
		}
		if (!this.world.chance(1) || this.process.isFrozen()) {
			return;
		}
		Process frozen = this.process;
		long lease = this.world.lease().toNanos();
		faultBegins();
		freeze();
		this.world.scheduler().after(this.world.between(lease / 4, 3 * lease), () -> {
			if (frozen == this.process && frozen.isFrozen()) {
				thaw();
			}
			faultEnds();
		});
		step();
	}

	/**
	 * A winner or leader was confirmed. Now and then this node leaves just when it is
	 * about to be granted leadership, at once or during the rest of the takeover delay.
	 */
	void confirmed() {
		if (this.elector.granted() != null || !this.world.chance(3)) {
			return;
		}
		if (this.world.chance(50)) {
			leave();
			return;
		}
		Process elected = this.process;
		this.world.scheduler().after(this.world.between(0, REST_OF_DELAY), () -> {
			if (elected == this.process && isUp() && !elected.isFrozen()) {
				leave();
			}
		});
	}

	/**
	 * A session is woken, under the lock of the election.
	 */
	void wakes() {
		if (this.world.sentinel() == Sentinel.WAKE_UNDER_LOCK && this.world.table() == null) {
			// A request on a connection of its own, which may take a while to establish
			runAside("cancel request",
					() -> this.world.scheduler().sleepUninterruptibly(random().nextLong(CANCEL_TIMEOUT)));
		}
	}

	private void leave() {
		if (this.world.chance(70)) {
			spawn("resign", this::resign);
		}
		else {
			stopAndStart(true, this.world.between(World.MILLIS, this.world.lease().toNanos()));
		}
	}

	/**
	 * A winner has passed the barrier of fenced transactions.
	 */
	void passedBarrier(SimulatedConnection connection) {
		this.world.invariants().passedBarrier(this, connection);
	}

	/**
	 * A session is about to free its locks.
	 * @param clean whether everything of its term has ended
	 */
	void releases(boolean clean) {
		if (clean) {
			this.world.invariants().releasesCleanly(this);
		}
	}

	/**
	 * The server has ended a session of this node.
	 */
	void ended(SimulatedConnection connection) {
		if (connection == this.winner && isUp()) {
			this.world.invariants().sessionEnded(this);
		}
	}

	void aborted(SimulatedConnection connection) {
		boolean sound = !connection.isBroken() && !connection.isStuck() && !connection.isResetOnServer();
		if (connection == this.winner && sound) {
			this.world.invariants().aborted(this);
		}
	}

	/**
	 * Return the connection of the session of the election, if it is open.
	 */
	@Nullable SimulatedConnection session() {
		return this.connections.stream()
			.filter((connection) -> connection.isOfElection() && !connection.isBroken() && connection.pid() != 0)
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return the connection of the session that won last.
	 */
	@Nullable SimulatedConnection winner() {
		return this.winner;
	}

	@Nullable Term won() {
		return this.won;
	}

	List<SimulatedConnection> connections() {
		return this.connections;
	}

	SimulatedElector elector() {
		return this.elector;
	}

	/**
	 * Return another election of this node, in which it is alone.
	 */
	@Nullable SimulatedElector other() {
		return this.other;
	}

	/**
	 * Borrow a connection of the application, if this node has a pool.
	 * @param timeout how long to wait for it
	 * @return the connection, or {@code null}
	 */
	public @Nullable SimulatedConnection borrow(Duration timeout) throws InterruptedException {
		if (!this.world.hasPools()) {
			return null;
		}
		if (this.poolEmpty) {
			this.world.scheduler().sleep(timeout.toNanos());
			return null;
		}
		SimulatedConnection pooled = this.pooled;
		try {
			if (pooled == null || pooled.isBroken()) {
				pooled = SimulatedConnection.open(this, SimulatedConnection.APPLICATION, false, timeout.toNanos());
				this.pooled = pooled;
			}
			return pooled;
		}
		catch (BrokenException ex) {
			return null;
		}
	}

	// Faults

	/**
	 * Set whether the pool has no connection left.
	 */
	void setPoolEmpty(boolean empty) {
		this.poolEmpty = empty;
	}

	boolean isUp() {
		return !this.process.hasEnded();
	}

	void freeze() {
		this.world.record(this, "freezes");
		this.world.scheduler().freeze(this.process);
	}

	void thaw() {
		this.world.record(this, "thaws");
		this.world.scheduler().thaw(this.process);
		this.world.invariants().awakes(this);
		List<Runnable> actions = List.copyOf(this.onThaw);
		this.onThaw.clear();
		actions.forEach(Runnable::run);
	}

	void onThaw(Runnable action) {
		this.onThaw.add(action);
	}

	void setAppenderBlocked(boolean blocked) {
		this.appenderBlocked = blocked;
		this.world.invariants().awakes(this);
	}

	boolean isAppenderBlocked() {
		return this.appenderBlocked;
	}

	void faultBegins() {
		this.faults++;
	}

	void faultEnds() {
		this.faults--;
		this.calmSince = this.world.scheduler().now();
	}

	/**
	 * Return since when nothing has disturbed this node.
	 */
	long calmSince() {
		return (this.faults > 0) ? Long.MAX_VALUE : this.calmSince;
	}

	@Override
	public String toString() {
		return this.process.name();
	}

}
