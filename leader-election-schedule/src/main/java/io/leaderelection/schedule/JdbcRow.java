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

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;

import io.leaderelection.schedule.JobRecord.Run;
import io.leaderelection.schedule.ScheduleStore.PartlyCommittedException;
import io.leaderelection.schedule.ScheduleStore.Row;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.util.Assert;

/**
 * A row of the table, in the current transaction. The method of the job may change the
 * search path of that transaction.
 */
final class JdbcRow implements Row {

	private static final Log logger = LogFactory.getLog(DurableSchedule.class);

	/**
	 * A claim that waits for longer fails and is repeated, so that a hand-over need not
	 * wait for it.
	 */
	private static final String LOCK_TIMEOUT = "5s";

	private static final String KEY = "election OPERATOR(pg_catalog.=) ?::pg_catalog.varchar AND job OPERATOR(pg_catalog.=) ?::pg_catalog.varchar";

	/** The last fire may be infinite. */
	private static final String COLUMNS = """
			least(greatest(last_fire, '1970-01-01Z'), '9999-01-01Z') AS last_fire, cron, zone, term, node, started, finished,
			  outcome""";

	/**
	 * The lock timeout applies to the record only, and not to the statements of the
	 * method. The statements are sent at once. The other limit remains: the record must
	 * not be locked for ever by a leader that has stopped. The insert waits for a session
	 * that has inserted the record and not committed it. The time is read when the record
	 * has been locked. A crash of the server must not take back a claim: its work need
	 * not be a part of the transaction, and this node remembers the record.
	 */
	private static final String LOCK = """
			SELECT pg_catalog.set_config('leader_election.lock_timeout', pg_catalog.current_setting('lock_timeout'), true),
			  pg_catalog.set_config('lock_timeout', '%2$s', true),
			  pg_catalog.set_config('idle_in_transaction_session_timeout',
			    CASE WHEN pg_catalog.interval_gt(present.idle::pg_catalog.interval, '0')
			      AND pg_catalog.interval_lt(present.idle::pg_catalog.interval, longest.idle::pg_catalog.interval)
			      THEN present.idle ELSE longest.idle END, true),
			  CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'
			    THEN pg_catalog.set_config('synchronous_commit', 'local', true) END
			FROM (SELECT pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle) AS present
			  CROSS JOIN (SELECT ?::pg_catalog.text AS idle) AS longest;
			INSERT INTO %1$s (election, job, last_fire, cron, zone) SELECT ?, ?, ?::pg_catalog.timestamptz, ?, ?
			  WHERE NOT EXISTS (SELECT FROM %1$s WHERE %3$s) ON CONFLICT DO NOTHING RETURNING job;
			SELECT locked.*, pg_catalog.pg_current_xact_id()::pg_catalog.text AS transaction, pg_catalog.clock_timestamp() AS time
			  FROM (SELECT %4$s FROM %1$s WHERE %3$s FOR NO KEY UPDATE) AS locked;
			SELECT pg_catalog.set_config('lock_timeout', pg_catalog.current_setting('leader_election.lock_timeout'), true)
			""";

	/**
	 * Changes nothing unless the transaction is the one that has locked the record. If
	 * nothing has changed, returns whether it is.
	 */
	private static final String UPDATE = """
			WITH saved AS (
			  UPDATE %1$s SET last_fire = ?, cron = ?, zone = ?, term = ?, node = ?, started = ?, finished = ?, outcome = ?
			    WHERE %2$s AND pg_catalog.pg_current_xact_id() OPERATOR(pg_catalog.=) ?::pg_catalog.xid8 RETURNING last_fire)
			SELECT CASE WHEN pg_catalog.count(*) OPERATOR(pg_catalog.=) 1 THEN NULL
			    ELSE pg_catalog.pg_current_xact_id() OPERATOR(pg_catalog.=) ?::pg_catalog.xid8 END
			  FROM saved WHERE last_fire OPERATOR(pg_catalog.=) ?
			""";

	private static final String STATUS = "SELECT pg_catalog.pg_xact_status(?::pg_catalog.xid8)";

	private final ClaimTransactions claims;

	private final DurableJob job;

	private final String table;

	private final String longestIdle;

	private final Duration longestSkew;

	private final String election;

	private @Nullable String transaction;

	private Instant time = Instant.EPOCH;

	private boolean changed;

