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

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Jdbc;
import io.leaderelection.postgresql.table.LeaseTableSql.Identity;
import io.leaderelection.postgresql.table.LeaseTableSql.Part;
import io.leaderelection.postgresql.table.LeaseTableSql.Request;
import io.leaderelection.simulation.ComparedServer;
import io.leaderelection.simulation.ComparedSessions;
import io.leaderelection.simulation.server.Statements;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that use the lease table of a server.
 */
final class ComparedTable implements AutoCloseable {

	static final String ERROR = "error ";

	static final String TAKEN = "taken ";

	static final long LEASE_MILLIS = 60_000;

	private static final long TIMELINE = 1;

	/** A round waits for a locked row for half of it. */
	static final long TIMEOUT_MILLIS = 600;

	private static final ElectionKeys KEYS = ElectionKeys.derive("comparison", "table");

	private static final List<String> ELECTIONS = IntStream.range(0, TableCourse.ELECTIONS)
		.mapToObj((number) -> "comparison:" + number)
		.toList();

	/** What depends on the server, or is compared elsewhere. */
	private static final List<String> LEFT_OUT = List.of("since", "application_name", "role", "set_config",
			"pg_notify");

	private final ComparedServer server;

	private final LeaseTableSql sql;

	private final ComparedSessions<Integer> sessions;

	private final Map<Integer, Map<String, LeaseRow>> observed = new HashMap<>();

	private final List<Takeover> takeovers = new ArrayList<>();

	private final Map<Long, Integer> numbers = new HashMap<>();

	private int joined;

	/**
	 * Create a new {@code ComparedTable} instance.
	 * @param direct whether sessions have the settings of the statements from their
	 * beginning
	 */
	ComparedTable(ComparedServer server, LeaseTableSql sql, boolean direct) throws Exception {
		this.server = server;
		this.sql = sql;
		this.sessions = new ComparedSessions<>(server);
		for (int number = 0; number < TableCourse.SESSIONS; number++) {
			int opened = number;
			this.sessions.open(opened, () -> {
				this.sessions.opened(opened, server.connect(new Properties()));
				if (direct) {
					rows(opened, sql.listen());
				}
				return "opened";
			});
			this.sessions.answers();
		}
	}

	/**
	 * Run an operation.
	 * @return the words for its answer, in which nothing depends on the server
	 */
	String run(TableOperation operation) throws Exception {
		return this.sessions.call(operation.session(), () -> {
			try {
				return answer(operation);
			}
			catch (SQLException ex) {
				return ERROR + ex.getSQLState();
			}
		});
	}

	private String answer(TableOperation operation) throws Exception {
		int session = operation.session();
		String election = ELECTIONS.get(operation.election());
		UUID token = token(operation.token());
		Takeover takeover = (operation.term() < this.takeovers.size()) ? this.takeovers.get(operation.term()) : null;
		// Now and then as if the server had been promoted
		long timeline = (operation.beat() % 8 == 0) ? TIMELINE + 1 : TIMELINE;
		return switch (operation.kind()) {
			case BEGIN -> control(session, operation.flag() ? Control.BEGIN_REPEATABLE_READ : Control.BEGIN);
			case TRANSACTION_ID -> control(session, Control.TRANSACTION_ID);
			case COMMIT -> control(session, Control.COMMIT);
			case ROLLBACK -> control(session, Control.ROLLBACK);
			case INSERT -> words(rows(session, this.sql.insert(elections(operation))));
			case JOIN -> {
				UUID joining = token(this.joined++);
				yield words(rows(session,
						this.sql.join(new Identity(joining, "node-" + this.joined, LEASE_MILLIS, "host", 1))));
			}
			case READ -> round(operation, token, 0, false);
			case RAISE -> round(operation, token, operation.beat(), false);
			case EXPIRE -> expire(operation, token, timeline);
			case TAKE_OVER -> takeOver(operation, token, timeline);
			case LOCKERS -> words(rows(session, this.sql.lockers(election, LEASE_MILLIS)));
			case RELEASE -> words(
					rows(session, this.sql.release(Map.of(takeover.row(), operation.flag()), takeover.row().owner())));
			case REQUEST -> register(session, token, List.of(takeover.row().election()),
					new Part(false, NodeProfile.DEFAULT, new Request(takeover.row().term(), "test")));
			case REGISTER -> register(session, token, elections(operation), new Part(true, NodeProfile.DEFAULT, null));
			case CANDIDATES -> round(operation, token, 0, true);
			case LEAVE -> words(rows(session, this.sql.leave(Map.of(token, (long) operation.beat()))));
			case FENCE -> words(fence(session, takeover));
			case IS_HELD -> words(
					rows(session, this.sql.isHeld(takeover.row().election(), takeover.term(), takeover.row().owner())));
		};
	}

