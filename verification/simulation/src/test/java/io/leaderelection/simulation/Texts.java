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

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import java.util.stream.Stream;

import io.leaderelection.postgresql.DatabaseIdentity;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.simulation.SimulatedJdbc.Client;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.Rows;
import io.leaderelection.simulation.server.Sequence;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import io.leaderelection.simulation.server.Statements.Question;

/**
 * The texts of statements, each of which stands for a program on a simulated server: for
 * those that inspect the server, their own, and for each other statement a text that is
 * used once. A message may consist of several. For several threads.
 */
public final class Texts {

	/** The object id of the only database. */
	public static final int DATABASE = 5;

	/** What a session inspects, as far as texts would depend on it. */
	public static final ServerInspection SERVER = new ServerInspection("PostgreSQL", 0, 0, false, "postgres",
			"postgres", DATABASE, true, List.of(), true, 800);

	/** The tables of the store {@code table}. */
	public static final Tables TABLES = Tables.named("elections");

	private static final String SEPARATOR = ";";

	private final Map<String, Program> known = new HashMap<>();

	private final Map<String, Supplier<Statement<Rows>>> once = new HashMap<>();

	private int count;

	public Texts() {
		answer(ServerInspection.VERSION, (backend) -> Rows.of("version", "PostgreSQL"));
		answer(ServerInspection.INSPECT, (backend) -> inspect(backend));
		answer(ServerInspection.TIMELINES, (backend) -> Rows.of("timelines", true));
		answer(DatabaseIdentity.DATABASE, (backend) -> Rows.of("database", DATABASE, "control_system", true));
		answer(DatabaseIdentity.CLUSTER,
				(backend) -> Rows.of("system_identifier", backend.server().systemIdentifier()));
	}

	private static Rows inspect(Backend backend) {
		return Rows.of("version", "PostgreSQL", "version_number", backend.server().version() * 10_000, "pid",
				backend.pid(), "in_recovery", backend.server().isInRecovery(), "role", "postgres", "database", DATABASE,
				"plpgsql", true, "denied", "", "login", "postgres", "threshold", 1);
	}

	/**
	 * Return the answer to the query for the tables of the store {@code table}.
	 */
	public static Rows tables() {
		Rows rows = new Rows();
		List<String> names = List.of(TABLES.elections(), TABLES.nodes(), TABLES.candidates());
		names.forEach((name) -> rows.add("number", names.indexOf(name) + 1, "name", name, "mismatch", null,
				"privileges", null, "readable", true, "absent", ""));
		return rows;
	}

	/**
	 * Return a text for a program, to be used once.
	 */
	public synchronized String add(Supplier<Statement<Rows>> program) {
		String text = ++this.count + SEPARATOR;
		this.once.put(text, program);
		return text;
	}

	/**
	 * Return a text for a statement that reads or changes everything in one step, to be
	 * used once.
	 */
	public String query(Question<Rows> question) {
		return add(() -> Statements.answer(question));
	}

	/**
	 * Set the program of a statement that has parameters.
	 */
	public synchronized void define(String text, Program program) {
		this.known.put(text, program);
	}

	/**
	 * Set the answer of a statement that reads or changes everything in one step.
	 */
	public void answer(String text, Question<Rows> question) {
		define(text, (parameters, client) -> Statements.answer(question));
	}

	/**
	 * Return the program of a text that was added.
	 */
	public synchronized Statement<Rows> program(String text) {
		List<Statement<Rows>> statements = Stream.of(text.split("(?<=" + SEPARATOR + ")")).map(this::once).toList();
		return (statements.size() == 1) ? statements.get(0) : new Sequence<>(statements);
	}

	synchronized Statement<Rows> program(String text, List<Object> parameters, Client client) {
		Program program = this.known.get(text);
		return (program != null) ? program.statement(parameters, client) : program(text);
	}

	private Statement<Rows> once(String text) {
		Supplier<Statement<Rows>> program = this.once.remove(text);
		if (program == null) {
			throw new IllegalArgumentException("There is no program for: " + text);
		}
		return program.get();
	}

	/**
	 * Provides a statement.
	 */
	@FunctionalInterface
	public interface Program {

		Statement<Rows> statement(List<Object> parameters, Client client);

	}

}
