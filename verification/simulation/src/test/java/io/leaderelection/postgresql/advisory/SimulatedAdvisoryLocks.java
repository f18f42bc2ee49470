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
import java.util.Properties;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionSettings.FastTakeover;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore.TableRow;
import io.leaderelection.simulation.Node;
import io.leaderelection.simulation.ObservedStore;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.SimulatedConnection;
import io.leaderelection.simulation.SimulatedJdbc;
import io.leaderelection.simulation.Texts;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;

/**
 * The real {@link AdvisoryLockStore} on a simulated server: everything of it but the text
 * of its statements, for which programs run.
 */
public final class SimulatedAdvisoryLocks {

	private static final TableRow ROW = new TableRow("public." + LeaseTableShape.DEFAULT_TABLE, "simulation:default");

	static {
		// So many faults are logged that it would take most of the time
		((Logger) LoggerFactory.getLogger(SimulatedAdvisoryLocks.class.getPackageName())).setLevel(Level.OFF);
	}

	private final ElectionKeys keys;

	private final AdvisoryLockPrograms programs;

	private final Texts texts = new Texts();

	/**
	 * Create a new {@code SimulatedAdvisoryLocks} instance with a mistake, if it is one
	 * of the statements.
	 */
	public SimulatedAdvisoryLocks(ElectionKeys keys, Sentinel sentinel) {
		this.keys = keys;
		this.programs = new AdvisoryLockPrograms(keys, sentinel, this.texts, ROW);
	}

	/**
	 * Return the store of the election of a node.
	 */
	public ElectionStore store(Node node, ElectionSettings settings, Platform platform) {
		ElectionStore store = new SimulatedStore(this.keys, this.programs, settings(node, settings),
				new NodeConnections(node, this.texts), ROW, platform);
		return new ObservedStore(node, SimulatedAdvisoryLocks::connection).observe(store);
	}

	/**
	 * The address of a simulated connection is not known. A takeover is fast nevertheless
	 * unless nodes are behind a proxy that they see.
	 */
	private static ElectionSettings settings(Node node, ElectionSettings settings) {
		return new ElectionSettings(settings.election(), settings.nodeId(), settings.lease(), settings.takeoverDelay(),
				node.world().isProxied() ? FastTakeover.AUTO : FastTakeover.TRUE, settings.drainTimeout(),
				settings.candidate(), settings.standbys(), settings.profile(), settings.priorityHold());
	}

	private static @Nullable SimulatedConnection connection(StoreSession session) {
		return (SimulatedConnection) SimulatedJdbc.client(((AdvisoryLockSession) session).connection());
	}

	public AdvisoryLockPrograms programs() {
		return this.programs;
	}

	/**
	 * Return the texts of the statements.
	 */
	public Texts texts() {
		return this.texts;
	}

	/**
	 * The connections of a node, which now and then has a pool.
	 *
	 * @param node the node
	 * @param texts the texts of the statements
	 */
	private record NodeConnections(Node node, Texts texts) implements ConnectionSource {

		@Override
		public Connection connect(Properties driverSettings) throws SQLException {
			return SimulatedJdbc.connect(this.node, driverSettings, false, this.texts);
		}

		@Override
		public @Nullable Connection borrow(Duration timeout) throws InterruptedException {
			SimulatedConnection lent = this.node.borrow(timeout);
			return (lent != null) ? SimulatedJdbc.lend(lent, this.texts) : null;
		}

	}

}
