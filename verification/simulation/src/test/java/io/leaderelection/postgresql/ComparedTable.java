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

package io.leaderelection.postgresql;

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
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import io.leaderelection.postgresql.LeaseTableSql.Renewal;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that use the lease table of a server, simulated or real.
 */
abstract class ComparedTable implements AutoCloseable {

	static final String ERROR = "error ";

	static final String TAKEN = "taken ";

	static final long LEASE_MILLIS = 60_000;

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
		Takeover takeover = (operation.term() < this.takeovers.size()) ? this.takeovers.get(operation.term()) : null;
		return switch (operation.kind()) {
			case BEGIN -> control(session, operation.flag() ? Control.BEGIN_REPEATABLE_READ : Control.BEGIN);
			case TRANSACTION_ID -> control(session, Control.TRANSACTION_ID);
			case COMMIT -> control(session, Control.COMMIT);
			case ROLLBACK -> control(session, Control.ROLLBACK);
			case INSERT -> words(rows(session, sql(session).insert(List.of(election))));
			case READ -> round(session, election, List.of());
			case RENEW -> round(session, takeover.election(), List.of(new Renewal(takeover.election(),
					takeover.term().transactionId(), takeover.token(), operation.number())));
			case TAKE_OVER -> takeOver(session, election);
			case PASS_BARRIER ->
				words(rows(session, sql(session).passBarrier(takeover.election(), takeover.term(), takeover.token())));
			case LOCKERS -> words(rows(session, sql(session).lockers(election, LEASE_MILLIS)));
			case RELEASE -> words(rows(session,
					sql(session).release(takeover.election(), takeover.term(), takeover.token(), operation.flag())));
			case REQUEST -> words(rows(session,
					sql(session).requestResignation(takeover.election(), takeover.term(), operation.flag())));
			case CANDIDATES -> words(rows(session,
					sql(session).candidates(candidate(session), node(session),
							(operation.flag() ? ELECTIONS : List.of(election)).stream()
								.collect(Collectors.toMap((each) -> each, (each) -> NodeProfile.DEFAULT)),
							List.of(election), LEASE_MILLIS)));
			case WITHDRAW -> words(rows(session, sql(session).withdraw(candidate(session))));
			case FENCE -> words(fence(session, takeover.election(), takeover.term(), takeover.token()));
			case IS_HELD ->
				words(rows(session, sql(session).isHeld(takeover.election(), takeover.term(), takeover.token())));
		};
	}

	private String control(int session, Control control) throws Exception {
		run(session, control);
		return control.toString();
	}

	private String round(int session, String election, List<Renewal> renewals) throws Exception {
		List<Map<String, @Nullable Object>> rows = rows(session, sql(session).round(ELECTIONS, renewals));
		rows.stream()
			.filter((row) -> election.equals(row.get("election")))
			.forEach((row) -> this.observed.put(session, observe(row)));
		return words(rows);
	}

	private static LeaseRow observe(Map<String, @Nullable Object> row) {
		return new LeaseRow(String.valueOf(row.get("election")), number(row, "term"), number(row, "timeline"),
				number(row, "server_timeline"), number(row, "beat"), number(row, "lease"), null,
				(String) row.get("token"), null, 0, false);
	}

	private static long number(Map<String, @Nullable Object> row, String column) {
		Object value = row.get(column);
		return (value != null) ? ((Number) value).longValue() : 0;
	}

	/**
	 * Take over what this session has observed last.
	 */
	private String takeOver(int session, String election) throws Exception {
		LeaseRow row = this.observed.get(session);
		if (row == null) {
			return round(session, election, List.of());
		}
		UUID token = new UUID(0, this.takeovers.size());
		List<Map<String, @Nullable Object>> rows = rows(session,
				sql(session).takeOver(row, KEYS, new Identity(node(session), token, LEASE_MILLIS, "host", 1)));
		long term = number(rows.get(0), "term");
		if (term == 0) {
			return words(rows);
		}
		this.takeovers.add(new Takeover(row.election(), new Term(0, number(rows.get(0), "timeline"), term), token));
		return TAKEN + words(rows);
	}

	static String node(int session) {
		return "node-" + session;
	}

	/** As {@link SimulatedLeaseTableSql} has it. */
	private static UUID candidate(int session) {
		return new UUID(0, node(session).hashCode());
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
		boolean isTerm = column.equals("term") || column.equals("resign_term");
		long term = (isTerm && value != null) ? ((Number) value).longValue() : 0;
		if (isTerm && term == 0) {
			return "none";
		}
		return isTerm ? "number " + this.numbers.computeIfAbsent(term, (unknown) -> this.numbers.size() + 1)
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
