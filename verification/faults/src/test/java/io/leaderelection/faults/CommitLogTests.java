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
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

import io.leaderelection.faults.CommitLog.Commit;
import io.leaderelection.faults.CommitLog.Row;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.entry;

/**
 * Tests for {@link CommitLog}.
 */
@Tag("ring3")
class CommitLogTests {

	@Test
	void parsesRows() {
		Row row = CommitLog
			.parseChange("table public.\"Odd\": INSERT: id[bigint]:-12 name[character varying]:'it''s [a]:b' "
					+ "nothing[text]:null \"two words\"[text]:'' tags[text[]]:'{x,y}' at[timestamp with time zone]:'2026-01-01 00:00:00+00' "
					+ "bits[bit]:B'101' yes[boolean]:true lines[text]:'a\nb'");
		assertThat(row.table()).isEqualTo("public.\"Odd\"");
		assertThat(row.operation()).isEqualTo("INSERT");
		assertThat(row.columns()).containsExactly(entry("id", "-12"), entry("name", "it's [a]:b"),
				entry("nothing", null), entry("two words", ""), entry("tags", "{x,y}"),
				entry("at", "2026-01-01 00:00:00+00"), entry("bits", "101"), entry("yes", "true"),
				entry("lines", "a\nb"));
		assertThatIllegalStateException().isThrownBy(() -> row.value("nothing"));
		assertThat(CommitLog.parseChange("table public.t: DELETE: (no-tuple-data)").columns()).isEmpty();
		assertThat(CommitLog.parseLsn("1/A")).isEqualTo(0x1_0000_000AL);
	}

	@Test
	void parsesTimesOfCommits() {
		for (String time : List.of("2026-11-21 13:56:52.25+00", "2026-11-21 13:56:52.250001+00",
				"2026-11-21 13:56:52+00")) {
			assertThat(CommitLog.parseCommit(7, "COMMIT 9 (at " + time + ")", List.of()).time())
				.isEqualTo(time.replace(' ', 'T').replace("+00", "Z"));
		}
	}

	@Test
	void tellsCommitsInTheirOrder() throws SQLException {
		try (PostgreSqlServer server = PostgreSqlServer.start("wal_level=logical", "synchronous_commit=off")) {
			server.execute("CREATE TABLE made (id bigint PRIMARY KEY, word text)");
			CommitLog log = new CommitLog(server);
			assertThat(log.drain()).isEmpty();
			try (Connection first = server.connect();
					Connection second = server.connect();
					Statement of1 = first.createStatement();
					Statement of2 = second.createStatement()) {
				first.setAutoCommit(false);
				second.setAutoCommit(false);
				// The first to write is the last to commit
				of1.execute("INSERT INTO made VALUES (1, 'one')");
				of2.execute("INSERT INTO made VALUES (2, NULL), (3, 'three')");
				assertThat(log.drain()).isEmpty();
				second.commit();
				first.commit();
				of1.execute("INSERT INTO made VALUES (4, 'undone')");
				first.rollback();
				of1.execute("UPDATE made SET word = 'eins' WHERE id = 1");
				first.commit();
			}
			List<Commit> commits = log.drain();
			assertThat(commits).extracting(Commit::rows)
				.extracting((rows) -> rows.stream().map((row) -> row.operation() + row.value("id")).toList())
				.containsExactly(List.of("INSERT2", "INSERT3"), List.of("INSERT1"), List.of("UPDATE1"));
			assertThat(commits.get(0).rows().get(0).columns()).containsEntry("word", null);
			assertThat(commits).extracting(Commit::lsn).isSorted();
			assertThat(commits.get(0).transaction()).isGreaterThan(commits.get(1).transaction());
			assertThat(commits.get(2).time()).isAfterOrEqualTo(commits.get(0).time());
			assertThat(log.drain()).isEmpty();
			log.close();
			assertThat(server.query("SELECT slot_name FROM pg_replication_slots")).isEmpty();
		}
	}

	@Test
	void reportsEachCommitOnceAcrossServerFaults() {
		try (PostgreSqlServer server = PostgreSqlServer.start("wal_level=logical", "synchronous_commit=on")) {
			server.execute("CREATE TABLE made (id bigint)");
			CommitLog log = new CommitLog(server);
			List<Commit> commits = new ArrayList<>();
			for (int i = 0; i < 2; i++) {
				String from = Integer.toString(i * 25_000);
				server.execute("INSERT INTO made SELECT " + from + " + n FROM generate_series(0, 24998) AS n");
				server.execute("INSERT INTO made VALUES (" + from + " + 24999)");
				if (i == 0) {
					commits.addAll(log.drain());
				}
				server.stop("immediate");
				server.startAgain();
			}
			commits.addAll(log.drain());
			List<String> ids = commits.stream()
				.flatMap((commit) -> commit.rows().stream())
				.map((row) -> row.value("id"))
				.toList();
			assertThat(commits).extracting((commit) -> commit.rows().size()).containsExactly(24999, 1, 24999, 1);
			assertThat(ids).doesNotHaveDuplicates().hasSize(50_000);
			log.close();
		}
	}

}
