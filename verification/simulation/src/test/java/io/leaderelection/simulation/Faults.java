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

import java.util.ArrayList;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.IntConsumer;

import io.leaderelection.engine.SimulatedElector;
import io.leaderelection.simulation.Link.Way;
import io.leaderelection.simulation.Timers.Timer;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.SimServer;
import org.jspecify.annotations.Nullable;

/**
 * Injects faults at random times, until there were enough of them. Several may last at
 * once.
 */
final class Faults {

	private static final List<Kind> HAND_OVERS = List.of(Kind.RESIGN, Kind.REQUEST, Kind.RESTART, Kind.SUSPEND);

	private static final Runnable NOTHING = () -> {
	};

	/** What most sessions need to end, in nanoseconds. */
	private static final long MOST_ENDING = 150_000;

	/** How much later a proxy closes the side of a node than that of the server. */
	private static final long LONGEST_CLOSE = 50 * World.MILLIS;

	private final World world;

	private final Scheduler scheduler;

	private final SplittableRandom random;

	private final Map<Kind, Integer> counts = new EnumMap<>(Kind.class);

	private final List<Repair> repairs = new ArrayList<>();

	private final List<Kind> kinds;

	private final long longestGap;

	private int left;

	/** Whether the next session that waits first is to see the leader end. */
	private boolean endsAtHead;

	/** Whether the next session that takes the lock is to be cancelled meanwhile. */
	private boolean cancelsAtTake;

	Faults(World world) {
		this.world = world;
		this.scheduler = world.scheduler();
		this.random = world.random();
		this.kinds = kinds();
		this.left = 20 + this.random.nextInt(30);
		this.longestGap = world.between(200 * World.MILLIS, 8 * World.SECONDS);
		world.programs().onHead(this::atHead);
		world.programs().onTake(this::atTake);
	}

	/**
	 * Choose the kinds of faults of this history. One kind may hide what another
	 * provokes: some histories have only a few kinds, others only orderly departures.
	 * @see <a href="https://doi.org/10.1145/2338965.2336763">Swarm Testing</a>
	 */
	private List<Kind> kinds() {
		EnumSet<Kind> others = EnumSet.of(Kind.SERVER_RESET, Kind.PROXY_RESTART);
		if (this.world.table() == null) {
			others.add(Kind.ROWS_DELETED);
		}
		else {
			others.addAll(Kind.OF_LOCKS);
		}
		List<Kind> all = EnumSet.complementOf(others).stream().toList();
		int choice = this.random.nextInt(8);
		if (choice == 0) {
			return HAND_OVERS;
		}
		List<Kind> chosen = new ArrayList<>(all);
		int size = (choice < 4) ? 1 + this.random.nextInt(all.size()) : all.size();
		while (chosen.size() > size) {
			chosen.remove(this.random.nextInt(chosen.size()));
		}
		return chosen;
	}

	Map<Kind, Integer> counts() {
		return this.counts;
	}

	boolean areOver() {
		return this.left == 0;
	}

	void schedule() {
		this.scheduler.after(this.world.between(World.MILLIS, this.longestGap), () -> {
			inject();
			if (--this.left > 0) {
				schedule();
			}
		});
	}

	private void inject() {
		Kind kind = this.kinds.get(this.random.nextInt(this.kinds.size()));
		if (kind == Kind.RESET && this.world.resetsServer()) {
			kind = Kind.SERVER_RESET;
		}
		else if (kind == Kind.RESET && this.world.isProxied()) {
			kind = Kind.PROXY_RESTART;
		}
		Node node = target();
		if (node == null) {
			return;
		}
		this.world.record(node, "fault: " + kind);
		this.counts.merge(kind, 1, Integer::sum);
		inject(kind, node);
	}

	/**
	 * Choose a node that is up, more often the leader than another one.
	 */
	private @Nullable Node target() {
		List<Node> up = this.world.nodes().stream().filter(Node::isUp).toList();
		if (up.isEmpty()) {
			return null;
		}
		Node leader = leader();
		return (leader != null && this.world.chance(60)) ? leader : up.get(this.random.nextInt(up.size()));
	}

	private @Nullable Node leader() {
		for (Node node : this.world.nodes()) {
			if (node.isUp() && node.elector().granted() != null) {
				return node;
			}
		}
		return null;
	}

