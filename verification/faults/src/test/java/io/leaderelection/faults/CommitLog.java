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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.temporal.ChronoField;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * What was committed in a database since this log began, in the order of the commits: the
 * order in which the server wrote them to its write-ahead log, read through a logical
 * slot. A transaction writes its commit there before it frees its locks.
 * <p>
 * Needs a server with {@code wal_level=logical}, which keeps its write-ahead log until it
 * is {@link #drain() drained}. Survives a restart and a crash of the server.
 */
final class CommitLog implements AutoCloseable {

	private static final int PIECE = 20_000;

	private static final String MARK = "commit_log";

	private static final Pattern COMMIT = Pattern.compile("COMMIT (\\d+) \\(at (.+)\\)");

	private static final Pattern CHANGE = Pattern.compile("table (\\S+): ([A-Z]+): (.*)", Pattern.DOTALL);

	private static final Pattern COLUMN = Pattern
		.compile("(\"[^\"]+\"|[^\\s\\[\"]+)\\[((?:[^\\[\\]]|\\[\\])+)\\]:(B?'(?:[^']|'')*'|\\S+)");

	private static final DateTimeFormatter TIME = new DateTimeFormatterBuilder().appendPattern("yyyy-MM-dd HH:mm:ss")
		.appendFraction(ChronoField.NANO_OF_SECOND, 0, 6, true)
		.appendPattern("x")
		.toFormatter();

	private final PostgreSqlServer server;

	private final String slot = "commit_log_" + UUID.randomUUID().toString().replace('-', '_');

	private long last;

	/**
	 * Begin a log. Waits until the transactions that are under way have ended.
	 */
	CommitLog(PostgreSqlServer server) {
		this.server = server;
		server.query("SELECT slot_name FROM pg_create_logical_replication_slot('" + this.slot + "', 'test_decoding')");
	}

	/**
	 * Return what was committed since the last call, up to now. Transactions that have
	 * changed no rows are left out.
	 */
	synchronized List<Commit> drain() {
		List<Commit> commits = new ArrayList<>();
		try (Connection connection = this.server.connect(); Statement statement = connection.createStatement()) {
			// Times without offsets of minutes; and the mark flushes all that is before
			// it
			statement.execute("SET TimeZone = 'UTC'; SET synchronous_commit = 'local'");
			String mark = UUID.randomUUID().toString();
			statement.execute("SELECT pg_logical_emit_message(true, '" + MARK + "', '" + mark + "')");
			boolean complete;
			do {
				complete = drainPiece(connection, mark, commits);
			}
			while (!complete);
			return commits;
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private boolean drainPiece(Connection connection, String mark, List<Commit> commits) throws SQLException {
		boolean marked = false;
		List<Row> rows = new ArrayList<>();
		try (PreparedStatement changes = connection.prepareStatement(
				"SELECT lsn, data FROM pg_logical_slot_get_changes(?, NULL, ?, 'include-timestamp', 'on')")) {
			changes.setString(1, this.slot);
			changes.setInt(2, PIECE);
			try (ResultSet change = changes.executeQuery()) {
				while (change.next()) {
					String data = change.getString("data");
					if (data.startsWith("BEGIN ")) {
						rows = new ArrayList<>();
					}
					else if (data.startsWith("table ")) {
						rows.add(parseChange(data));
					}
					else if (data.startsWith("COMMIT ")) {
						add(parseCommit(parseLsn(change.getString("lsn")), data, rows), commits);
					}
					else {
						marked |= data.startsWith("message: ") && data.contains(mark);
					}
				}
			}
		}
		return marked;
	}

	/**
	 * Add a commit, unless a server that has crashed gives it a second time.
	 */
	private void add(Commit commit, List<Commit> commits) {
		if (commit.lsn() > this.last) {
			this.last = commit.lsn();
			if (!commit.rows().isEmpty()) {
				commits.add(commit);
			}
		}
	}

	static Commit parseCommit(long lsn, String data, List<Row> rows) {
		Matcher matcher = COMMIT.matcher(data);
		Assert.state(matcher.matches(), () -> "No commit: " + data);
		return new Commit(lsn, Long.parseLong(matcher.group(1)),
				OffsetDateTime.parse(matcher.group(2), TIME).toInstant(), List.copyOf(rows));
	}

	static Row parseChange(String data) {
		Matcher matcher = CHANGE.matcher(data);
		Assert.state(matcher.matches(), () -> "No change of a row: " + data);
		Map<String, @Nullable String> columns = new LinkedHashMap<>();
		Matcher column = COLUMN.matcher(matcher.group(3));
		while (column.find()) {
			columns.put(column.group(1).replace("\"", ""), parseValue(column.group(3)));
		}
		return new Row(matcher.group(1), matcher.group(2), Collections.unmodifiableMap(columns));
	}

	private static @Nullable String parseValue(String value) {
		if (value.equals("null")) {
			return null;
		}
		int quote = value.indexOf('\'');
		return (quote < 0) ? value : value.substring(quote + 1, value.length() - 1).replace("''", "'");
	}

	static long parseLsn(String lsn) {
		String[] parts = lsn.split("/");
		return (Long.parseLong(parts[0], 16) << 32) | Long.parseLong(parts[1], 16);
	}

	@Override
	public void close() {
		this.server.query("SELECT pg_drop_replication_slot('" + this.slot + "')");
	}

	/**
	 * A transaction that was committed.
	 *
	 * @param lsn where its commit ends in the write-ahead log: greater than that of every
	 * commit before it
	 * @param transaction the id of the transaction
	 * @param time when it was committed, by the clock of the server; says nothing about
	 * the order
	 * @param rows the rows that it has changed, in the order of the changes
	 */
	record Commit(long lsn, long transaction, Instant time, List<Row> rows) {

	}

	/**
	 * A row that was changed.
	 *
	 * @param table the table with its schema
	 * @param operation {@code INSERT}, {@code UPDATE} and the like
	 * @param columns the values by the name of the column, or no more than the key of a
	 * row that was deleted
	 */
	record Row(String table, String operation, Map<String, @Nullable String> columns) {

		/**
		 * Return a value that must be there.
		 */
		String value(String column) {
			String value = this.columns.get(column);
			Assert.state(value != null, () -> "No " + column + " in " + this);
			return value;
		}

	}

}