	/**
	 * Return all elections, or the one that the operation is about.
	 */
	private static List<String> elections(TableOperation operation) {
		return operation.flag() ? ELECTIONS : List.of(ELECTIONS.get(operation.election()));
	}

	private String register(int session, UUID token, List<String> elections, Part part) throws SQLException {
		return words(rows(session, this.sql.register(token, elections,
				elections.stream().collect(Collectors.toMap((election) -> election, (election) -> part)))));
	}

	private static UUID token(int number) {
		return new UUID(0, number);
	}

	private String round(TableOperation operation, UUID token, long beat, boolean candidates) throws Exception {
		int session = operation.session();
		List<Map<String, @Nullable Object>> rows = rows(session,
				this.sql.round(token, beat, operation.flag(), ELECTIONS, candidates));
		rows.stream()
			.filter((row) -> row.get("term") != null && !Boolean.TRUE.equals(row.get("listed")))
			.forEach((row) -> observed(session).put(String.valueOf(row.get("election")), observe(row)));
		return words(rows);
	}

	private static LeaseRow observe(Map<String, @Nullable Object> row) {
		LeaseRow.Session owner = (row.get("node") != null)
				? new LeaseRow.Session("node", number(row, "beat"), LEASE_MILLIS, NodeProfile.DEFAULT) : null;
		return new LeaseRow(String.valueOf(row.get("election")), number(row, "term"), number(row, "timeline"),
				(UUID) row.get("owner"), Boolean.TRUE.equals(row.get("clean")), null, owner, null, null);
	}

	private static long number(Map<String, @Nullable Object> row, String column) {
		Object value = row.get(column);
		return (value != null) ? ((Number) value).longValue() : 0;
	}

	private Map<String, LeaseRow> observed(int session) {
		return this.observed.computeIfAbsent(session, (unknown) -> new TreeMap<>());
	}

	private List<LeaseRow> rows(TableOperation operation) {
		return elections(operation).stream().map(observed(operation.session())::get).filter(Objects::nonNull).toList();
	}

	/**
	 * Expire the owners that this session has observed last, or another session.
	 */
	private String expire(TableOperation operation, UUID token, long timeline) throws Exception {
		Map<UUID, Long> beats = new TreeMap<>();
		rows(operation).stream()
			.filter((row) -> row.session() != null)
			.forEach((row) -> beats.put(row.owner(), row.session().beat()));
		beats.putIfAbsent(token, (long) operation.beat());
		return words(rows(operation.session(), this.sql.expire(beats, timeline)));
	}

	/**
	 * Take over what this session has observed last.
	 */
	private String takeOver(TableOperation operation, UUID token, long timeline) throws Exception {
		Map<LeaseRow, ElectionKeys> wanted = new LinkedHashMap<>();
		rows(operation).forEach((row) -> wanted.put(row, KEYS));
		if (wanted.isEmpty()) {
			return round(operation, token, 0, false);
		}
		List<Map<String, @Nullable Object>> rows = rows(operation.session(),
				this.sql.takeOver(wanted, timeline, token, operation.beat()));
		List<Map<String, @Nullable Object>> taken = rows.stream().filter((row) -> number(row, "term") != 0).toList();
		taken.forEach((row) -> this.takeovers.add(new Takeover(new LeaseRow(String.valueOf(row.get("election")),
				number(row, "term"), number(row, "timeline"), token, false, null, null, null, null))));
		return (taken.isEmpty() ? "" : TAKEN) + words(rows);
	}