	private void inject(Kind kind, Node node) {
		long lease = this.world.lease().toNanos();
		Process process = node.process();
		switch (kind) {
			case FREEZE -> {
				node.freeze();
				onNode(node, this.world.between(5 * World.MILLIS, 5 * lease / 2), () -> {
					if (process.isFrozen()) {
						node.thaw();
					}
				});
			}
			case CRASH -> {
				node.crash(this.world.chance(70));
				onNode(node, this.world.between(World.MILLIS, lease), node::restart);
			}
			case CUT -> {
				Link link = node.link();
				int ways = this.random.nextInt(4);
				if (ways != 0) {
					link.toServer().cut();
				}
				if (ways != 1) {
					link.toClient().cut();
				}
				onNode(node, this.world.between(5 * World.MILLIS, 3 * lease), () -> {
					link.toServer().heal();
					link.toClient().heal();
				});
			}
			case SLOW -> {
				Way way = this.random.nextBoolean() ? node.link().toServer() : node.link().toClient();
				way.setDelay(this.world.between(World.MILLIS, lease));
				onNode(node, this.world.between(10 * World.MILLIS, 3 * lease), () -> way.setDelay(0));
			}
			case DEGRADE -> {
				// Answers come late, and then no request arrives any longer
				Link link = node.link();
				link.toClient().setDelay(this.world.between(lease / 4, 3 * lease / 4));
				long slow = this.world.between(lease / 4, 3 * lease);
				Timer cut = this.scheduler.after(slow, link.toServer()::cut);
				onNode(node, slow + this.world.between(lease, 3 * lease), () -> {
					this.scheduler.cancel(cut);
					link.toClient().setDelay(0);
					link.toServer().heal();
				});
			}
			case TERMINATE -> {
				session(node, this::terminate);
				onNode(node, 0, NOTHING);
			}
			case SUCCESSION -> {
				// The winner often ends in the other way, and often before it is granted
				boolean onServer = this.random.nextBoolean();
				endSession(node, onServer);
				long pause = this.random.nextLong(3 * this.world.takeoverDelay().toNanos() / 2);
				boolean other = onServer ^ this.world.chance(75);
				this.world.onNextWin((winner) -> onServer(pause, () -> endSession(winner, other)));
			}
			case SLOW_GRANT -> {
				// Disturbs no leader: a fast clock has time to confirm again, with two
				// round trips for each of both confirmations. If the table does not
				// answer in this time, the node connects again
				long time = (this.world.table() != null) ? Math.max(500 * World.MILLIS, 3 * lease / 10) : lease;
				time = Math.min(time, 3 * lease / 4);
				long longest = time / 11 * 10 - 8 * this.world.distance() - Invariants.SLACK;
				this.world
					.onNextWin((winner) -> winner.link().toClient().delayNext(this.world.between(lease / 8, longest)));
			}
			case TERMINATE_AT_HEAD -> this.endsAtHead = true;
			case STATISTICS_RESET -> {
				this.world.server().resetStatistics();
				long wait = this.world.between(100 * World.MILLIS, 2 * World.SECONDS);
				onServer(wait, () -> {
					Node leader = leader();
					if (leader != null) {
						terminateElection(leader);
					}
				});
				onServer(wait + this.world.between(World.MILLIS / 1000, 10 * World.MILLIS),
						() -> this.world.server().resetStatistics());
			}
			case RESET -> onConnection(node, SimulatedConnection::reset);
			case SERVER_RESET -> onConnection(node, SimulatedConnection::resetOnServer);
			case PROXY_RESTART ->
				onConnection(node, (connection) -> connection.closeByProxy(this.random.nextLong(LONGEST_CLOSE)));
			case CANCEL -> {
				this.cancelsAtTake = this.world.chance(50);
				session(node, (pid) -> {
					this.world.server().cancel(pid);
					this.world.server().cancel(pid);
				});
				onNode(node, 0, NOTHING);
			}
			case HALF_ANSWER -> onConnection(node, SimulatedConnection::loseRestOfAnswer);
			case STUCK_SESSION -> session(node, (pid) -> {
				Backend backend = this.world.server().backend(pid);
				if (backend != null) {
					backend.freeze();
					onServer(this.world.between(World.MILLIS, lease), backend::thaw);
				}
			});
			case SERVER_CRASH -> {
				SimServer server = this.world.server();
				if (server.isRunning()) {
					server.crash();
					onServer(this.world.between(World.MILLIS, lease), server::start);
				}
			}
			case SERVER_STOP -> {
				SimServer server = this.world.server();
				if (server.isRunning()) {
					server.stop();
					onServer(this.world.between(World.MILLIS, lease), () -> startAgain(server));
				}
			}
			case PROMOTION -> {
				if (this.world.server().isRunning() && !this.world.server().isInRecovery()) {
					this.world.failOver(this.random.nextBoolean());
					onServer(this.world.between(World.MILLIS, lease), this.world::promote);
				}
			}
			case CLOCK_STEP -> {
				this.world.stepClock(this.random.nextLong(-2 * lease, 2 * lease));
				onServer(2 * lease, NOTHING);
			}
			case SERVER_FREEZE -> {
				SimServer server = this.world.server();
				server.freeze();
				onServer(this.world.between(World.MILLIS, 2 * lease), server::thaw);
			}
			case ROWS_DELETED -> {
				this.world.server().deleteNodes();
				onServer(0, NOTHING);
			}
			case NAMES_UNREADABLE -> {
				this.world.programs().setNamesFailing(1 + this.random.nextInt(100));
				lasts(this.world.between(World.MILLIS, 30 * World.SECONDS),
						() -> this.world.programs().setNamesFailing(0));
			}
			case POOL_EMPTY -> {
				node.setPoolEmpty(true);
				lasts(this.world.between(World.MILLIS, 30 * World.SECONDS), () -> node.setPoolEmpty(false));
			}
			case OTHER_STORE -> {
				this.world.setOtherStore(true);
				onServer(this.world.between(World.MILLIS, 2 * lease), () -> this.world.setOtherStore(false));
			}
			case FOREIGN -> {
				Backend foreign = this.world.foreign();
				if (foreign != null) {
					SimServer server = this.world.server();
					lasts(this.world.between(World.MILLIS, 2 * lease), () -> server.terminate(foreign.pid()));
				}
			}
			case RESIGN -> node.spawn("resign", node::resign);
			case REQUEST -> node.spawn("request", node::request);
			case HUNG_REQUEST -> {
				node.setRequestsHanging(true);
				node.spawn("request", node::request);
				lasts(this.world.between(World.SECONDS, 40 * World.SECONDS), () -> {
					if (node.isUp()) {
						node.spawn("request", node::request);
					}
					node.setRequestsHanging(false);
				});
			}
			case RESTART -> node.stopAndStart(this.random.nextBoolean(), this.world.between(World.MILLIS, lease));
			case SUSPEND -> node.suspendAndResume(this.world.between(World.MILLIS, 2 * lease));
			case NO_THREADS -> {
				process.setThreadShortage(true);
				onNode(node, this.world.between(World.MILLIS, 3 * lease), () -> process.setThreadShortage(false));
			}
			case NO_MEMORY -> {
				process.setMemoryShortage(1 + this.random.nextInt(60));
				boolean unanswered = this.world.chance(20);
				long shortage = unanswered ? lease : this.world.between(World.MILLIS, 2 * lease);
				onNode(node, shortage, () -> process.setMemoryShortage(0));
				if (unanswered) {
					// Only the watchdog can end the trust of a thread that waits for an
					// answer
					Way way = node.link().toClient();
					way.cut();
					onNode(node, shortage + 2 * World.SECONDS, way::heal);
				}
			}
			case OTHER_LOST -> {
				SimulatedElector other = node.other();
				if (other != null) {
					node.spawn("revoke", other::revoke);
				}
			}
			case BLOCKED_LOG -> {
				node.setAppenderBlocked(true);
				onNode(node, this.world.between(World.MILLIS, 3 * lease), () -> node.setAppenderBlocked(false));
			}
			case SLOW_INTERRUPT -> {
				process.setInterruptTime(10 * lease);
				onNode(node, this.world.between(lease, 10 * lease), () -> process.setInterruptTime(0));
			}
		}
	}

