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
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.UUID;

import io.leaderelection.Term;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.simulation.Texts;
import io.leaderelection.simulation.server.Backend;
import io.leaderelection.simulation.server.Reply;
import io.leaderelection.simulation.server.ServerClock;
import io.leaderelection.simulation.server.ServerSettings;
import io.leaderelection.simulation.server.SimServer;
import io.leaderelection.simulation.server.SqlError;
import io.leaderelection.simulation.server.Statement;
import io.leaderelection.simulation.server.Statements;
import io.leaderelection.simulation.server.VirtualTime;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Sessions that use the lease table of the simulated server.
 */
final class SimulatedTable extends ComparedTable {

	private final VirtualTime time = new VirtualTime();

	private final LeaseTablePrograms programs;

	private final Texts texts = new Texts();

	private final List<Backend> sessions = new ArrayList<>();

	private final List<LeaseTableSql> statements = new ArrayList<>();

	SimulatedTable(Random random, ServerInspection inspection, Mutant mutant) {
		this.programs = new LeaseTablePrograms(mutant);
		SimServer server = new SimServer(this.time, new ServerClock(this.time, 1, Duration.ofDays(20_000).toNanos()),
				() -> random.nextInt(1000), ServerSettings.DEFAULTS);
		for (int session = 0; session < TableCourse.SESSIONS; session++) {
			this.sessions.add(Objects.requireNonNull(server.connect("session", "postgres", (end) -> {
			})));
			this.statements.add(new SimulatedLeaseTableSql(inspection, TIMEOUT_MILLIS, this.programs, this.texts));
		}
	}

	@Override
	LeaseTableSql sql(int session) {
		return this.statements.get(session);
	}

	@Override
	List<Map<String, @Nullable Object>> rows(int session, String text) throws SQLException {
		return submit(session, this.texts.program(text)).list();
	}

	@Override
	List<Map<String, @Nullable Object>> fence(int session, String election, Term term, UUID token) throws SQLException {
		return submit(session,
				this.programs.fence(election, term.transactionId(), term.timeline(), token, LEASE_MILLIS))
			.list();
	}

	@Override
	void run(int session, Control control) throws SQLException {
		Statement<?> statement = switch (control) {
			case BEGIN -> Statements.begin();
			case BEGIN_REPEATABLE_READ -> Statements.begin(true);
			case TRANSACTION_ID -> Statements.transactionId(false);
			case COMMIT -> Statements.commit(null);
			case ROLLBACK -> Statements.rollback();
		};
		submit(session, statement);
	}

	private <T> T submit(int session, Statement<T> statement) throws SQLException {
		List<Reply<T>> replies = new ArrayList<>(1);
		this.sessions.get(session).submit(statement, replies::add);
		for (long millis = 0; replies.isEmpty(); millis++) {
			// Nothing waits for another session for longer than that may be idle
			assertThat(millis).as("Time without an answer").isLessThan(2 * LEASE_MILLIS);
			this.time.advance(1_000_000);
		}
		try {
			return replies.get(0).get();
		}
		catch (SqlError ex) {
			throw new SQLException(ex.getMessage(), ex.state(), ex);
		}
	}

	@Override
	@Nullable Integer session(int pid) {
		for (int session = 0; session < TableCourse.SESSIONS; session++) {
			if (this.sessions.get(session).pid() == pid) {
				return session;
			}
		}
		return null;
	}

	@Override
	public void close() {
	}

}
