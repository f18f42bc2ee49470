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

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.engine.UnusableStoreException;
import org.jspecify.annotations.Nullable;

/**
 * The tables as a connection finds them.
 *
 * @param tables their qualified names, of which those that are missing are null
 * @param mismatch why they cannot hold elections, or an empty text
 * @param privileges the privileges that the role lacks, or an empty text
 * @param readable whether the role may read those that exist
 */
public record LeaseTableShape(Tables tables, String mismatch, String privileges, boolean readable) {

	/** The script that creates tables with the default names. */
	public static final String SCHEMA = "/io/leaderelection/postgresql/schema-postgresql.sql";

	/** The name of the table of elections, unless it is configured. */
	public static final String DEFAULT_TABLE = "leader_election";

	/**
	 * Returns a row for each table. Names are resolved with the search path of the role,
	 * as those in a script are. A table must be permanent, since a crash empties others.
	 * Columns without which elections work are optional, so that a version may add or
	 * drop them while nodes of the one before run.
	 */
	private static final String INSPECT = """
			SELECT pg_catalog.set_config('leader_election.tables',
			    pg_catalog.concat(pg_catalog.to_regclass(%s)::pg_catalog.oid, ',',
			      pg_catalog.to_regclass(%s)::pg_catalog.oid, ',', pg_catalog.to_regclass(%s)::pg_catalog.oid), true),
			  pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
			SELECT number, quote_ident(nspname) || '.' || quote_ident(relname) AS name, concat_ws('; ',
			    CASE WHEN has_earlier THEN relname || ' is that of an earlier version' END,
			    CASE WHEN relkind = 'r' AND relpersistence = 'p' THEN NULL ELSE relname || ' is not a permanent table' END,
			    CASE WHEN relrowsecurity THEN relname || ' has row security' END,
			    CASE WHEN has_reference THEN relname || ' has a foreign key' END,
			    'columns are missing or have another type: ' || missing,
			    CASE WHEN NOT has_key THEN relname || ' has no primary key (' || array_to_string(key, ', ') || ')' END) AS mismatch,
			  CASE WHEN NOT has_schema_privilege(namespace.oid, 'USAGE') THEN 'USAGE on schema ' || nspname
			    ELSE lacking || ' on ' || relname END AS privileges,
			  has_schema_privilege(namespace.oid, 'USAGE') AND has_table_privilege(class.oid, 'SELECT') AND missing IS NULL AS readable,
			  array_to_string(ARRAY(SELECT (string_to_array(name, ' '))[1] FROM unnest(optional) AS name
			      WHERE NOT EXISTS (SELECT FROM unnest(present) AS other WHERE other = name)), ',') AS absent
			FROM unnest(string_to_array(current_setting('leader_election.tables'), ',', '')::oid[]) WITH ORDINALITY AS found (oid, number)
			  JOIN (VALUES
			    (1, '{election varchar,term int8,timeline int8,owner uuid,clean bool,since timestamptz}'::text[],
			      '{paused_until timestamptz,paused_by varchar}'::text[], '{election}'::text[], '{SELECT,INSERT,UPDATE}'::text[]),
			    (2, '{token uuid,node varchar,beat int8,lease_ms int4,heartbeat timestamptz}',
			      '{host varchar,pid int8,since timestamptz}', '{token}', '{SELECT,INSERT,UPDATE,DELETE}'),
			    (3, '{election varchar,token uuid,candidate bool,profile varchar,resign_term int8,resign_cause varchar}',
			      '{}', '{election,token}', '{SELECT,INSERT,UPDATE,DELETE}')) AS required (number, columns, optional, key, rights) USING (number)
			  JOIN pg_class AS class ON class.oid = found.oid JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
			  CROSS JOIN LATERAL (SELECT array_agg(attname || ' ' || typname) AS present, bool_or(attname = 'holder') AS has_earlier
			    FROM pg_attribute JOIN pg_type AS type ON type.oid = atttypid
			    WHERE attrelid = class.oid AND NOT attisdropped AND typnamespace = 'pg_catalog'::regnamespace) AS actual
			  CROSS JOIN LATERAL (SELECT string_agg(relname || '.' || name, ', ') AS missing
			    FROM unnest(columns) AS name WHERE NOT EXISTS (SELECT FROM unnest(present) AS other WHERE other = name)) AS columns_missing
			  CROSS JOIN LATERAL (SELECT string_agg(name, ', ') AS lacking FROM unnest(rights) AS name
			    WHERE NOT has_table_privilege(class.oid, name)) AS rights_missing
			  CROSS JOIN LATERAL (SELECT EXISTS (SELECT FROM pg_constraint WHERE conrelid = class.oid AND contype = 'f') AS has_reference,
			    EXISTS (SELECT FROM pg_index WHERE indrelid = class.oid AND indisunique AND indisvalid AND indimmediate
			      AND indpred IS NULL AND indexprs IS NULL AND key = (SELECT array_agg(attname::text ORDER BY attname)
			        FROM pg_attribute WHERE attrelid = indrelid AND attnum = ANY (indkey))) AS has_key) AS constraints
			ORDER BY number
			""";