	/**
	 * End the session of the election of a node, on the server or with the process.
	 */
	private void endSession(Node node, boolean onServer) {
		if (!node.isUp()) {
			return;
		}
		if (onServer) {
			terminateElection(node);
			onNode(node, 0, NOTHING);
		}
		else {
			node.crash(true);
			onNode(node, this.world.between(World.MILLIS, this.world.lease().toNanos()), node::restart);
		}
	}

	private void terminateElection(Node node) {
		SimulatedConnection session = node.session();
		if (session != null) {
			terminate(session.pid());
		}
	}

	/**
	 * Terminate a session, whose process may be stopped for a moment while it ends: when
	 * some of its locks are free, or all, or when its end is counted.
	 */
	private void terminate(int pid) {
		Backend backend = this.world.server().backend(pid);
		this.world.server().terminate(pid);
		if (backend != null && this.world.chance(50)) {
			this.scheduler.after(this.random.nextLong(MOST_ENDING), () -> stop(backend));
		}
	}

	/**
	 * Stop a process of the server for a moment.
	 */
	private void stop(Backend backend) {
		backend.freeze();
		onServer(this.world.between(World.MILLIS / 10, 50 * World.MILLIS), backend::thaw);
	}

	/**
	 * A session is the first one that waits for the lock. Now and then it is stopped for
	 * a moment, and the session of the leader is terminated meanwhile.
	 */
	private void atHead(Backend backend) {
		Node leader = leader();
		if (!this.endsAtHead || leader == null) {
			return;
		}
		this.endsAtHead = false;
		this.scheduler.after(this.random.nextLong(World.MILLIS / 20), () -> {
			stop(backend);
			terminateElection(leader);
		});
		onNode(leader, 0, NOTHING);
	}