	private String words(List<Map<String, @Nullable Object>> rows) {
		return rows.stream().map(this::words).sorted().collect(Collectors.joining("; "));
	}

	private String words(Map<String, @Nullable Object> row) {
		Map<String, String> words = new TreeMap<>();
		row.forEach((column, value) -> {
			if (!LEFT_OUT.contains(column)) {
				words.put(column, words(column, value));
			}
		});
		return words.toString();
	}

	private String words(String column, @Nullable Object value) {
		if (column.equals("pid") && value != null) {
			return "session " + this.sessions.number(((Number) value).intValue());
		}
		if (column.equals("raised") || column.equals("request")) {
			// Null if it was not to be raised. Of several requests, any one is shown
			return String.valueOf(value != null && !Boolean.FALSE.equals(value));
		}
		long term = (column.equals("term") && value != null) ? ((Number) value).longValue() : 0;
		return (term != 0) ? "number " + this.numbers.computeIfAbsent(term, (unknown) -> this.numbers.size() + 1)
				: String.valueOf(value);
	}

	private List<Map<String, @Nullable Object>> rows(int session, String text) throws SQLException {
		return Jdbc.rows(this.sessions.connection(session), text, ComparedTable::row);
	}

	private static Map<String, @Nullable Object> row(ResultSet result) throws SQLException {
		Map<String, @Nullable Object> row = new LinkedHashMap<>();
		for (int column = 1; column <= result.getMetaData().getColumnCount(); column++) {
			row.put(result.getMetaData().getColumnLabel(column), result.getObject(column));
		}
		return row;
	}

	private List<Map<String, @Nullable Object>> fence(int session, Takeover takeover) throws SQLException {
		try (PreparedStatement fence = this.sessions.connection(session).prepareStatement(this.sql.fence())) {
			fence.setString(1, LEASE_MILLIS + "ms");
			fence.setString(2, takeover.row().election());
			fence.setLong(3, takeover.row().term());
			fence.setLong(4, takeover.row().timeline());
			fence.setString(5, String.valueOf(takeover.row().owner()));
			try (ResultSet result = fence.executeQuery()) {
				result.next();
				return List.of(row(result));
			}
		}
	}

	private String control(int session, Control control) throws SQLException {
		try (Statement statement = this.sessions.connection(session).createStatement()) {
			statement.execute(this.server.text(control.sql, control.program));
		}
		return control.toString();
	}

	@Override
	public void close() throws Exception {
		this.sessions.close();
	}

	/**
	 * A statement of a transaction of leader work.
	 */
	enum Control {

		BEGIN("BEGIN ISOLATION LEVEL READ COMMITTED", Statements::begin),

		BEGIN_REPEATABLE_READ("BEGIN ISOLATION LEVEL REPEATABLE READ", () -> Statements.begin(true)),

		TRANSACTION_ID("SELECT pg_current_xact_id()", () -> Statements.transactionId(false)),

		COMMIT("COMMIT", () -> Statements.commit(null)),

		ROLLBACK("ROLLBACK", Statements::rollback);

		private final String sql;

		private final Supplier<io.leaderelection.simulation.server.Statement<?>> program;

		Control(String sql, Supplier<io.leaderelection.simulation.server.Statement<?>> program) {
			this.sql = sql;
			this.program = program;
		}

	}

	private record Takeover(LeaseRow row) {

		Term term() {
			return new Term(0, this.row.timeline(), this.row.term());
		}

	}

}
