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

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.Properties;

import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link DemoDatabase}: that its counters see what they are there for.
 */
@Tag("ring1")
class DemoDatabaseTests {

	private static final String PASSWORD = "secret";

	private static PostgreSqlServer postgres;

	private DemoDatabase database;

	@BeforeAll
	static void startPostgres() {
		postgres = PostgreSqlServer.start("track_commit_timestamp=on");
		postgres.execute("create role sample login password '" + PASSWORD + "'");
		postgres.execute("create database sample owner sample");
	}

	@AfterAll
	static void stopPostgres() {
		postgres.close();
	}

	@BeforeEach
	void createTables() {
		Properties connection = new Properties();
		connection.setProperty("port", String.valueOf(postgres.port()));
		connection.setProperty("password", PASSWORD);
		this.database = new DemoDatabase(connection);
		this.database.createTables();
	}

	@AfterEach
	void dropTables() throws SQLException {
		try (Connection connection = connect()) {
			execute(connection, "drop table demo_tick, demo_fire");
		}
		this.database.close();
	}

	@ParameterizedTest
	@CsvSource({ "one term after the other, 1:1 1:2 2:3, 0, 0", "a number that is taken twice, 1:1 2:1, 1, 0",
			"a term that writes amid another, 1:1 2:2 1:3 2:4, 0, 1", "two leaders, 2:1 1:1 2:2 1:2 2:3 1:3, 3, 3" })
	void countsRows(String description, String rows, long duplicates, long outdated) throws SQLException {
		assertRows(0, 0, 0);
		String[] all = rows.split(" ");
		try (Connection connection = connect()) {
			for (String row : all) {
				String[] termAndTick = row.split(":");
				insert(connection, Integer.parseInt(termAndTick[0]), Integer.parseInt(termAndTick[1]));
			}
		}
		assertRows(all.length, duplicates, outdated);
	}

	@Test
	void countsRowThatWasCommittedAfterOneOfLaterTermAlthoughWrittenBefore() throws SQLException {
		try (Connection outdated = connect(); Connection connection = connect()) {
			outdated.setAutoCommit(false);
			insert(outdated, 1, 1);
			insert(connection, 2, 2);
			outdated.commit();
		}
		assertRows(2, 0, 1);
	}

	@Test
	void countsDoublesAndHolesOfEachJob() throws SQLException {
		assertThat(this.database.fires(DemoWork.DURABLE)).isEqualTo(DemoState.Fires.NONE);
		try (Connection connection = connect()) {
			// Across the end of a day, and not in order
			fire(connection, DemoWork.DURABLE, "23:59:58", "23:59:59", "00:00:01", "00:00:00", "00:00:02");
			fire(connection, DemoWork.PLAIN, "23:59:58", "23:59:58", "23:59:58", "00:00:01", "00:00:04");
		}
		long first = Instant.parse("2026-11-23T23:59:58Z").toEpochMilli();
		assertThat(this.database.fires(DemoWork.DURABLE)).isEqualTo(new DemoState.Fires(5, 0, 0, first, first + 4000));
		assertThat(this.database.fires(DemoWork.PLAIN)).isEqualTo(new DemoState.Fires(5, 2, 4, first, first + 6000));
	}

	private static void fire(Connection connection, String job, String... times) throws SQLException {
		for (String time : times) {
			String day = time.startsWith("23") ? "2026-11-23" : "2026-11-24";
			execute(connection, "insert into demo_fire (job, nominal) values ('" + job + "', timestamptz '" + day + " "
					+ time + "Z')");
		}
	}

	@Test
	void readsAgainWhenItsConnectionIsBroken() {
		assertRows(0, 0, 0);
		postgres.execute("select pg_terminate_backend(pid) from pg_stat_activity "
				+ "where application_name = 'leader-election-demo'");
		this.database.reset();
		assertRows(0, 0, 0);
	}

	@Test
	void measuresGapsAndMissingTicks() throws SQLException {
		// The last tick stays recent for some seconds
		Instant start = Instant.now();
		assertThat(this.database.gap("1", "2")).isNull();
		assertThat(this.database.missingSince(start)).isNull();
		try (Connection connection = connect()) {
			for (int millis : new int[] { 3600, 3800, 4000, 5000 }) {
				int term = (millis < 4500) ? 1 : 2;
				execute(connection, "insert into demo_tick (token, term, node, tick, at) values (" + term + ", '" + term
						+ "', 'n', " + millis + ", timestamptz '" + start.plusMillis(millis) + "')");
			}
		}
		assertThat(this.database.gap("1", "2")).isEqualTo(Duration.ofSeconds(1));
		assertThat(this.database.missingSince(start)).isEqualTo(4);
		// What has stopped and not gone on is not missing yet
		assertThat(this.database.missingSince(start.plusMillis(5001))).isNull();
		assertThat(this.database.ticksSince(start)).extracting(DemoState.Tick::term)
			.containsExactly("1", "1", "1", "2");
		assertThat(this.database.ticksSince(start)).extracting(DemoState.Tick::number).doesNotHaveDuplicates();
	}

	private void assertRows(long count, long duplicates, long outdated) {
		assertThat(this.database.count()).isEqualTo(new DemoDatabase.Counts(count, duplicates, outdated));
	}

	private static void insert(Connection connection, int term, int tick) throws SQLException {
		execute(connection, "insert into demo_tick (token, term, node, tick) values (" + term + ", '" + term
				+ "', 'n', " + tick + ")");
	}

	private static void execute(Connection connection, String sql) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(sql);
		}
	}

	private static Connection connect() throws SQLException {
		return DriverManager.getConnection("jdbc:postgresql://localhost:" + postgres.port() + "/sample", "sample",
				PASSWORD);
	}

}