	/**
	 * Returns the tables of elections in all schemas that have the other two tables as
	 * well, but for that which the search path of the role finds. Finds them by their
	 * names in the catalog: to resolve a name in a schema that the role may not use is an
	 * error.
	 */
	private static final String FIND_OTHERS = """
			SELECT coalesce(pg_catalog.string_agg(name, ', ') FILTER (WHERE usable), '') AS usable,
			  coalesce(pg_catalog.string_agg(name, ', ') FILTER (WHERE usable IS FALSE), '') AS denied,
			  pg_catalog.quote_ident(current_schema) AS schema
			FROM (SELECT pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname)) AS name,
			    pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_table_privilege(c.oid, 'UPDATE') AS usable
			  FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
			    JOIN pg_catalog.pg_class AS node ON node.relnamespace OPERATOR(pg_catalog.=) n.oid AND node.relname OPERATOR(pg_catalog.=) %2$s
			    JOIN pg_catalog.pg_class AS candidate
			      ON candidate.relnamespace OPERATOR(pg_catalog.=) n.oid AND candidate.relname OPERATOR(pg_catalog.=) %3$s
			  WHERE c.relname OPERATOR(pg_catalog.=) %1$s AND c.relkind OPERATOR(pg_catalog.=) 'r'
			    AND (c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(%1$s)::pg_catalog.oid) IS NOT TRUE
			  ORDER BY usable DESC, n.nspname LIMIT 20) AS found
			""";

	/** For sessions whose leadership or candidacy must not depend on the table. */
	private static final String BRIEFLY = """
			SELECT pg_catalog.set_config('lock_timeout', '100', true),
			  pg_catalog.set_config('statement_timeout', '500', true);
			""";

	/**
	 * Return the shape of the tables, or {@code null} if none exists.
	 * @param query the query for it
	 */
	public static @Nullable LeaseTableShape find(Connection connection, String query) throws SQLException {
		String[] names = new String[3];
		Set<String> absent = new HashSet<>();
		List<String> mismatches = new ArrayList<>();
		List<String> privileges = new ArrayList<>();
		List<Boolean> readable = Jdbc.rows(connection, query, (row) -> {
			names[row.getInt("number") - 1] = row.getString("name");
			mismatches.add(row.getString("mismatch"));
			privileges.add(row.getString("privileges"));
			absent.addAll(List.of(row.getString("absent").split(",")));
			return row.getBoolean("readable");
		});
		return readable.isEmpty() ? null : new LeaseTableShape(new Tables(names[0], names[1], names[2], absent),
				joined(mismatches), joined(privileges), !readable.contains(false));
	}

	private static String joined(List<String> texts) {
		return texts.stream().filter((text) -> text != null && !text.isEmpty()).collect(Collectors.joining(", "));
	}

	/**
	 * Return a query for the tables with a name.
	 */
	public static String inspect(String table) {
		Tables tables = Tables.named(table);
		return INSPECT.formatted(quote(tables.elections()), quote(tables.nodes()), quote(tables.candidates()));
	}

	/**
	 * Find the tables of elections with a name in other schemas than that which the
	 * search path of the role finds.
	 * @param table the name; if it has a schema, there are none
	 */
	public static Others findOthers(Connection connection, String table) throws SQLException {
		Tables names = Tables.named(table.toLowerCase(Locale.ROOT));
		return table.contains(".") ? new Others("", "", null)
				: Jdbc.query(connection,
						FIND_OTHERS.formatted(quote(names.elections()), quote(names.nodes()),
								quote(names.candidates())),
						(row) -> new Others(row.getString("usable"), row.getString("denied"), row.getString("schema")));
	}

