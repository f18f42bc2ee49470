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
import java.util.concurrent.Future;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.UnusableStoreException;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for tables that a node creates, or finds.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class LeaseTableShapeTests extends LeaseTableFixture {

	private static final String FIRST_EDITION = """
			CREATE TABLE shape (election varchar(255) NOT NULL PRIMARY KEY, term bigint NOT NULL, timeline bigint NOT NULL,
			  beat bigint NOT NULL, lease bigint NOT NULL, holder varchar(255), token uuid, host varchar(255), pid bigint,
			  since timestamp with time zone, heartbeat timestamp with time zone, resign_term bigint);
			CREATE TABLE shape_fence (election varchar(255) NOT NULL PRIMARY KEY, term bigint NOT NULL, locked boolean);
			CREATE TABLE shape_candidate (session uuid NOT NULL PRIMARY KEY, node varchar(255) NOT NULL,
			  elections varchar(255)[] NOT NULL, seen timestamp with time zone NOT NULL,
			  profiles varchar(255)[] NOT NULL DEFAULT '{}');
			""";

	private final String role = this.table + "_role";

	private final String schema = this.table + "_schema";

	@BeforeEach
	void createSchema() {
		this.server.execute("CREATE SCHEMA " + this.schema);
		this.server.createRole(this.role);
	}

	@AfterEach
	@Override
	protected void end() throws SQLException {
		super.end();
		this.server.execute("DROP SCHEMA " + this.schema + " CASCADE");
		this.server.query("SELECT rolname FROM pg_roles WHERE rolname LIKE '%s%%' ORDER BY 1 DESC".formatted(this.role))
			.forEach((role) -> this.server.execute("DROP OWNED BY %1$s CASCADE; DROP ROLE %1$s".formatted(role)));
	}

	@Test
	void missingTablesAreUnusable() {
		assertUnusable(store("shape", false),
				"Of the tables %1$s.shape, %1$s.shape_node and %1$s.shape_candidate, "
						+ "which leader-election.store=table needs, none exists in the search path of the role, or")
			.satisfies((ex) -> assertThat(ex.getAction()).contains("schema-postgresql.sql",
					"leader-election.initialize-schema=always", "leader-election.table-name"));
	}

	@Test
	void missingTableIsUnusableAndIsCreatedIfThatIsConfigured() throws Exception {
		open("shape").close();
		this.server.execute("DROP TABLE " + this.schema + ".shape_node");
		assertUnusable(store("shape", false),
				"Of the tables %1$s.shape, %1$s.shape_node and %1$s.shape_candidate, which leader-election.store=table "
						+ "needs, only [%1$s.shape, %1$s.shape_candidate] exist");
		open("shape").close();
	}

	@ParameterizedTest
	@CsvSource(delimiter = '|', value = {
			"ALTER TABLE shape DROP COLUMN clean | columns are missing or have another type: shape.clean bool.",
			"ALTER TABLE shape ALTER owner TYPE text | columns are missing or have another type: shape.owner uuid.",
			"ALTER TABLE shape_node DROP beat | columns are missing or have another type: shape_node.beat int8.",
			"ALTER TABLE shape_candidate DROP profile | columns are missing or have another type: shape_candidate.profile varchar.",
			"ALTER TABLE shape DROP CONSTRAINT shape_pkey | shape has no primary key (election).",
			"ALTER TABLE shape_node DROP CONSTRAINT shape_node_pkey | shape_node has no primary key (token).",
			"ALTER TABLE shape_candidate DROP CONSTRAINT shape_candidate_pkey | shape_candidate has no primary key (election, token).",
			"ALTER TABLE shape SET UNLOGGED | shape is not a permanent table",
			"ALTER TABLE shape_node SET UNLOGGED | shape_node is not a permanent table",
			"ALTER TABLE shape_candidate SET UNLOGGED | shape_candidate is not a permanent table",
			"ALTER TABLE shape_node ENABLE ROW LEVEL SECURITY | shape_node has row security",
			"ALTER TABLE shape ADD FOREIGN KEY (owner) REFERENCES shape_node ON DELETE SET NULL | shape has a foreign key",
			"ALTER TABLE shape ADD holder varchar(255) | shape is that of an earlier version",
			"ALTER TABLE shape DROP since; ALTER TABLE shape_node DROP beat; ALTER TABLE shape_node ENABLE ROW LEVEL SECURITY "
					+ "| columns are missing or have another type: shape.since timestamptz, shape_node has row security; columns are "
					+ "missing or have another type: shape_node.beat int8." })
	void tablesOfAnotherShapeAreUnusable(String change, String reason) throws Exception {
		open("shape").close();
		this.server.execute("SET search_path = " + this.schema + "; " + change);
		assertUnusable(store("shape", true),
				"The tables %1$s.shape, %1$s.shape_node, %1$s.shape_candidate cannot hold elections: " + reason)
			.satisfies((ex) -> assertThat(ex.getAction()).contains("If they belong to an earlier version",
					"schema-postgresql.sql", "leader-election.table-name"));
	}

	/**
	 * Its script would create the tables that are missing beside those of that version.
	 */
	@ParameterizedTest
	@ValueSource(booleans = { false, true })
	void tablesOfTheFirstEditionAreUnusableAndStayAsTheyAre(boolean create) {
		this.server.execute("SET search_path = " + this.schema + "; " + FIRST_EDITION);
		assertUnusable(store("shape", create), "The tables %1$s.shape, %1$s.shape_candidate cannot hold elections: "
				+ "shape is that of an earlier version; columns are missing or have another type: shape.owner uuid")
			.satisfies((ex) -> assertThat(ex.getAction()).contains("If they belong to an earlier version",
					"schema-postgresql.sql", "leader-election.table-name"));
		assertThat(this.server
			.query("SELECT tablename FROM pg_tables WHERE schemaname = '" + this.schema + "' ORDER BY tablename"))
			.containsExactly("shape", "shape_candidate", "shape_fence");
	}

	@Test
	void missingPrivilegesAreNamed() throws Exception {
		open("shape").close();
		this.server.execute("GRANT USAGE ON SCHEMA %s TO %s".formatted(this.schema, this.role));
		this.server
			.execute("GRANT SELECT, INSERT ON %1$s.shape, %1$s.shape_node TO %2$s".formatted(this.schema, this.role));
		assertUnusable(store("shape", false, connectAs(this.role)),
				"The role \"" + this.role + "\" lacks privileges on the tables of leader election: UPDATE on shape, "
						+ "UPDATE, DELETE on shape_node, SELECT, INSERT, UPDATE, DELETE on shape_candidate.")
			.satisfies((ex) -> assertThat(ex.getAction()).contains(
					"GRANT SELECT, INSERT, UPDATE ON %1$s.shape TO \"%2$s\"; GRANT SELECT, INSERT, UPDATE, DELETE ON "
						.formatted(this.schema, this.role)));
		this.server.execute(
				"GRANT UPDATE ON %1$s.shape TO %2$s; GRANT SELECT, INSERT, UPDATE, DELETE ON ".formatted(this.schema,
						this.role) + "%1$s.shape_node, %1$s.shape_candidate TO %2$s".formatted(this.schema, this.role));
		StoreSession session = store("shape", false, connectAs(this.role)).open();
		session.becomeCandidate();
		lead(session);
		session.close();
	}

	@Test
	void tablesThatMayNotBeCreatedAreUnusable() {
		this.server.execute("GRANT USAGE ON SCHEMA %s TO %s".formatted(this.schema, this.role));
		assertUnusable(store("shape", true, connectAs(this.role)),
				"The table %1$s.shape for leader election could not be created: ERROR: permission denied for schema");
	}

	@Test
	void nodesMayCreateTheTablesAtTheSameTime() throws Exception {
		for (int i = 0; i < 5; i++) {
			String name = "shape_" + i;
			List<Future<StoreSession>> opened = new ArrayList<>();
			for (int node = 0; node < 3; node++) {
				opened.add(start(() -> open(name)));
			}
			for (Future<StoreSession> session : opened) {
				get(session).close();
			}
		}
	}

	/**
	 * As after a rotation of users, each of which has a schema.
	 */
	@Test
	void tablesThatExistInAnotherSchemaAreNotCreated() throws Exception {
		String second = createRoles();
		StoreSession first = elections(this.table, true, connectAs(this.role)).open();
		first.becomeCandidate();
		lead(first);
		ConnectionSource source = connectAs(second);
		String own = second + "." + this.table;
		String used = this.role + "." + this.table;
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> elections(this.table, true, source).open())
			.withMessageStartingWith("The table %s for leader election is not created".formatted(own))
			.withMessageContaining("may also use " + used)
			.satisfies((ex) -> assertThat(ex.getAction()).containsSubsequence("table-name=" + own + " or",
					"table-name to that of the other nodes: " + used + "."));
		assertThat(this.server
			.query("SELECT relname FROM pg_class WHERE relnamespace = '%s'::regnamespace".formatted(second))).isEmpty();
		assertThatExceptionOfType(UnusableStoreException.class)
			.isThrownBy(() -> elections(this.table, false, source).open())
			.withMessageEndingWith("or in the schema that is set. Elsewhere, there are " + used + ".");
		StoreSession follower = elections(used, true, source).open();
		follower.becomeCandidate();
		hold(follower);
		ElectionStore other = elections(own, true, source);
		other.open().close();
		assertThat(other.describe().table()).isEqualTo(own);
	}

	@Test
	void tablesInOtherSchemasAreReported(CapturedOutput output) throws Exception {
		String second = createRoles();
		open(this.table).close();
		ConnectionSource source = connectAs(second);
		elections(second + "." + this.table, true, source).open().close();
		elections(this.table, true, connectAs(this.role)).open().close();
		assertThat(output)
			.contains("Elections use leases in the table %s.%s, not in %s.%2$s, %s.%2$s, which".formatted(this.role,
					this.table, second, this.schema))
			.doesNotContain("Tables of elections");
		ElectionStore store = elections(this.table, false, source);
		store.open().close();
		store.open().close();
		assertThat(store.describe().table()).isEqualTo(second + "." + this.table);
		assertThat(output.toString().lines().filter((line) -> line.contains("Tables of elections"))).singleElement()
			.asString()
			.contains("Tables of elections also exist in %s.%s. Nodes".formatted(this.role, this.table));
		assertThat(this.server.log().lines()).noneMatch((line) -> line.contains("ERROR") && line.contains(this.table));
	}

	/**
	 * Create two roles with a schema each, of which the second may use what the first
	 * owns.
	 */
	private String createRoles() {
		String second = this.role + "_2";
		this.server.createRole(second);
		this.server.execute("GRANT %s TO %s".formatted(this.role, second));
		this.server.execute("CREATE SCHEMA AUTHORIZATION " + this.role);
		this.server.execute("CREATE SCHEMA AUTHORIZATION " + second);
		return second;
	}

	private ConnectionSource connectAs(String role) {
		return (settings) -> this.server.connectAs(role, settings);
	}

	private ThrowableAssertAlternative<UnusableStoreException> assertUnusable(ElectionStore store, String message) {
		return assertThatExceptionOfType(UnusableStoreException.class).isThrownBy(store::open)
			.withMessageStartingWith(message.formatted(this.schema));
	}

	private StoreSession open(String name) throws Exception {
		return store(name, true).open();
	}

	private ElectionStore store(String name, boolean create) {
		return store(name, create, this.server::connect);
	}

	private ElectionStore store(String name, boolean create, ConnectionSource source) {
		return elections(this.schema + "." + name, create, source);
	}

	private ElectionStore elections(String table, boolean create, ConnectionSource source) {
		return new LeaseTable(source, new LeaseTable.Node("node-a", "host-1", 4711), table, create, LEASE).store(
				new ElectionSettings(ELECTION, "node-a", LEASE, Duration.ZERO, Duration.ofSeconds(1), true), ELECTION,
				ElectionKeys.derive(this.table, ELECTION), 0);
	}

}