	JdbcRow(ClaimTransactions claims, String table, String longestIdle, Duration longestSkew, String election) {
		this.claims = claims;
		this.job = claims.job();
		this.table = table;
		this.longestIdle = longestIdle;
		this.longestSkew = longestSkew;
		this.election = election;
	}

	boolean isChanged() {
		return this.changed;
	}

	@Override
	public JobRecord lock(JobRecord initial) {
		String job = this.job.name();
		List<@Nullable Object> arguments = Arrays.asList(this.longestIdle, this.election, job, time(initial.lastFire()),
				initial.cron(), initial.zone(), this.election, job, this.election, job);
		return Objects.requireNonNull(this.claims.jdbc().execute((Connection connection) -> {
			try (PreparedStatement statement = connection
				.prepareStatement(LOCK.formatted(this.table, LOCK_TIMEOUT, KEY, COLUMNS))) {
				for (int i = 0; i < arguments.size(); i++) {
					statement.setObject(i + 1, arguments.get(i));
				}
				statement.execute();
				statement.getMoreResults();
				try (ResultSet inserted = statement.getResultSet()) {
					this.changed = inserted.next();
				}
				statement.getMoreResults();
				try (ResultSet row = statement.getResultSet()) {
					Assert.state(row.next(), () -> this.job + " has no record in " + this.table
							+ ", and none could be inserted: look for row-level security, triggers and rules of the table");
					JobRecord found = map(row);
					return this.changed ? initial : found;
				}
			}
		}));
	}

	private JobRecord map(ResultSet row) throws SQLException {
		this.transaction = row.getString("transaction");
		this.time = Objects.requireNonNull(instant(row, "time"));
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
	public void check(JobRecord record, Instant now) {
		Duration skew = Duration.between(this.time, now);
		Assert.state(skew.abs().compareTo(this.longestSkew) <= 0,
				() -> "%s claims no fire, since the clock of this node is %s %s that of the database, more than leader-election.schedules.max-clock-skew (%s)"
					.formatted(this.job, skew.abs().truncatedTo(ChronoUnit.SECONDS),
							skew.isNegative() ? "behind" : "ahead of", this.longestSkew));
		Duration ahead = Duration.between(now, record.lastFire());
		if (record.isAhead(this.job.definition().times(), now) && ahead.compareTo(this.longestSkew) > 0
				&& this.claims.reported().add(record.lastFire())) {
			logger.warn(
					"%s runs no fire before %s, since its last fire is recorded as that time. Unless that is intended, a clock was ahead: UPDATE %s SET last_fire = now() WHERE election = '%s' AND job = '%s'"
						.formatted(this.job, record.lastFire(), this.table, this.election.replace("'", "''"),
								this.job.name().replace("'", "''")));
		}
	}

	@Override
	public void save(JobRecord replacement) {
		Run run = (replacement.last() != null) ? replacement.last() : new Run(null, null, null, null, null);
		OffsetDateTime lastFire = time(replacement.lastFire());
		Boolean same = this.claims.jdbc()
			.queryForObject(UPDATE.formatted(this.table, KEY), Boolean.class, lastFire, replacement.cron(),
					replacement.zone(), run.term(), run.node(), time(run.started()), time(run.finished()),
					run.outcome(), this.election, this.job.name(), this.transaction, this.transaction, lastFire);
		Assert.state(same == null, () -> notRecorded(Boolean.TRUE.equals(same)
				? "the table did not take the change, although the transaction is the same: look for row-level security, triggers and rules of the table"
				: "its transaction was ended in the middle"));
		this.changed = true;
		this.transaction = null;
	}

	/**
	 * Return the failure of an operation whose transaction has been rolled back. A part
	 * of its work may have been committed before.
	 */
	Throwable failure(Throwable failure) {
		try {
			if (this.transaction != null
					&& "committed".equals(this.claims.jdbc().queryForObject(STATUS, String.class, this.transaction))) {
				return new PartlyCommittedException(notRecorded(
						"its transaction was committed in the middle, with what had been written until then, for instance by a second transaction manager on the same data source"),
						failure);
			}
		}
		catch (RuntimeException ex) {
			failure.addSuppressed(ex);
		}
		return failure;
	}

	private String notRecorded(String reason) {
		return "%s has not been recorded in %s: %s".formatted(this.job, this.table, reason);
	}

}
