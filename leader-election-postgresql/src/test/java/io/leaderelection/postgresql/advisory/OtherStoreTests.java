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

import java.sql.SQLException;
import java.util.UUID;

import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore.TableRow;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for sessions with the advisory lock on a database that has a lease table, or a
 * table with its name: leadership by the lock must not depend on it.
 */
@Tag("ring1")
class OtherStoreTests extends AdvisoryLockFixture {

	private final String id = UUID.randomUUID().toString().replace("-", "");

	private final String role = "role_" + this.id;

	private final String schema = "schema_" + this.id;

	private final String table = this.schema + ".leader_election";

	@BeforeEach
	void createSchema() {
		this.server.createRole(this.role);
		this.server.execute("CREATE SCHEMA " + this.schema);
	}

	@AfterEach
	@Override
	protected void end() throws SQLException {
		super.end();
		execute("DROP SCHEMA %2$s CASCADE; DROP ROLE %3$s");
	}

	@Test
	void leaderIsFound() throws SessionException {
		createTable();
		grantSelect();
		assertIsNoCandidate();
	}

	/**
	 * It may take over before it looks for nodes with the other store.
	 */
	@Test
	void candidateIsFoundWhileNobodyLeads() throws SessionException {
		createTable();
		grantSelect();
		this.server.execute("""
				UPDATE %1$s SET owner = NULL;
				INSERT INTO %1$s_candidate SELECT '%2$s', token, true, '1 0 ' FROM %1$s_node
				""".formatted(this.table, this.id));
		assertIsNoCandidate();
		this.server.execute("UPDATE " + this.table + "_candidate SET candidate = false");
		verifyLeads(this.role, this.table);
	}

	@ParameterizedTest
	@ValueSource(strings = { "DELETE FROM %1$s_node", "UPDATE %1$s_node SET heartbeat = now() - interval '2 minutes'",
			"UPDATE %1$s SET election = 'other'", "REVOKE USAGE ON SCHEMA %2$s FROM %3$s",
			"REVOKE SELECT ON %1$s_node FROM %3$s" })
	void nodeIsACandidateBesideNodesThatDoNotTakePartOrThatItMayNotSee(String change) throws SessionException {
		createTable();
		grantSelect();
		execute(change);
		verifyLeads(this.role, this.table);
	}

	private void grantSelect() {
		execute("GRANT USAGE ON SCHEMA %2$s TO %3$s; GRANT SELECT ON ALL TABLES IN SCHEMA %2$s TO %3$s");
	}

	private void execute(String sql) {
		this.server.execute(sql.formatted(this.table, this.schema, this.role));
	}

	private void assertIsNoCandidate() throws SessionException {
		StoreSession session = open(this.role, this.table);
		assertThatExceptionOfType(SessionException.class).isThrownBy(session::becomeCandidate)
			.withMessageContaining("Node 'node-b' leads this election with leader-election.store=table");
	}

	@Test
	void nodeLeadsBesideAForeignTableOfThatName() throws SessionException {
		execute("""
				CREATE TABLE %1$s (election int, holder text);
				CREATE TABLE %1$s_candidate (id int);
				CREATE TABLE %1$s_node (id int)
				""");
		verifyLeads(this.server.username(), this.table);
	}

	@Test
	void nodeLeadsBesideAForeignTableOfThatNameInItsSearchPath() throws SessionException {
		execute("ALTER ROLE %3$s SET search_path = %2$s; CREATE TABLE %1$s (election int)");
		grantSelect();
		verifyLeads(this.role, "leader_election");
	}

	@Test
	void nodeLeadsWhileTheTableIsLocked() throws SessionException, SQLException {
		createTable();
		begin("LOCK TABLE " + this.table + " IN ACCESS EXCLUSIVE MODE");
		verifyLeads(this.server.username(), this.table);
	}

	@Test
	void nodeLeadsAfterTheTableWasDropped() throws SessionException {
		createTable();
		StoreSession session = open(this.server.username(), this.table);
		this.server.execute("DROP TABLE " + this.table);
		verifyLeads(session);
	}

	/**
	 * Create a table in which a node holds the lease of the election.
	 */
	private void createTable() {
		this.server.execute(LeaseTableShape.script(this.table));
		this.server.execute("""
				INSERT INTO %1$s_node (token, node, host, pid, beat, lease_ms, since, heartbeat)
				VALUES (gen_random_uuid(), 'node-b', 'host', 1, 1, 60000, now(), clock_timestamp());
				INSERT INTO %1$s SELECT '%2$s', 1, 1, token, false, now() FROM %1$s_node
				""".formatted(this.table, this.id));
	}

	private void verifyLeads(String user, String name) throws SessionException {
		verifyLeads(open(user, name));
	}

	private void verifyLeads(StoreSession session) throws SessionException {
		session.becomeCandidate();
		win(session);
		session.confirm(true);
		session.release(true);
		session.close();
	}

	private StoreSession open(String user, String name) throws SessionException {
		return open(new AdvisoryLockStore(settings("node-a", NodeProfile.DEFAULT), this.keys, 0, false,
				(settings) -> this.server.connectAs(user, settings), new TableRow(name, this.id)));
	}

}
