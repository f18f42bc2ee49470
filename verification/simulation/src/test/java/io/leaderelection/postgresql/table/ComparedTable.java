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

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.table.LeaseTableSql.Identity;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that use the lease table of a server, simulated or real.
 */
abstract class ComparedTable implements AutoCloseable {

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

	private final Map<Integer, LeaseRow> observed = new HashMap<>();

	private final List<Takeover> takeovers = new ArrayList<>();

	private final Map<Long, Integer> numbers = new HashMap<>();

	private int joined;

	/**
	 * Run an operation.
	 * @return the words for its answer, in which nothing depends on the server
	 */
	final String run(TableOperation operation) throws Exception {
		try {
			return answer(operation);
		}
		catch (SQLException ex) {
			return ERROR + ex.getSQLState();
		}
	}

	private String answer(TableOperation operation) throws Exception {
		int session = operation.session();
		String election = ELECTIONS.get(operation.election());
		UUID token = token(operation.token());
		Takeover takeover = (operation.term() < this.takeovers.size()) ? this.takeovers.get(operation.term()) : null;
		LeaseTableSql sql = sql(session);
		// Now and then as if the server had been promoted
		long timeline = (operation.beat() % 8 == 0) ? TIMELINE + 1 : TIMELINE;
		return switch (operation.kind()) {
			case BEGIN -> control(session, operation.flag() ? Control.BEGIN_REPEATABLE_READ : Control.BEGIN);
			case TRANSACTION_ID -> control(session, Control.TRANSACTION_ID);
			case COMMIT -> control(session, Control.COMMIT);
			case ROLLBACK -> control(session, Control.ROLLBACK);
			case INSERT -> words(rows(session, sql.insert(election)));
			case JOIN -> {
				UUID joining = token(this.joined++);
				yield words(
						rows(session, sql.join(new Identity(joining, "node-" + this.joined, LEASE_MILLIS, "host", 1))));
			}
			case READ -> round(session, election, token, 0);
			case RAISE -> round(session, election, token, operation.beat());
			case EXPIRE -> expire(session, token, operation.beat(), timeline);
			case TAKE_OVER -> takeOver(session, election, token, operation.beat(), timeline);
			case LOCKERS -> words(rows(session, sql.lockers(election, LEASE_MILLIS)));
			case RELEASE -> words(rows(session,
					sql.release(takeover.election(), takeover.term(), takeover.token(), operation.flag())));
			case REQUEST -> words(rows(session, sql.requestResignation(takeover.election(), token,
					operation.flag() ? takeover.term().transactionId() : 0, "test")));
			case REGISTER ->
				words(rows(session, sql.register(token, (operation.flag() ? ELECTIONS : List.of(election)).stream()
					.collect(Collectors.toMap((each) -> each, (each) -> NodeProfile.DEFAULT)))));
			case CANDIDATES -> words(rows(session, sql.candidates(List.of(election))));
			case LEAVE -> words(rows(session, sql.leave(token, operation.beat())));
			case FENCE -> words(fence(session, takeover.election(), takeover.term(), takeover.token()));
			case IS_HELD -> words(rows(session, sql.isHeld(takeover.election(), takeover.term(), takeover.token())));
		};
	}

	private static UUID token(int number) {
		return new UUID(0, number);
	}

	private String control(int session, Control control) throws Exception {
		run(session, control);
		return control.toString();
	}

	private String round(int session, String election, UUID token, long beat) throws Exception {
		List<Map<String, @Nullable Object>> rows = rows(session, sql(session).round(token, beat, ELECTIONS));
		rows.stream()
			.filter((row) -> election.equals(row.get("election")) && row.get("term") != null)
			.forEach((row) -> this.observed.put(session, observe(row)));
		return words(rows);
	}

	private static LeaseRow observe(Map<String, @Nullable Object> row) {
		LeaseRow.Session owner = (row.get("node") != null)
				? new LeaseRow.Session("node", number(row, "beat"), LEASE_MILLIS, NodeProfile.DEFAULT) : null;
		return new LeaseRow(String.valueOf(row.get("election")), number(row, "term"), number(row, "timeline"),
				(UUID) row.get("owner"), Boolean.TRUE.equals(row.get("clean")), null, owner, null);
	}

	private static long number(Map<String, @Nullable Object> row, String column) {
		Object value = row.get(column);
		return (value != null) ? ((Number) value).longValue() : 0;
	}

	/**
	 * Expire the owner that this session has observed last, or another session.
	 */
	private String expire(int session, UUID token, long beat, long timeline) throws Exception {
		LeaseRow row = this.observed.get(session);
		LeaseRow.Session owner = (row != null) ? row.session() : null;
		return words(rows(session, (owner != null) ? sql(session).expire(row.owner(), owner.beat(), timeline)
				: sql(session).expire(token, beat, timeline)));
	}

	/**
	 * Take over what this session has observed last.
	 */
	private String takeOver(int session, String election, UUID token, long beat, long timeline) throws Exception {
		LeaseRow row = this.observed.get(session);
		if (row == null) {
			return round(session, election, token, 0);
		}
		List<Map<String, @Nullable Object>> rows = rows(session,
				sql(session).takeOver(row, timeline, KEYS, token, beat));
		long term = number(rows.get(0), "term");
		if (term == 0) {
			return words(rows);
		}
		this.takeovers.add(new Takeover(row.election(), new Term(0, number(rows.get(0), "timeline"), term), token));
		return TAKEN + words(rows);
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
			return "session " + session(((Number) value).intValue());
		}
		if (column.equals("raised") || column.equals("request")) {
			// Null if it was not to be raised. Of several requests, any one is shown
			return String.valueOf(value != null && !Boolean.FALSE.equals(value));
		}
		long term = (column.equals("term") && value != null) ? ((Number) value).longValue() : 0;
		return (term != 0) ? "number " + this.numbers.computeIfAbsent(term, (unknown) -> this.numbers.size() + 1)
				: String.valueOf(value);
	}

	/**
	 * Return the statements of a session.
	 */
	abstract LeaseTableSql sql(int session);

	/**
	 * Return the rows of a statement.
	 */
	abstract List<Map<String, @Nullable Object>> rows(int session, String text) throws Exception;

	/**
	 * Return the rows of {@link LeaseTableSql#fence()}.
	 */
	abstract List<Map<String, @Nullable Object>> fence(int session, String election, Term term, UUID token)
			throws Exception;

	abstract void run(int session, Control control) throws Exception;

	/**
	 * Return the number of the session with a process id.
	 */
	abstract @Nullable Integer session(int pid);

	@Override
	public abstract void close() throws Exception;

	/**
	 * A statement of a transaction of leader work.
	 */
	enum Control {

		BEGIN, BEGIN_REPEATABLE_READ, TRANSACTION_ID, COMMIT, ROLLBACK

	}

	private record Takeover(String election, Term term, UUID token) {
	}

}
