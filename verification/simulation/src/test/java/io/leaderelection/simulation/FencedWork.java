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

import java.sql.SQLException;
import java.util.function.Supplier;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.Term;
import io.leaderelection.engine.SimulatedElector;
import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import org.jspecify.annotations.Nullable;

/**
 * A thread of the application that does leader work: it computes, sleeps, ignores its
 * interrupt now and then, and writes in fenced transactions.
 */
final class FencedWork {

	private static final long TIMEOUT = 10 * World.SECONDS;

	/** How long it takes to interrupt all work. */
	private static final long SETTLED = 200 * World.MILLIS;

	private final Node node;

	private final World world;

	private final Scheduler scheduler;

	private final LeaderElector elector;

	private @Nullable SimulatedConnection connection;

	FencedWork(Node node, LeaderElector elector) {
		this.node = node;
		this.world = node.world();
		this.scheduler = this.world.scheduler();
		this.elector = elector;
	}

	void repeat() {
		while (true) {
			this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS, 300 * World.MILLIS));
			try {
				if (this.world.chance(10)) {
					new LongWork(this.node).begin();
				}
				else {
					this.elector.runWithLeadership(this::work);
				}
			}
			catch (OutOfMemoryError ex) {
				this.world.record(this.node, "work failed: " + ex);
			}
			if (Thread.interrupted()) {
				this.world.invariants()
					.violated(Check.G4_INTERRUPT_LEFT, this.node + " has left work with its interrupt");
			}
		}
	}

	private void work(Leadership leadership) {
		Object id = this.world.invariants().workBegan(this.node, leadership);
		try {
			int kind = this.world.random().nextInt(100);
			if (kind < 40) {
				write(leadership);
			}
			else if (kind < 70) {
				pause(leadership, this.world.between(World.MILLIS, 200 * World.MILLIS));
			}
			else if (kind < 80) {
				pause(leadership, this.world.between(200 * World.MILLIS, 8 * World.SECONDS));
			}
			else if (kind < 82) {
				this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS, 4 * World.SECONDS));
			}
			else if (kind < 83) {
				resign(id);
			}
			else if (kind < 90) {
				this.elector
					.runWithLeadership((inner) -> pause(inner, this.world.between(World.MILLIS, 20 * World.MILLIS)));
			}
			else if (kind < 94) {
				workInside(leadership);
			}
		}
		finally {
			if (this.node.isUp()) {
				this.world.invariants().workEnded(this.node, id);
			}
		}
	}

	/**
	 * Resign, and wait for the end of the hand-over now and then, before this work ends.
	 */
	private void resign(Object id) {
		if (this.world.chance(50)) {
			this.node.resign();
			return;
		}
		try {
			this.node.resignAndWait(() -> this.world.invariants().workDetached(this.node, id));
		}
		catch (InterruptedException ex) {
			// The work goes on for a moment
		}
		this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS, 200 * World.MILLIS));
	}

	/**
	 * Work of another election inside this work. Neither looks for its interrupt, which
	 * must remain until the outer work ends.
	 */
	private void workInside(Leadership leadership) {
		SimulatedElector other = this.node.other();
		if (other == null) {
			return;
		}
		other.runInside(() -> this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS, 4 * World.SECONDS)));
		if (this.node.elector().hasInterrupted(leadership) && !Thread.currentThread().isInterrupted()) {
			// All work is interrupted one after the other
			this.scheduler.sleepUninterruptibly(SETTLED);
			if (!Thread.currentThread().isInterrupted() && !this.node.process().wasShort(SETTLED)) {
				this.world.invariants().violated(Check.G4_INTERRUPT_LEFT, this.node + " has swallowed an interrupt");
			}
		}
	}

	private void pause(Leadership leadership, long nanos) {
		try {
			this.scheduler.sleep(nanos);
			this.world.invariants().notInterrupted(this.node, leadership, SETTLED);
		}
		catch (InterruptedException ex) {
			// The work ends, as it was asked to
		}
	}

	/**
	 * Pause now and then.
	 */
	private void maybePause() {
		if (this.world.chance(30)) {
			this.scheduler.sleepUninterruptibly(this.world.between(World.MILLIS / 10,
					this.world.chance(20) ? 2 * World.SECONDS : 20 * World.MILLIS));
		}
	}

	private void write(Leadership leadership) {
		try {
			SimulatedConnection current = this.connection;
			if (current == null || current.isBroken()) {
				current = SimulatedConnection.open(this.node, SimulatedConnection.APPLICATION, false, TIMEOUT);
				this.connection = current;
			}
			write(leadership, current);
		}
		catch (BrokenException | SqlError ex) {
			drop(ex);
		}
		catch (InterruptedException ex) {
			// The work ends, as it was asked to
		}
		catch (SQLException ex) {
			drop(ex);
		}
	}

	private void drop(Exception ex) {
		this.world.record(this.node, "transaction failed: " + ex);
		SimulatedConnection current = this.connection;
		if (current != null) {
			current.close("dropped");
		}
	}

	private void write(Leadership leadership, SimulatedConnection current)
			throws BrokenException, SqlError, SQLException {
		boolean repeatableRead = this.world.table() != null && this.world.chance(25);
		ask(current, () -> Statements.begin(repeatableRead));
		maybePause();
		ask(current, () -> Statements.transactionId(true));
		maybePause();
		try {
			leadership.fence(this.world.transaction(current));
		}
		catch (LeadershipLostException ex) {
			this.world.invariants().refused();
			ask(current, Statements::rollback);
			return;
		}
		maybePause();
		if (this.world.table() != null && this.world.chance(10)) {
			writeFor(this.world.between(World.MILLIS, 4 * this.world.lease().toNanos()), current);
		}
		if (this.world.chance(5)) {
			current.beginRequest();
			maybePause();
		}
		Term term = leadership.getTerm();
		ask(current, () -> Statements.commit(() -> this.world.invariants().committed(this.node, term)));
	}

	/**
	 * Write for a time, whatever happens to the term, with pauses that do not make the
	 * transaction idle for too long.
	 */
	private void writeFor(long nanos, SimulatedConnection current) throws BrokenException, SqlError {
		long end = this.scheduler.now() + nanos;
		while (this.scheduler.now() < end) {
			this.scheduler.sleepUninterruptibly(this.world.lease().toNanos() / 4);
			ask(current, () -> Statements.transactionId(true));
		}
	}

	private static <T> void ask(SimulatedConnection current, Supplier<Statement<T>> statement)
			throws BrokenException, SqlError {
		current.request(statement.get(), TIMEOUT);
	}

}