	/**
	 * A session has taken the lock, and its statement goes on.
	 */
	private void atTake(Backend backend) {
		if (this.cancelsAtTake) {
			this.cancelsAtTake = false;
			SimServer server = this.world.server();
			onServer(this.random.nextLong(World.MILLIS / 20), () -> server.cancel(backend.pid()));
		}
	}

	private void startAgain(SimServer server) {
		if (server.isStopped()) {
			server.start();
		}
		else {
			this.scheduler.after(10 * World.MILLIS, () -> startAgain(server));
		}
	}

	private void session(Node node, IntConsumer action) {
		List<SimulatedConnection> open = node.connections()
			.stream()
			.filter((connection) -> !connection.isBroken() && connection.pid() != 0)
			.toList();
		if (!open.isEmpty()) {
			action.accept(open.get(this.random.nextInt(open.size())).pid());
		}
	}

	private void onConnection(Node node, Consumer<SimulatedConnection> fault) {
		SimulatedConnection connection = node.session();
		if (connection != null) {
			fault.accept(connection);
		}
		onNode(node, 0, NOTHING);
	}

	private void onNode(Node node, long duration, Runnable end) {
		node.faultBegins();
		lasts(duration, () -> {
			end.run();
			node.faultEnds();
		});
	}

	private void onServer(long duration, Runnable end) {
		this.world.faultBegins();
		lasts(duration, () -> {
			end.run();
			this.world.faultEnds();
		});
	}

	private void lasts(long duration, Runnable end) {
		Repair repair = new Repair(end);
		this.repairs.add(repair);
		this.scheduler.after(duration, repair);
	}

	/**
	 * End all faults that last.
	 */
	void end() {
		List.copyOf(this.repairs).forEach(Repair::run);
	}

	/**
	 * The kinds of faults.
	 */
	enum Kind {

		FREEZE, CRASH, CUT, SLOW, DEGRADE, TERMINATE, SUCCESSION, TERMINATE_AT_HEAD, STATISTICS_RESET, RESET,
		SERVER_RESET, PROXY_RESTART, CANCEL, HALF_ANSWER, STUCK_SESSION, SERVER_CRASH, SERVER_STOP, SERVER_FREEZE,
		PROMOTION, CLOCK_STEP, SLOW_GRANT, RESIGN, REQUEST, RESTART, SUSPEND, NO_THREADS, NO_MEMORY, OTHER_LOST,
		BLOCKED_LOG, SLOW_INTERRUPT, HUNG_REQUEST, ROWS_DELETED, NAMES_UNREADABLE, POOL_EMPTY, OTHER_STORE, FOREIGN;

		/** Those of elections that use advisory locks. */
		private static final Set<Kind> OF_LOCKS = EnumSet.of(NAMES_UNREADABLE, POOL_EMPTY, OTHER_STORE, FOREIGN);

	}

	/**
	 * The end of a fault, which happens once.
	 */
	private final class Repair implements Runnable {

		private final Runnable end;

		Repair(Runnable end) {
			this.end = end;
		}

		@Override
		public void run() {
			if (Faults.this.repairs.remove(this)) {
				this.end.run();
			}
		}

	}

}
