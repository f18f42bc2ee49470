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

package io.leaderelection.schedule;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Optional;

import io.leaderelection.schedule.JobRecord.Run;
import io.leaderelection.schedule.ScheduleStore.Row;
import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;

/**
 * A row of the table, in the current transaction.
 */
final class JdbcRow implements Row {

	/**
	 * A claim that waits for longer fails and is repeated, so that a hand-over need not
	 * wait for it.
	 */
	private static final String LOCK_TIMEOUT = "5s";

	/**
	 * The lock timeout applies to the record only, and not to the statements of the
	 * method. The three statements are sent at once. The other limit remains: the record
	 * must not be locked for ever by a leader that has stopped.
	 */
	private static final String LOCK = """
			SELECT pg_catalog.set_config('leader_election.lock_timeout', pg_catalog.current_setting('lock_timeout'), true),
			  pg_catalog.set_config('lock_timeout', '%2$s', true),
			  pg_catalog.set_config('idle_in_transaction_session_timeout',
			    CASE WHEN pg_catalog.interval_gt(present.idle::pg_catalog.interval, '0')
			      AND pg_catalog.interval_lt(present.idle::pg_catalog.interval, longest.idle::pg_catalog.interval)
			      THEN present.idle ELSE longest.idle END, true)
			FROM (SELECT pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle) AS present
			  CROSS JOIN (SELECT ?::pg_catalog.text AS idle) AS longest;
			SELECT last_fire, cron, zone, term, node, started, finished, outcome FROM %1$s
			  WHERE election = ? AND job = ? FOR NO KEY UPDATE;
			SELECT pg_catalog.set_config('lock_timeout', pg_catalog.current_setting('leader_election.lock_timeout'), true)
			""";

	/** Waits for a session that has inserted the record and not committed it. */
	private static final String INSERT = """
			SELECT pg_catalog.set_config('lock_timeout', '%2$s', true);
			INSERT INTO %1$s (election, job, last_fire, cron, zone) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;
			SELECT pg_catalog.set_config('lock_timeout', pg_catalog.current_setting('leader_election.lock_timeout'), true)
			""";

	private static final String UPDATE = """
			UPDATE %1$s SET last_fire = ?, cron = ?, zone = ?, term = ?, node = ?, started = ?, finished = ?, outcome = ?
			  WHERE election = ? AND job = ?
			""";

	private final JdbcTemplate jdbc;

	private final String table;

	private final String longestIdle;

	private final String election;

	private final String job;

	private boolean changed;

	/**
	 * Create a new {@code JdbcRow} instance.
	 * @param jdbc executes statements in the transaction
	 * @param table the name of the table
	 * @param longestIdle how long the transaction may be idle
	 * @param election the key of the election
	 * @param job the name of the job
	 */
	JdbcRow(JdbcTemplate jdbc, String table, String longestIdle, String election, String job) {
		this.jdbc = jdbc;
		this.table = table;
		this.longestIdle = longestIdle;
		this.election = election;
		this.job = job;
	}

	boolean isChanged() {
		return this.changed;
	}

	@Override
	public JobRecord lock(JobRecord initial) {
		JobRecord existing = select();
		if (existing != null) {
			return existing;
		}
		if (insert(initial)) {
			this.changed = true;
			return initial;
		}
		JobRecord concurrent = select();
		if (concurrent == null) {
			throw new IllegalStateException("The record of the job " + this.job + " has been deleted");
		}
		return concurrent;
	}

	private boolean insert(JobRecord initial) {
		return Boolean.TRUE.equals(this.jdbc.execute((ConnectionCallback<Boolean>) (connection) -> {
			try (PreparedStatement statement = connection
				.prepareStatement(INSERT.formatted(this.table, LOCK_TIMEOUT))) {
				statement.setString(1, this.election);
				statement.setString(2, this.job);
				statement.setObject(3, time(initial.lastFire()));
				statement.setString(4, initial.cron());
				statement.setString(5, initial.zone());
				statement.execute();
				statement.getMoreResults();
				return statement.getUpdateCount() > 0;
			}
		}));
	}

	private @Nullable JobRecord select() {
		Optional<JobRecord> record = this.jdbc.execute((ConnectionCallback<Optional<JobRecord>>) (connection) -> {
			try (PreparedStatement statement = connection.prepareStatement(LOCK.formatted(this.table, LOCK_TIMEOUT))) {
				statement.setString(1, this.longestIdle);
				statement.setString(2, this.election);
				statement.setString(3, this.job);
				statement.execute();
				statement.getMoreResults();
				try (ResultSet row = statement.getResultSet()) {
					return row.next() ? Optional.of(map(row)) : Optional.empty();
				}
			}
		});
		return (record != null) ? record.orElse(null) : null;
	}

	private static JobRecord map(ResultSet row) throws SQLException {
		Run run = new Run(row.getString("term"), row.getString("node"), instant(row, "started"),
				instant(row, "finished"), row.getString("outcome"));
		Instant lastFire = instant(row, "last_fire");
		return new JobRecord((lastFire != null) ? lastFire : Instant.EPOCH, row.getString("cron"),
				row.getString("zone"), (run.started() != null) ? run : null);
	}

	private static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
		OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
		return (time != null) ? time.toInstant() : null;
	}

	private static @Nullable OffsetDateTime time(@Nullable Instant instant) {
		return (instant != null) ? instant.atOffset(ZoneOffset.UTC) : null;
	}

	@Override
	public void save(JobRecord replacement) {
		Run run = (replacement.last() != null) ? replacement.last() : new Run(null, null, null, null, null);
		this.jdbc.update(UPDATE.formatted(this.table), time(replacement.lastFire()), replacement.cron(),
				replacement.zone(), run.term(), run.node(), time(run.started()), time(run.finished()), run.outcome(),
				this.election, this.job);
		this.changed = true;
	}

}
