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

package io.leaderelection.integration;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.DurableSchedules;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TestClock;
import org.awaitility.Awaitility;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.Status;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatException;

/**
 * A database and a role of a test's own, on which nodes run all statements of the
 * library.
 */
final class OwnDatabase implements AutoCloseable {

	private static final TestClock clock = new TestClock("2026-05-01T12:00:00Z");

	private final PostgreSqlServer server;

	private final String name = "own_" + UUID.randomUUID().toString().replace("-", "");

	OwnDatabase(PostgreSqlServer server) {
		this.server = server;
		server.execute("CREATE ROLE " + this.name + " LOGIN PASSWORD 'right'");
		server.execute("CREATE DATABASE " + this.name);
		execute("CREATE TABLE public.work (id int)", "GRANT CREATE, USAGE ON SCHEMA public TO " + this.name
				+ "; GRANT INSERT ON public.work TO " + this.name);
	}

	/**
	 * The name of the database and of the role.
	 */
	String name() {
		return this.name;
	}

	/**
	 * Run statements as a superuser.
	 */
	void execute(String... statements) {
		try (Connection connection = superuser(); Statement statement = connection.createStatement()) {
			for (String sql : statements) {
				statement.execute(sql);
			}
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	Connection superuser() throws SQLException {
		return DriverManager.getConnection(url(), this.server.username(), this.server.password());
	}

	Connection connect() throws SQLException {
		return DriverManager.getConnection(url(), this.name, "right");
	}

	private String url() {
		return url(this.server.port());
	}

	String url(int port) {
		return this.server.jdbcUrl(port).replace("/" + this.server.database(), "/" + this.name);
	}

	/**
	 * Return nodes on this database, whose group is the name of it and of the store.
	 */
	Nodes nodes(Nodes nodes, String store) {
		return nodes.as(this.name)
			.with(Job.class, ClockConfiguration.class)
			.with("leader-election.group=" + this.name + store, "spring.datasource.url=" + url(),
					"leader-election.store=" + store, "leader-election.takeover-delay=0", "leader-election.standbys=1",
					"leader-election.table-name=public.leader_election", "leader-election.initialize-schema=always",
					"leader-election.schedules.max-clock-skew=36500d");
	}

	/**
	 * Let nodes lead, follow, watch, write in fenced transactions, some of which are
	 * refused, run a durable schedule, wait for a transaction of the former leader and
	 * hand over.
	 */
	void exercise(Nodes nodes, String store) throws SQLException {
		LocalNode first = nodes(nodes, store).start().awaitLeader();
		LocalNode second = nodes(nodes, store).start().awaitFollowing(first);
		LocalNode third = nodes(nodes, store).start().awaitFollowing(first);
		try (Connection connection = connect()) {
			Awaitility.await().until(() -> first.status().candidates().size() > 1);
			Awaitility.await()
				.until(() -> store.equals("table") || second.status().watching() || third.status().watching());
			job(first).write();
			assertRefusedDuring(first, store.equals("table") ? "BEGIN; SELECT FROM public.leader_election FOR UPDATE"
					: "SELECT pg_advisory_lock(" + ElectionKeys.derive(this.name + store, "default").fence() + ")");
			job(first).run();
			clock.set(clock.instant().plus(Duration.ofDays(1)).toString());
			job(first).run();
			connection.setAutoCommit(false);
			first.elector().getLeadership().fence(connection);
			first.elector().resign();
			// With the lease table, the election itself is not free before that
			Awaitility.await()
				.until(() -> store.equals("table") || second.status().blockedBy() != null
						|| third.status().blockedBy() != null);
			connection.commit();
			Awaitility.await().until(() -> second.leads() || third.leads());
			LocalNode next = second.leads() ? second : third;
			assertThat(next.elector().getLeadership().getTerm().timeline()).isOne();
			job(next).write();
			for (LocalNode node : List.of(first, second, third)) {
				Health health = node.bean(LeadershipHealthIndicator.class).health();
				assertThat(health.getStatus()).as(health.toString()).isEqualTo(Status.UP);
			}
			List.of(first, second, third).forEach(LocalNode::close);
		}
	}

	private void assertRefusedDuring(LocalNode leader, String lock) throws SQLException {
		try (Connection foreign = superuser(); Statement statement = foreign.createStatement()) {
			statement.execute(lock);
			assertThatException().isThrownBy(job(leader)::write).withStackTraceContaining("is held by the session");
			// The server notices the end of a connection later
			statement.execute("ROLLBACK; SELECT pg_advisory_unlock_all()");
		}
	}

	private static Job job(LocalNode node) {
		return node.bean(Job.class);
	}

	@Override
	public void close() {
		this.server.execute("DROP DATABASE " + this.name + " WITH (FORCE)");
		this.server.execute("DROP ROLE " + this.name);
	}

	/**
	 * A job that writes.
	 */
	static class Job {

		@Autowired
		private JdbcClient jdbc;

		@LeaderOnly
		@Transactional
		@DurableSchedule(name = "job")
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		void run() {
			insert();
		}

		@LeaderOnly
		@Transactional
		void write() {
			insert();
		}

		private void insert() {
			this.jdbc.sql("INSERT INTO public.work VALUES (1)").update();
		}

	}

	static class ClockConfiguration {

		@Autowired
		void setClock(DurableSchedules schedules) {
			schedules.setClock(clock);
		}

	}

}