	/**
	 * Return the query of {@link #inspect}, for a session that need not know the answer.
	 */
	public static String inspectBriefly(String table) {
		return BRIEFLY + inspect(table);
	}

	/**
	 * Return a query for a node that takes part in an election by the lease table, for a
	 * node that would use the advisory lock. Each of the two writes first and looks
	 * second.
	 */
	public static String activeNode(Tables tables, String election) {
		return BRIEFLY + """
				SELECT coalesce(max(node), '') AS holder FROM (
				  SELECT token FROM %1$s WHERE election = %3$s AND candidate
				  UNION ALL SELECT owner FROM %4$s WHERE election = %3$s) AS part JOIN %2$s USING (token)
				WHERE clock_timestamp() - heartbeat < concat(greatest(lease_ms, 5000), 'ms')::interval
				""".formatted(tables.candidates(), tables.nodes(), quote(election), tables.elections());
	}

	/**
	 * Return the script that creates the tables with a name.
	 */
	public static String script(String table) {
		try (InputStream script = LeaseTableShape.class.getResourceAsStream(SCHEMA)) {
			if (script == null) {
				throw new IllegalStateException("The resource " + SCHEMA + " is missing");
			}
			String text = new String(script.readAllBytes(), StandardCharsets.UTF_8);
			return text.replaceAll("\\b" + DEFAULT_TABLE + "(_node|_candidate)?\\b",
					Matcher.quoteReplacement(table) + "$1");
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * Return whether there are tables of leases that the role may read: another
	 * application may have a table with the same name.
	 */
	public boolean isReadable() {
		return this.readable && isComplete();
	}

	/**
	 * Return whether all tables exist.
	 */
	public boolean isComplete() {
		return present().size() == 3;
	}

	/**
	 * Return the tables that exist.
	 */
	public List<String> present() {
		return Stream.of(this.tables.elections(), this.tables.nodes(), this.tables.candidates())
			.filter(Objects::nonNull)
			.toList();
	}

	/**
	 * Check that those tables that exist have the right shape: they may be those of an
	 * earlier version, in which its nodes may lead.
	 * @throws UnusableStoreException if operator action is required
	 */
	public void checkShape() throws UnusableStoreException {
		if (!this.mismatch.isEmpty()) {
			throw new UnusableStoreException(
					"The tables " + String.join(", ", present()) + " cannot hold elections: " + this.mismatch + ".",
					"If they belong to an earlier version, stop all its nodes, drop them and create those of the "
							+ "script io/leaderelection/postgresql/schema-postgresql.sql, which is in the jar of "
							+ "leader-election-postgresql. If they belong to something else, set "
							+ "leader-election.table-name to another name.",
					null);
		}
	}

	/**
	 * Check that the tables can hold elections.
	 * @param server the server
	 * @throws UnusableStoreException if operator action is required
	 */
	public void check(ServerInspection server) throws UnusableStoreException {
		checkShape();
		if (!this.privileges.isEmpty()) {
			throw new UnusableStoreException(
					"The role \"" + server.role() + "\" lacks privileges on the tables of leader election: "
							+ this.privileges + ".",
					"Run as their owner: GRANT SELECT, INSERT, UPDATE ON " + this.tables.elections() + " TO \""
							+ server.role() + "\"; GRANT SELECT, INSERT, UPDATE, DELETE ON " + this.tables.nodes()
							+ ", " + this.tables.candidates() + " TO \"" + server.role() + "\"",
					null);
		}
	}

	/**
	 * Return a literal that does not depend on {@code standard_conforming_strings}.
	 */
	public static String quote(String value) {
		return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'";
	}

	/**
	 * The tables of elections in other schemas.
	 *
	 * @param usable the names of those that the role may use
	 * @param denied the names of those that it may not use
	 * @param schema the schema in which it would create them, if there is one
	 */
	public record Others(String usable, String denied, @Nullable String schema) {
	}

	/**
	 * The tables.
	 *
	 * @param elections who owns each election
	 * @param nodes the sessions
	 * @param candidates in which elections a node is a candidate, and what it requests
	 * @param absent the optional columns that they do not have
	 */
	public record Tables(String elections, String nodes, String candidates, Set<String> absent) {

		public static Tables named(String table) {
			return new Tables(table, table + "_node", table + "_candidate", Set.of());
		}

		@Override
		public String toString() {
			return this.elections + ", " + this.nodes + " and " + this.candidates;
		}

	}

}
