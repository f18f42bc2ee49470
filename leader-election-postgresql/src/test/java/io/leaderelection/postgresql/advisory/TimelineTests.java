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

package io.leaderelection.postgresql.advisory;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.Mockito.spy;

/**
 * Tests for the terms of an election on servers with and without timelines.
 */
@Tag("ring1")
class TimelineTests extends AdvisoryLockFixture {

	@Test
	void termOfALongLivedServerIsReadInFull() throws SessionException {
		StoreSession first = candidate(store("node-a", (sql) -> winning(sql, (text) -> {
			String id = "pg_catalog.pg_current_xact_id()::text::bigint";
			assertThat(text).contains(id);
			return text.replace(id, id + " + (131071::bigint << 31)");
		})));
		Won won = win(first);
		assertThat(won.term().transactionId()).isGreaterThan(131071L << 31);
		assertThat(first.confirm(true).predecessor()).isNull();
		assertThat(candidate("node-b").observe().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
	}

	@ParameterizedTest
	@CsvSource({ "55000, wal_level must be set to logical", "0A000, not supported" })
	void serverWithoutTimelinesHasNone(String state, String message) throws Exception {
		AdvisoryLockStore without = aurora(state, message, "pg_catalog.pg_is_in_recovery()");
		Won won = win(candidate(without));
		assertThat(won.term().timeline()).isZero();
		assertThat(won.clear()).isTrue();
		assertThat(candidate("node-b").observe().leader()).isNotNull().extracting(Holder::term).isEqualTo(won.term());
	}

	@Test
	void standbyIsNotTakenForAServerWithoutTimelines() {
		AdvisoryLockStore standby = aurora("55000", "recovery is in progress", "true");
		assertThatExceptionOfType(SessionException.class).isThrownBy(standby::open)
			.withMessageContaining("recovery is in progress");
	}

	@Test
	@Tag("ring2")
	void termsIncreaseAcrossACrashOfTheServer() throws Exception {
		try (PostgreSqlServer own = PostgreSqlServer.start()) {
			Term before = win(own, this.election);
			for (int i = 0; i < 5; i++) {
				before = win(own, "other-" + i);
			}
			own.stop("immediate");
			own.startAgain();
			assertThat(win(own, this.election)).isGreaterThan(before);
		}
	}

	private Term win(PostgreSqlServer on, String election) throws SessionException {
		return win(candidate(new AdvisoryLockStore(settings("node", NodeProfile.DEFAULT),
				ElectionKeys.derive("test", election), 0, false, on::connect, null)))
			.term();
	}

	/**
	 * A server that does not reveal its timeline.
	 */
	private AdvisoryLockStore aurora(String state, String message, String inRecovery) {
		this.server.execute("""
				CREATE SCHEMA IF NOT EXISTS aurora;
				CREATE OR REPLACE FUNCTION aurora.pg_current_wal_lsn() RETURNS pg_lsn LANGUAGE plpgsql AS $$
				BEGIN RAISE EXCEPTION SQLSTATE '%s' USING MESSAGE = '%s'; END $$;
				""".formatted(state, message));
		return new AdvisoryLockStore(settings("node-a", NodeProfile.DEFAULT), this.keys, 0, false, this.source, null) {

			@Override
			AdvisoryLockSql sql(ServerInspection inspected) {
				AdvisoryLockSql sql = spy(super.sql(inspected));
				winning(sql, TimelineTests::auroraSql);
				return sql;
			}

			@Override
			String timelines() {
				String text = auroraSql(ServerInspection.TIMELINES);
				assertThat(text).contains("aurora.").contains("pg_catalog.pg_is_in_recovery()");
				return text.replace("pg_catalog.pg_is_in_recovery()", inRecovery);
			}

		};
	}

	private static String auroraSql(String text) {
		return text.replace("pg_catalog.pg_current_wal_lsn()", "aurora.pg_current_wal_lsn()");
	}

}
