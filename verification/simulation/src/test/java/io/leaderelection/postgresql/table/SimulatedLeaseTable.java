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

package io.leaderelection.postgresql.table;

import java.util.HashMap;
import java.util.Map;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.simulation.Node;
import io.leaderelection.simulation.ObservedStore;
import io.leaderelection.simulation.Sentinel;
import io.leaderelection.simulation.SimulatedJdbc;
import io.leaderelection.simulation.Texts;
import org.slf4j.LoggerFactory;

/**
 * The real {@link LeaseTable} on a simulated server: everything of it but the text of its
 * statements, for which programs run.
 */
public final class SimulatedLeaseTable {

	/** The key of the row. */
	public static final String ELECTION = "simulation:default";

	/** With a schema, so that no other is searched. */
	private static final String TABLE = "public." + LeaseTableShape.DEFAULT_TABLE;

	static {
		// So many faults are logged that it would take most of the time
		((Logger) LoggerFactory.getLogger(SimulatedLeaseTable.class.getPackageName())).setLevel(Level.OFF);
	}

	private final ElectionKeys keys;

	private final Sentinel sentinel;

	private final boolean pooled;

	private final Texts texts = new Texts();

	private final Map<String, LeaseTable> tables = new HashMap<>();

	/**
	 * Create a new {@code SimulatedLeaseTable} instance with a seeded mistake, if it is
	 * one of the statements.
	 * @param pooled whether a pooler in transaction mode is between nodes and server
	 */
	public SimulatedLeaseTable(ElectionKeys keys, Sentinel sentinel, boolean pooled) {
		this.keys = keys;
		this.sentinel = sentinel;
		this.pooled = pooled;
		this.texts.answer(LeaseTableShape.inspect(TABLE), (backend) -> Texts.tables());
	}

	/**
	 * Return the store of an election of a node. All elections of a process share one
	 * connection. It is alone in all of them but the first.
	 */
	public ElectionStore store(Node node, ElectionSettings settings, Platform platform) {
		String process = settings.nodeId();
		LeaseTable known = this.tables.get(process);
		if (known != null) {
			return known.store(settings, ELECTION + ":" + process, this.keys, 0);
		}
		LeaseTable table = new LeaseTable(
				(driverSettings) -> SimulatedJdbc.connect(node, driverSettings, this.pooled, this.texts),
				new LeaseTable.Node(process, "host", 1), TABLE, false, settings.lease(), platform) {

			@Override
			LeaseTableSql sql(Tables tables, ServerInspection server, boolean direct, long timeoutMillis) {
				return new LeaseTablePrograms(server, direct, timeoutMillis, SimulatedLeaseTable.this.sentinel,
						SimulatedLeaseTable.this.texts);
			}

		};
		this.tables.put(process, table);
		return new ObservedStore(node, (session) -> null).observe(table.store(settings, ELECTION, this.keys, 0));
	}

	/**
	 * Return the texts of the statements.
	 */
	public Texts texts() {
		return this.texts;
	}

}
