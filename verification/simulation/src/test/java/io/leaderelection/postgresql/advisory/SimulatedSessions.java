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

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.SessionNames;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Inspection;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Settings;
import io.leaderelection.postgresql.advisory.AdvisoryLockPrograms.Watched;
import io.leaderelection.simulation.Node;
import io.leaderelection.simulation.SimulatedConnection;
import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * {@link AdvisoryLockStore} on a simulated server.
 */
public final class SimulatedSessions implements ElectionStore {

	private static final long CONNECT_TIMEOUT = 5_000_000_000L;

	private static final long POLL_INTERVAL = 50_000_000;

	private static final long OPENING_TIMEOUT = 10_000_000_000L;

	private final Node node;

	private final ElectionSettings settings;

	private final AdvisoryLockPrograms programs;

	private final SessionNames names;

	private final Function<Connection, SimulatedTransaction> transactions;

	private volatile @Nullable SimulatedConnection opening;

	public SimulatedSessions(Node node, ElectionSettings settings, AdvisoryLockPrograms programs,
			Function<Connection, SimulatedTransaction> transactions) {
		this.node = node;
		this.settings = settings;
		this.programs = programs;
		this.names = new SessionNames(settings.election());
		this.transactions = transactions;
	}

	@Override
	public boolean canWatch() {
		return true;
	}

	/**
	 * Always on a connection of its own: a pool of the application is not simulated.
	 */
	@Override
	public Watch watch(boolean candidate) throws SessionException {
		return connect((connection) -> {
			Watched watched = connection.request(this.programs.watch(seats()), OPENING_TIMEOUT);
			if (watched.inRecovery()) {
				throw new SessionException("The server is a standby", null);
			}
			Watch watch = new Watch(newSession(connection, new Settings(0, null, 0, 0), 0).view(watched.observation()),
					watched.taken() < seats().size());
			connection.close("closed");
			return watch;
		});
	}

	@Override
	public StoreSession open() throws SessionException {
		return connect(this::open);
	}

	@Override
	public void requestResignation(Term term, String cause, Duration limit) throws SessionException {
		SimulatedConnection connection = null;
		try {
			connection = SimulatedConnection.open(this.node, this.names.of(this.settings.nodeId()), CONNECT_TIMEOUT,
					(begun) -> {
					});
			connection.request(this.programs.requestResignation(term), OPENING_TIMEOUT);
			long deadline = this.node.process().clock() + limit.toNanos();
			while (deadline - this.node.process().clock() > 0
					&& !connection.request(this.programs.hasEnded(term), OPENING_TIMEOUT)) {
				this.node.world().scheduler().sleep(POLL_INTERVAL);
			}
			connection.close("closed");
		}
		catch (BrokenException | SqlError | InterruptedException ex) {
			abandon(connection);
			throw new SessionException("The database for leader election cannot be reached: " + ex.getMessage(), ex);
		}
	}

	private <T> T connect(Use<T> use) throws SessionException {
		SimulatedConnection connection = null;
		try {
			connection = SimulatedConnection.open(this.node, this.names.of(this.settings.nodeId()), CONNECT_TIMEOUT,
					(begun) -> this.opening = begun);
			return use.apply(connection);
		}
		catch (BrokenException | SqlError ex) {
			abandon(connection);
			throw new SessionException("The database for leader election cannot be reached: " + ex.getMessage(), ex);
		}
		catch (InterruptedException ex) {
			throw new SessionException("Interrupted", ex);
		}
		catch (SessionException | RuntimeException | Error ex) {
			abandon(connection);
			throw ex;
		}
		finally {
			this.opening = null;
		}
	}

	private StoreSession open(SimulatedConnection connection) throws BrokenException, SqlError, SessionException {
		Inspection server = connection.request(AdvisoryLockPrograms.inspect(), OPENING_TIMEOUT);
		if (server.inRecovery()) {
			throw new SessionException("The server is a standby", null);
		}
		long lease = this.settings.lease().toMillis();
		String token = Long.toHexString(this.node.random().nextLong());
		Settings session = connection
			.request(AdvisoryLockPrograms.settings(lease, lease, server.longestWaitMillis(), token), OPENING_TIMEOUT);
		return newSession(connection, session, server.longestWaitMillis());
	}

	private SimulatedSession newSession(SimulatedConnection connection, Settings session, long longestWaitMillis) {
		return new SimulatedSession(this.node, connection, session, this.programs, this.names,
				this.settings.lease().toMillis(), longestWaitMillis, examines() ? this.settings.takeoverDelay() : null,
				seats(), this.settings.profile());
	}

	private List<Integer> seats() {
		return ElectionKeys.seats(this.settings.standbys(), this.settings.profile().priority());
	}

	private boolean examines() {
		if (this.node.world().isProxied() && this.node.world().mutant() != Mutant.PROXY_NOT_SEEN) {
			return false;
		}
		return (this.settings.fastTakeover() != FastTakeover.FALSE && this.settings.isDelayShortened())
				|| this.node.world().mutant() == Mutant.FAST_DESPITE_LONG_DELAY;
	}

	@Override
	public void abandon() {
		abandon(this.opening);
	}

	private static void abandon(@Nullable SimulatedConnection connection) {
		if (connection != null) {
			connection.abort();
		}
	}

	@Override
	public TransactionFence fence() {
		return new TransactionFence() {

			@Override
			public Outcome pass(Connection connection, Term term) throws SQLException {
				SimulatedTransaction transaction = SimulatedSessions.this.transactions.apply(connection);
				return transaction.pass(SimulatedSessions.this.programs, term,
						SimulatedSessions.this.settings.lease().toMillis()) ? Outcome.PASSED : Outcome.REFUSED;
			}

			@Override
			public Boolean covers(Connection connection) {
				return true;
			}

		};
	}

	/**
	 * Uses a connection.
	 *
	 * @param <T> the result
	 */
	@FunctionalInterface
	private interface Use<T> {

		T apply(SimulatedConnection connection) throws BrokenException, SqlError, SessionException;

	}

	/**
	 * A transaction on a simulated server.
	 */
	@FunctionalInterface
	public interface SimulatedTransaction {

		boolean pass(AdvisoryLockPrograms programs, Term term, long leaseMillis) throws SQLException;

	}

}
