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

package io.leaderelection.demo;

import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Properties;

import org.jspecify.annotations.Nullable;

import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * The tables that the leader-only jobs write to, as the demo reads them.
 */
class DemoDatabase implements AutoCloseable {

	private static final String TABLES = """
			create table demo_tick (
			  id bigint generated always as identity primary key,
			  token bigint not null,
			  term text not null,
			  node text not null,
			  tick bigint not null,
			  at timestamptz not null default clock_timestamp()
			);
			create index on demo_tick (tick);
			create index on demo_tick (at);
			create index on demo_tick (term, at);
			create table demo_fire (
			  job text not null,
			  nominal timestamptz not null
			);
			create index on demo_fire (job, nominal)""";

	/**
	 * A number is written twice if two leaders took it at once. A row is outdated if it
	 * was written or committed after one of a later term. The order of writing is that of
	 * the ids. That of commits is by their times: it is not right if the clock of the
	 * machine is set back, and a commit that pauses between taking its time and taking
	 * effect is not seen.
	 */
	private static final String COUNT = """
			select count(*) as rows, count(*) - count(distinct tick) as duplicates,
			  count(*) filter (where token < written or token < committed) as outdated
			from (
			  select tick, token,
			    max(token) over (order by id rows between unbounded preceding and 1 preceding) as written,
			    max(token) over (order by pg_xact_commit_timestamp(xmin), id
			      rows between unbounded preceding and 1 preceding) as committed
			  from demo_tick) as row""";

	/**
	 * A second without a run is a hole once a later one has run. Until then, it may still
	 * be caught up.
	 */
	private static final String FIRES = """
			select count(*) as count, count(*) - count(distinct nominal) as doubles,
			  extract(epoch from max(nominal) - min(nominal))::bigint + 1 - count(distinct nominal) as holes,
			  extract(epoch from min(nominal))::bigint * 1000 as first,
			  extract(epoch from max(nominal))::bigint * 1000 as last
			from demo_fire where job = ?""";

	private final SingleConnectionDataSource dataSource;

	private final JdbcClient jdbc;

	DemoDatabase(Properties connection) {
		this.dataSource = new SingleConnectionDataSource(
				"jdbc:postgresql://localhost:" + connection.getProperty("port") + "/" + DemoPostgres.USER
						+ "?socketTimeout=60&ApplicationName=leader-election-demo",
				DemoPostgres.USER, connection.getProperty("password"), true);
		this.jdbc = JdbcClient.create(this.dataSource);
	}

	/**
	 * Take a new connection, as the one that there was may be broken.
	 */
	synchronized void reset() {
		this.dataSource.resetConnection();
	}

	void createTables() {
		this.jdbc.sql(TABLES).update();
	}

	synchronized List<DemoState.Tick> ticksSince(Instant since) {
		return this.jdbc.sql("select id, node, term, at from demo_tick where at >= ? order by at")
			.param(Timestamp.from(since))
			.query((row, number) -> new DemoState.Tick(row.getString("node"), "leader", row.getString("term"),
					instant(row, "at").toEpochMilli(), row.getLong("id")))
			.list();
	}

	synchronized Counts count() {
		return this.jdbc.sql(COUNT)
			.query((row, number) -> new Counts(row.getLong("rows"), row.getLong("duplicates"), row.getLong("outdated")))
			.single();
	}

	synchronized DemoState.Fires fires(String job) {
		return this.jdbc.sql(FIRES)
			.param(job)
			.query((row, number) -> new DemoState.Fires(row.getLong("count"), row.getLong("doubles"),
					row.getLong("holes"), row.getLong("first"), row.getLong("last")))
			.single();
	}

	/**
	 * Return the time between the last tick of a term and the first of the next one.
	 * @return the time, {@code null} if there are no such ticks yet
	 */
	synchronized @Nullable Duration gap(String term, String next) {
		return this.jdbc
			.sql("select (select max(at) from demo_tick where term = ?) as last,"
					+ " (select min(at) from demo_tick where term = ?) as first")
			.params(term, next)
			.query((row, number) -> (row.getObject("last") != null && row.getObject("first") != null)
					? List.of(Duration.between(instant(row, "last"), instant(row, "first"))) : List.<Duration>of())
			.single()
			.stream()
			.findFirst()
			.orElse(null);
	}

	/**
	 * Return how many ticks are missing since the given time. One that came late is not.
	 * @return the number, {@code null} if there were none of late
	 */
	synchronized @Nullable Long missingSince(Instant since) {
		return this.jdbc.sql(
				"select greatest(0, round(extract(epoch from max(at) - min(at)) * 1000 / :period) + 1 - count(*))::bigint"
						+ " from demo_tick where at >= :since having max(at) > clock_timestamp() - interval '1 s'")
			.param("period", DemoWork.LEADER_PERIOD)
			.param("since", Timestamp.from(since))
			.query(Long.class)
			.optional()
			.orElse(null);
	}

	private static Instant instant(ResultSet row, String column) throws SQLException {
		return row.getTimestamp(column).toInstant();
	}

	@Override
	public void close() {
		this.dataSource.destroy();
	}

	/**
	 * What is in the table.
	 *
	 * @param rows how many rows
	 * @param duplicates how many of them have a number that another one had before
	 * @param outdated how many were written or committed after one of a later term
	 */
	record Counts(long rows, long duplicates, long outdated) {

	}

}
