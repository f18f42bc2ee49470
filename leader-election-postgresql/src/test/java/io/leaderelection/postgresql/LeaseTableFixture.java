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

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.postgresql.LeaseTable.Node;
import io.leaderelection.postgresql.LeaseTableSql.Tables;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.AfterEach;

/**
 * Sessions of an election in a lease table whose statements a test has changed.
 */
abstract class LeaseTableFixture {

	final PostgreSqlServer server = PostgreSqlServer.shared();

	final String key = UUID.randomUUID().toString();

	private final Duration lease;

	private final List<StoreSession> sessions = new ArrayList<>();

	LeaseTableFixture(Duration lease) {
		this.lease = lease;
	}

	@AfterEach
	void abortSessions() {
		this.sessions.forEach(StoreSession::abort);
	}

	static Won win(StoreSession session) throws SessionException {
		return (Won) session.acquire(Duration.ofMillis(1));
	}

	StoreSession open(ElectionStore opened) throws SessionException {
		StoreSession session = opened.open();
		this.sessions.add(session);
		session.becomeCandidate();
		return session;
	}

	ElectionStore sessions(String node, String name, Statements statements) {
		LeaseTable table = new LeaseTable(this.server::connect, new Node(node, "host-1", 4711), name, true,
				this.lease) {

			@Override
			LeaseTableSql sql(Tables tables, ServerInspection inspected, long timeoutMillis) {
				return statements.of(tables, inspected, timeoutMillis);
			}

		};
		ElectionSettings settings = new ElectionSettings(this.key, node, this.lease, Duration.ZERO,
				Duration.ofSeconds(1), true);
		return table.store(settings, this.key, ElectionKeys.derive("test", this.key), 0);
	}

	/**
	 * Creates the statements of a table.
	 */
	interface Statements {

		LeaseTableSql of(Tables tables, ServerInspection server, long timeoutMillis);

	}

}
