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

import java.sql.Connection;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.function.Supplier;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.simulation.Node;
import io.leaderelection.simulation.SimulatedConnection;
import io.leaderelection.simulation.SimulatedConnection.BrokenException;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Timeout;
import io.leaderelection.testsupport.Mutant;
import org.slf4j.LoggerFactory;

/**
 * The real {@link LeaseTable} on a simulated server: everything of it but the text of its
 * statements, for which programs run.
 */
public final class SimulatedLeaseTable {

	/** The key of the row. */
	public static final String ELECTION = "simulation:default";

	private static final int DATABASE = 5;

	/** With a schema, so that no other is searched. */
	private static final String TABLE = "public." + LeaseTableShape.DEFAULT_TABLE;

	static {
		// So many faults are logged that it would take most of the time
		((Logger) LoggerFactory.getLogger(SimulatedLeaseTable.class.getPackageName())).setLevel(Level.OFF);
	}

	private final ElectionKeys keys;

	private final LeaseTablePrograms programs;

	private final boolean pooled;

	private final Map<String, Opening> openings;

	private final Map<String, Supplier<Statement<Rows>>> texts = new HashMap<>();

	private final Map<String, LeaseTable> tables = new HashMap<>();

	private int count;

	/**
	 * Create a new {@code SimulatedLeaseTable} instance with a seeded mistake, if it is
	 * one of the statements.
	 * @param pooled whether a pooler in transaction mode is between nodes and server
	 */
	public SimulatedLeaseTable(ElectionKeys keys, Mutant mutant, boolean pooled) {
		this.keys = keys;
		this.programs = new LeaseTablePrograms(mutant);
		this.pooled = pooled;
		this.openings = Map.of(ServerInspection.VERSION, (backend, connection) -> Rows.of("version", "PostgreSQL"),
				ServerInspection.INSPECT, (backend, connection) -> inspect(backend), ServerInspection.TIMELINES,
				(backend, connection) -> Rows.of("timelines", true), DatabaseIdentity.DATABASE,
				(backend, connection) -> Rows.of("database", DATABASE, "control_system", true),
				DatabaseIdentity.CLUSTER,
				(backend, connection) -> Rows.of("system_identifier", backend.server().systemIdentifier()),
				LeaseTableShape.inspect(TABLE), (backend, connection) -> tables(), LeaseTableSql.listen(),
				(backend, connection) -> {
					backend.listen(connection::receive);
					backend.set(Timeout.IDLE_SESSION, 30_000, false);
					return Rows.of("timeout", "30000");
				});
	}

	private static Rows tables() {
		Rows rows = new Rows();
		List<String> names = List.of("elections", "nodes", "candidates");
		names.forEach((name) -> rows.add("number", names.indexOf(name) + 1, "name", name, "mismatch", null,
				"privileges", null, "readable", true));
		return rows;
	}

	private static Rows inspect(Backend backend) {
		return Rows.of("version", "PostgreSQL", "version_number", 180006, "pid", backend.pid(), "in_recovery",
				backend.server().isInRecovery(), "role", "postgres", "database", DATABASE, "plpgsql", true, "denied",
				"", "login", "postgres", "threshold", 1);
	}

	/**
	 * Return the sessions of an election of a node. All elections of a process share one
	 * connection. It is alone in all of them but the first.
	 */
	public ElectionStore sessions(Node node, ElectionSettings settings, Platform platform) {
		String process = settings.nodeId();
		LeaseTable known = this.tables.get(process);
		if (known != null) {
			return known.store(settings, ELECTION + ":" + process, this.keys, 0);
		}
		LeaseTable table = new LeaseTable((driverSettings) -> connect(node, driverSettings),
				new LeaseTable.Node(process, "host", 1), TABLE, false, settings.lease(), platform) {

			@Override
			LeaseTableSql sql(Tables tables, ServerInspection server, long timeoutMillis) {
				return new SimulatedLeaseTableSql(server, timeoutMillis, SimulatedLeaseTable.this.programs,
						SimulatedLeaseTable.this::add);
			}

		};
		this.tables.put(process, table);
		return new ObservedStore(node, table.store(settings, ELECTION, this.keys, 0));
	}

	private Connection connect(Node node, Properties driverSettings) throws SQLException {
		int timeoutMillis = 1000 * Integer.parseInt(driverSettings.getProperty("connectTimeout"));
		String name = driverSettings.getProperty("ApplicationName");
		try {
			SimulatedConnection connection = SimulatedConnection.open(node, name, this.pooled,
					timeoutMillis * 1_000_000L, (opening) -> {
					});
			return SimulatedJdbc.connection(connection, this::program, true, timeoutMillis);
		}
		catch (BrokenException ex) {
			throw new SQLException(ex.getMessage(), "08001", ex);
		}
		catch (InterruptedException ex) {
			throw new SQLException("Interrupted", "08001", ex);
		}
	}

	/**
	 * Return a connection of the application, in a transaction.
	 */
	public Connection transaction(SimulatedConnection connection) {
		return SimulatedJdbc.connection(connection, this::program, false, 0);
	}

	private String add(Supplier<Statement<Rows>> program) {
		String text = "statement " + ++this.count;
		this.texts.put(text, program);
		return text;
	}

	private Statement<Rows> program(String text, List<Object> parameters, SimulatedConnection connection) {
		if (text.equals(SimulatedLeaseTableSql.FENCE)) {
			String idle = (String) parameters.get(0);
			return this.programs.fence((String) parameters.get(1), (Long) parameters.get(2), (Long) parameters.get(3),
					UUID.fromString((String) parameters.get(4)), Long.parseLong(idle.substring(0, idle.length() - 2)));
		}
		Supplier<Statement<Rows>> program = this.texts.remove(text);
		return (program != null) ? program.get() : opening(text, connection);
	}

	private Statement<Rows> opening(String text, SimulatedConnection connection) {
		Opening opening = this.openings.get(text);
		if (opening == null) {
			throw new IllegalArgumentException("There is no program for: " + text);
		}
		return new Statement<>() {

			@Override
			protected int step(int step, Backend backend) throws SqlError {
				answer(opening.run(backend, connection));
				return END;
			}

		};
	}

	/**
	 * A statement that a connection runs when it is opened.
	 */
	@FunctionalInterface
	private interface Opening {

		Rows run(Backend backend, SimulatedConnection connection) throws SqlError;

	}

}
