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

import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;

/**
 * The text of the statements on the lease table. Each is one message of the simple query
 * protocol, which the server runs in one transaction, and none depends on a state of the
 * session: between two of them, a pooler may connect another session.
 * <p>
 * Rows are only locked if that takes no wait ({@code SKIP LOCKED}): all elections of a
 * node share a connection, so a row that a foreign session has locked must not delay the
 * others.
 * <p>
 * Transactions of leader work lock a row of their own, which nothing but a takeover
 * changes, and not the lease. While an update that changes no key moves a row to another
 * page, PostgreSQL releases the lock on the page, and loses a lock {@code FOR KEY SHARE}
 * that another transaction takes on the row meanwhile ({@code heap_update} computes the
 * lockers of the new version before).
 */
class LeaseTableSql {

	static final String DEFAULT_TABLE = "leader_election";

	/** See {@link AdvisoryLockSql#FUNCTIONS}. */
	static final Set<String> FUNCTIONS = Set.of("clock_timestamp", "has_schema_privilege", "has_table_privilege",
			"pg_current_wal_lsn", "pg_current_xact_id", "pg_lock_status", "pg_notify", "pg_walfile_name", "set_config",
			"to_regclass");

	private static final String CHANNEL = "leader_election";

	private static final String TRANSACTION_ID = "pg_current_xact_id()::text::bigint";

	/**
	 * Identifies the tables and checks their columns and keys, and the rights of the
	 * role. Names are resolved with the search path of the role, as those in a script
	 * are.
	 */
	private static final String INSPECT = """
			SELECT pg_catalog.set_config('leader_election.tables',
			    pg_catalog.concat(pg_catalog.to_regclass(%1$s)::pg_catalog.oid, ',',
			      pg_catalog.to_regclass(%2$s)::pg_catalog.oid, ',', pg_catalog.to_regclass(%3$s)::pg_catalog.oid), true),
			  pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
			SELECT quote_ident(tn.nspname) || '.' || quote_ident(t.relname) AS leases,
			  quote_ident(fn.nspname) || '.' || quote_ident(f.relname) AS fences,
			  quote_ident(cn.nspname) || '.' || quote_ident(c.relname) AS candidates,
			  t.relkind = 'r' AND f.relkind = 'r' AND c.relkind = 'r' AND t.relpersistence = 'p' AND f.relpersistence = 'p'
			    AS permanent,
			  concat_ws(', ', %4$s, %5$s, %6$s) AS missing, %7$s AND %8$s AND %9$s AS keys, current_user::text AS role,
			  has_schema_privilege(tn.oid, 'USAGE') AND has_schema_privilege(fn.oid, 'USAGE')
			    AND has_schema_privilege(cn.oid, 'USAGE')
			    AND (SELECT bool_and(has_table_privilege(oid, 'SELECT') AND has_table_privilege(oid, 'INSERT')
			      AND has_table_privilege(oid, 'UPDATE')) FROM unnest(oids) AS oid)
			    AND has_table_privilege(c.oid, 'DELETE') AS privileges,
			  has_schema_privilege(tn.oid, 'USAGE') AND has_table_privilege(t.oid, 'SELECT') AND t.relkind = 'r'
			    AND %4$s IS NULL AS readable
			FROM (SELECT string_to_array(current_setting('leader_election.tables'), ',', '')::oid[] AS oids) AS tables
			  JOIN pg_class AS t ON t.oid = oids[1] JOIN pg_namespace AS tn ON tn.oid = t.relnamespace
			  JOIN pg_class AS f ON f.oid = oids[2] JOIN pg_namespace AS fn ON fn.oid = f.relnamespace
			  JOIN pg_class AS c ON c.oid = oids[3] JOIN pg_namespace AS cn ON cn.oid = c.relnamespace
			""";

	private static final String COLUMNS = """
			(SELECT string_agg(%1$s.relname || '.' || required.name, ', ') FROM (VALUES %2$s) AS required (name, type) WHERE NOT EXISTS (
			    SELECT FROM pg_attribute AS a WHERE a.attrelid = %1$s.oid AND a.attname = required.name
			      AND a.atttypid = to_regtype('pg_catalog.' || required.type) AND NOT a.attisdropped))""";

	private static final String TABLE_COLUMNS = """
			('election', 'varchar'), ('term', 'int8'), ('timeline', 'int8'), ('beat', 'int8'), ('lease', 'int8'),
			('holder', 'varchar'), ('token', 'uuid'), ('host', 'varchar'), ('pid', 'int8'), ('since', 'timestamptz'),
			('heartbeat', 'timestamptz'), ('resign_term', 'int8')""";

	private static final String FENCE_COLUMNS = "('election', 'varchar'), ('term', 'int8'), ('locked', 'bool')";

	private static final String CANDIDATE_COLUMNS = """
			('session', 'uuid'), ('node', 'varchar'), ('elections', '_varchar'), ('profiles', '_varchar'),
			('seen', 'timestamptz')""";

	private static final String KEY = """
			EXISTS (SELECT FROM pg_index AS i WHERE i.indrelid = %1$s.oid AND i.indisunique AND i.indisvalid
			    AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND ARRAY['%2$s'] = (
			      SELECT array_agg(a.attname::text) FROM pg_attribute AS a
			      WHERE a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)))""";

	/**
	 * Locks the row of the fence against every takeover until the end of the transaction,
	 * if the term has not ended. Takes the time limit for idle transactions from the
	 * lease, as {@link AdvisoryLockSql#FENCE} does, also for a transaction that does not
	 * pass: PostgreSQL locks a row that has changed before it finds that it does not
	 * match any longer. Runs in a transaction of the application, with its search path.
	 */
	private static final String FENCE = """
			SELECT passed.term IS NOT NULL AS passed, pg_catalog.set_config('idle_in_transaction_session_timeout',
			    CASE WHEN pg_catalog.interval_gt(present.idle::pg_catalog.interval, '0')
			      AND pg_catalog.interval_lt(present.idle::pg_catalog.interval, longest.idle::pg_catalog.interval)
			      THEN present.idle ELSE longest.idle END, true)
			FROM (SELECT pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle) AS present
			  CROSS JOIN (SELECT ?::pg_catalog.text AS idle) AS longest
			  LEFT JOIN (SELECT fence.term FROM %s AS entry
			    JOIN %s AS fence ON fence.election OPERATOR(pg_catalog.=) entry.election
			      AND fence.term OPERATOR(pg_catalog.=) entry.term
			    WHERE entry.election OPERATOR(pg_catalog.=) ?::pg_catalog.varchar
			      AND entry.term OPERATOR(pg_catalog.=) ? AND entry.timeline OPERATOR(pg_catalog.=) ?
			      AND entry.token OPERATOR(pg_catalog.=) ?::pg_catalog.uuid FOR SHARE OF fence SKIP LOCKED) AS passed ON true
			""";

	/** For sessions whose leadership or candidacy must not depend on the table. */
	private static final String BRIEFLY = """
			SELECT pg_catalog.set_config('lock_timeout', '100', true),
			  pg_catalog.set_config('statement_timeout', '500', true);
			""";

	/** Shown in place of names if the role may not read these. */
	private static final String NO_ACTIVITY = """
			(SELECT DISTINCT pid, 'its name requires EXECUTE on pg_stat_get_activity' AS application_name, NULL::oid AS usesysid,
			    '' AS state, '' AS wait_event, now() AS state_change FROM pg_locks)""";

	/** How long a statement waits that delays the other elections of its node. */
	private static final long SHORT_MILLIS = 100;

	private final Tables tables;

	private final String table;

	private final ServerInspection server;

	private final long timeoutMillis;

	/**
	 * Create a new {@code LeaseTableSql} instance.
	 * @param tables the qualified names of the tables
	 * @param server the server
	 * @param timeoutMillis how long a statement may take
	 */
	LeaseTableSql(Tables tables, ServerInspection server, long timeoutMillis) {
		this.tables = tables;
		this.table = tables.leases();
		this.server = server;
		this.timeoutMillis = timeoutMillis;
	}

	/**
	 * Return a query for the tables with a name, which returns no row if there is none.
	 */
	static String inspect(String table) {
		Tables tables = Tables.named(table);
		return INSPECT.formatted(quote(tables.leases()), quote(tables.fences()), quote(tables.candidates()),
				COLUMNS.formatted("t", TABLE_COLUMNS), COLUMNS.formatted("f", FENCE_COLUMNS),
				COLUMNS.formatted("c", CANDIDATE_COLUMNS), KEY.formatted("t", "election"),
				KEY.formatted("f", "election"), KEY.formatted("c", "session"));
	}

	/**
	 * Return the query of {@link #inspect}, for a session that need not know the answer.
	 */
	static String inspectBriefly(String table) {
		return BRIEFLY + inspect(table);
	}

	/**
	 * Return a query for the node that leads by the lease table, for a node that would
	 * use the advisory lock.
	 * @param table the qualified name of the table
	 */
	static String activeHolder(String table, String election) {
		return BRIEFLY
				+ """
						SELECT coalesce(max(coalesce(holder, 'unknown')), '') AS holder FROM %s WHERE election = %s AND token IS NOT NULL
						  AND heartbeat > clock_timestamp() - lease * interval '1 ms'
						"""
					.formatted(table, quote(election));
	}

	/**
	 * Return the rows of elections, after a renewal of those that this node leads. The
	 * other columns of a renewed row are those from before.
	 * <p>
	 * A renewal never takes the beat back: one that was sent on a connection that this
	 * node has given up may run later than the next one. Renewals are durable, by one
	 * flush for all elections of a node: otherwise a crash of the server could bring back
	 * a beat that a follower has observed for some time, although the leader trusts its
	 * lease since a later one.
	 * @param elections the elections
	 * @param renewals what to renew
	 */
	String round(Collection<String> elections, Collection<Renewal> renewals) {
		String renewed = renewals.isEmpty() ? "SELECT NULL::varchar AS election WHERE false" : """
				UPDATE %1$s AS entry SET beat = own.beat, heartbeat = clock_timestamp()
				    FROM own WHERE entry.election = own.election RETURNING entry.election""".formatted(this.table);
		String own = renewals.isEmpty() ? "" : """
				own AS (SELECT election, renewal.beat FROM %1$s AS entry
				    JOIN (VALUES %2$s) AS renewal (election, term, token, beat) USING (election)
				    WHERE entry.term = renewal.term AND entry.token = renewal.token AND entry.beat <= renewal.beat
				    FOR NO KEY UPDATE OF entry SKIP LOCKED),
				  """.formatted(this.table,
				renewals.stream()
					.map((renewal) -> "(%s, %s, %s::uuid, %s)".formatted(quote(renewal.election()), renewal.term(),
							quote(renewal.token().toString()), renewal.beat()))
					.collect(Collectors.joining(", ")));
		return begin(renewals.isEmpty() ? "off" : "local")
				+ """
						WITH %srenewed AS (%s)
						SELECT entry.election, term, timeline, %s AS server_timeline, beat, lease, holder, token::text AS token, since,
						  resign_term, renewed.election IS NOT NULL AS renewed, pg_is_in_recovery() AS in_recovery
						FROM %s AS entry LEFT JOIN renewed USING (election) WHERE entry.election IN (%s)
						"""
					.formatted(own, renewed, timeline(), this.table, list(elections));
	}

	/**
	 * Insert the missing leases of elections.
	 */
	String insert(Collection<String> elections) {
		return begin("local", SHORT_MILLIS) + """
				INSERT INTO %s (election, term, timeline, beat, lease)
				SELECT election, 0, 0, 0, 0 FROM unnest(ARRAY[%s]) AS missing (election)
				ON CONFLICT DO NOTHING;
				SELECT true AS inserted
				""".formatted(this.table, list(elections));
	}

	/**
	 * Take an election over, if its row is still as it was observed, on a server that has
	 * not been promoted since then, and no node holds a lock of the other store.
	 * <p>
	 * A takeover changes the term of the lease, so that no transaction of an earlier term
	 * passes the fence from then on. It also changes the term of the fence, if no
	 * transaction that has passed it is open. If there is one, that is done later, see
	 * {@link #passBarrier}. If the row of the fence is missing, no such transaction is
	 * open, since its deletion would wait for it.
	 * <p>
	 * The transaction id is assigned when the row is locked, and thus after the commit of
	 * every earlier takeover. With {@code synchronous_commit=off}, terms could repeat
	 * after a crash; with {@code on}, a missing standby would delay all elections.
	 * @param keys the keys of the other store
	 */
	String takeOver(LeaseRow row, ElectionKeys keys, Identity identity) {
		return begin("local", SHORT_MILLIS)
				+ """
						WITH other AS MATERIALIZED (%1$s),
						  free AS (SELECT election FROM %2$s WHERE election = %4$s AND term = %5$s AND timeline = %6$s
						    AND beat = %7$s AND %9$s = %15$s AND NOT EXISTS (SELECT FROM other) FOR NO KEY UPDATE SKIP LOCKED),
						  taken AS (UPDATE %2$s AS entry SET term = %8$s, timeline = %9$s, beat = 0, lease = %10$s,
						    holder = %11$s, token = %12$s::uuid, host = %13$s, pid = %14$s, since = clock_timestamp(),
						    heartbeat = clock_timestamp(), resign_term = NULL
						    FROM free WHERE entry.election = free.election RETURNING entry.election, entry.term, entry.timeline),
						  present AS (SELECT fence.election, taken.term FROM %3$s AS fence JOIN taken USING (election)
						    FOR NO KEY UPDATE OF fence SKIP LOCKED),
						  changed AS (UPDATE %3$s AS fence SET term = present.term FROM present
						    WHERE fence.election = present.election RETURNING fence.election),
						  inserted AS (INSERT INTO %3$s (election, term) SELECT election, term FROM taken
						    WHERE NOT EXISTS (SELECT FROM %3$s AS fence WHERE fence.election = taken.election)
						    ON CONFLICT DO NOTHING RETURNING election)
						SELECT taken.term, taken.timeline, EXISTS (SELECT FROM changed) OR EXISTS (SELECT FROM inserted) AS passed,
						  (SELECT min(pid) FROM other) AS other
						FROM (SELECT true) AS one LEFT JOIN taken ON true
						"""
					.formatted(locksOfOtherStore(keys), this.table, this.tables.fences(), quote(row.election()),
							row.term(), row.timeline(), row.beat(), TRANSACTION_ID, timeline(), identity.leaseMillis(),
							quote(identity.node()), quote(identity.token().toString()), quote(identity.host()),
							identity.pid(), row.serverTimeline());
	}

	/**
	 * Return a query for a session that holds a lock of a node with the other store: it
	 * leads, is a candidate, has not freed all locks of its term, or is in a fenced
	 * transaction.
	 */
	String otherStore(ElectionKeys keys) {
		return begin("off") + "SELECT min(pid) AS pid FROM (" + locksOfOtherStore(keys) + ") AS other";
	}

	private String locksOfOtherStore(ElectionKeys keys) {
		return """
				SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = %s AND granted
				    AND (%s OR %s OR %s OR (objsubid = 2 AND classid = %s))""".formatted(this.server.database(),
				bigint(keys.main()), bigint(keys.candidate()), bigint(keys.fence()), keys.termClass() & 0xFFFFFFFFL);
	}

	private static String bigint(long key) {
		return "(objsubid = 1 AND classid = %s AND objid = %s)".formatted(key >>> 32, key & 0xFFFFFFFFL);
	}

	/**
	 * Change the term of the fence to that of this node, if no transaction that has
	 * passed the fence of an earlier term is open. Locks the lease too, so that its term
	 * is still the present one, but not before the fence: a lock is written to the WAL.
	 */
	String passBarrier(String election, Term term, UUID token) {
		return begin("local", SHORT_MILLIS)
				+ """
						WITH present AS (SELECT election, entry.term FROM %1$s AS entry JOIN %2$s AS fence USING (election) WHERE %3$s
						    FOR NO KEY UPDATE OF fence SKIP LOCKED FOR NO KEY UPDATE OF entry SKIP LOCKED),
						  changed AS (UPDATE %2$s AS fence SET term = present.term FROM present
						    WHERE fence.election = present.election RETURNING fence.election),
						  inserted AS (INSERT INTO %2$s (election, term) SELECT election, term FROM %1$s AS entry WHERE %3$s
						    AND NOT EXISTS (SELECT FROM %2$s AS fence WHERE fence.election = entry.election)
						    ON CONFLICT DO NOTHING RETURNING election)
						SELECT EXISTS (SELECT FROM changed) OR EXISTS (SELECT FROM inserted) AS passed,
						  EXISTS (SELECT FROM %1$s AS entry WHERE %3$s) AS held
						"""
					.formatted(this.table, this.tables.fences(), own(election, term, token));
	}

	/**
	 * Return a query for the sessions that have locked the fence or the lease of an
	 * election, and end those that have waited for the rest of a request for longer than
	 * the lease, as {@link AdvisoryLockSql#passBarrier} does. A row has either the
	 * transaction that has locked it or a set of transactions, and the number of a set
	 * may be that of any transaction: only those that have locked something in the tables
	 * count.
	 */
	String lockers(String election, long leaseMillis) {
		return begin("off", SHORT_MILLIS) + """
				DO $lockers$
				DECLARE
				  locker text;
				  pids text := '';
				  transactions text[];
				  stuck int;
				BEGIN
				  FOR locker IN SELECT xmax::text FROM %1$s WHERE election = %2$s
				      UNION ALL SELECT xmax::text FROM %5$s WHERE election = %2$s LOOP
				    transactions := transactions || locker;
				    BEGIN
				      SELECT transactions || array_agg(xid::text) INTO transactions
				        FROM pg_get_multixact_members(locker::xid);
				    EXCEPTION WHEN OTHERS THEN
				      NULL;
				    END;
				  END LOOP;
				  SELECT coalesce(string_agg(pid::text, ',' ORDER BY pid), '') INTO pids FROM pg_locks
				    WHERE locktype = 'transactionid' AND granted AND mode = 'ExclusiveLock'
				      AND pid <> pg_backend_pid() AND transactionid::text = ANY (transactions)
				      AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'relation' AND granted
				        AND database = %4$s AND relation IN (to_regclass(%6$s), to_regclass(%7$s)));
				  PERFORM set_config('leader_election.lockers', pids, true);
				  FOR stuck IN SELECT pid FROM %8$s AS activity
				      WHERE pid::text = ANY (string_to_array(pids, ','))
				        AND state = 'active' AND wait_event = 'ClientRead'
				        AND state_change < clock_timestamp() - interval '%3$s ms' LOOP
				    BEGIN
				      PERFORM pg_terminate_backend(stuck);
				    EXCEPTION WHEN insufficient_privilege THEN
				      NULL;
				    END;
				  END LOOP;
				END $lockers$;
				SELECT activity.pid, activity.application_name, pg_get_userbyid(activity.usesysid) AS role
				FROM (SELECT min(pid) AS pid FROM unnest(string_to_array(
				    nullif(current_setting('leader_election.lockers'), ''), ',')::int[]) AS lockers (pid)) AS first
				  LEFT JOIN %8$s AS activity USING (pid)
				""".formatted(this.tables.fences(), quote(election), leaseMillis, this.server.database(), this.table,
				quote(this.tables.fences()), quote(this.table),
				this.server.mayExecute("pg_stat_get_activity") ? "pg_stat_get_activity(NULL)" : NO_ACTIVITY);
	}

	/**
	 * End the term of this node and free the row. If its work may still be running, the
	 * name of the holder remains.
	 */
	String release(String election, Term term, UUID token, boolean clean) {
		return begin("local") + """
				WITH own AS (SELECT election FROM %1$s AS entry WHERE %2$s FOR NO KEY UPDATE SKIP LOCKED),
				  freed AS (UPDATE %1$s AS entry SET %3$s token = NULL, resign_term = NULL, beat = entry.beat + 1
				    FROM own WHERE entry.election = own.election RETURNING entry.election)
				SELECT EXISTS (SELECT FROM freed) AS changed, EXISTS (SELECT FROM %1$s AS entry WHERE %2$s) AS held
				""".formatted(this.table, own(election, term, token), clean ? "holder = NULL," : "");
	}

	/**
	 * Notify the other nodes of a release, in a transaction of its own: a full queue of
	 * notices must not undo the release.
	 */
	String announce(String election) {
		return begin("off") + "SELECT pg_notify('%s', %s)".formatted(CHANNEL, quote(notice(election)));
	}

	/**
	 * Return the notice of a release. It has less than 8000 bytes, and names the table.
	 */
	String notice(String election) {
		return this.table + " " + election;
	}

	/**
	 * Receive a notice of every release, and have the server end the session if it is
	 * silent for some time: a node that was cut off leaves its session behind. Only on a
	 * connection without a pooler.
	 */
	static String listen() {
		return "LISTEN " + CHANNEL
				+ "; SELECT pg_catalog.set_config('idle_session_timeout', '30000', false) AS timeout";
	}

	/**
	 * Request the end of a term, or withdraw that request.
	 */
	String requestResignation(String election, Term term, boolean requested) {
		return begin("off") + """
				WITH led AS (SELECT election FROM %1$s WHERE %2$s FOR NO KEY UPDATE SKIP LOCKED),
				  requested AS (UPDATE %1$s AS entry SET resign_term = %3$s FROM led
				    WHERE entry.election = led.election RETURNING entry.election)
				SELECT EXISTS (SELECT FROM requested) AS changed, EXISTS (SELECT FROM %1$s WHERE %2$s) AS held
				""".formatted(this.table, "election = %s AND term = %s AND timeline = %s AND token IS NOT NULL"
			.formatted(quote(election), term.transactionId(), term.timeline()), requested ? "entry.term" : "NULL");
	}

	/**
	 * Register this node as a candidate in some elections, remove candidates that have
	 * not been registered again for some time, and return the candidates in all elections
	 * of this node. This uses the clock of the database, and nothing that leadership
	 * rests on depends on it. Fails if the table of fences is gone, which renewals do not
	 * use.
	 */
	String candidates(UUID session, String node, Map<String, NodeProfile> own, Collection<String> all,
			long expiryMillis) {
		String register = own.isEmpty() ? "" : """
				INSERT INTO %1$s AS candidate (session, node, elections, profiles, seen)
				VALUES (%2$s::uuid, %3$s, ARRAY[%4$s]::varchar[], ARRAY[%5$s]::varchar[], clock_timestamp())
				ON CONFLICT (session) DO UPDATE SET elections = excluded.elections, profiles = excluded.profiles,
				  seen = excluded.seen;
				""".formatted(this.tables.candidates(), quote(session.toString()), quote(node), list(own.keySet()),
				list(own.values().stream().map(Profiles::text).toList()));
		return begin("off", SHORT_MILLIS) + (own.isEmpty() ? deleteCandidate(session) : register)
				+ """
						DELETE FROM %1$s WHERE session IN (SELECT session FROM %1$s
						  WHERE seen < clock_timestamp() - interval '%2$s ms' FOR UPDATE SKIP LOCKED);
						SELECT FROM %4$s LIMIT 0;
						SELECT election, session::text AS session, node, profile
						FROM %1$s, unnest(elections, profiles) AS candidacy (election, profile) WHERE election IN (%3$s) ORDER BY node, session
						"""
					.formatted(this.tables.candidates(), expiryMillis, list(all), this.tables.fences());
	}

	/**
	 * Remove this node from the candidates.
	 */
	String withdraw(UUID session) {
		return begin("off") + deleteCandidate(session) + "SELECT true AS done";
	}

	private String deleteCandidate(UUID session) {
		return "DELETE FROM %s WHERE session = %s::uuid;\n".formatted(this.tables.candidates(),
				quote(session.toString()));
	}

	/**
	 * Return the statement that a transaction of leader work runs before its commit.
	 */
	String fence() {
		return FENCE.formatted(this.table, this.tables.fences());
	}

	/**
	 * Return a query for whether a term has not ended, and the fence has it, too. Runs in
	 * a transaction of the application, with its search path.
	 */
	String isHeld(String election, Term term, UUID token) {
		return """
				SELECT pg_catalog.count(*) AS held FROM %s AS entry
				  JOIN %s AS fence ON fence.election OPERATOR(pg_catalog.=) entry.election
				    AND fence.term OPERATOR(pg_catalog.=) entry.term
				WHERE entry.election OPERATOR(pg_catalog.=) %s::pg_catalog.varchar
				  AND entry.term OPERATOR(pg_catalog.=) %s AND entry.token OPERATOR(pg_catalog.=) %s::pg_catalog.uuid
				""".formatted(this.table, this.tables.fences(), quote(election), term.transactionId(),
				quote(token.toString()));
	}

	String table() {
		return this.table;
	}

	private static String own(String election, Term term, UUID token) {
		return "entry.election = %s AND entry.term = %s AND entry.timeline = %s AND entry.token = %s::uuid"
			.formatted(quote(election), term.transactionId(), term.timeline(), quote(token.toString()));
	}

	private String timeline() {
		return this.server.timelines() ? AdvisoryLockSql.TIMELINE : "0::bigint";
	}

	/**
	 * Return the settings of one transaction, against presets of the role. The server
	 * gives a statement up before this side gives the connection up.
	 */
	private String begin(String synchronousCommit) {
		return begin(synchronousCommit, this.timeoutMillis / 2);
	}

	private String begin(String synchronousCommit, long lockTimeoutMillis) {
		return """
				SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
				SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true),
				  pg_catalog.set_config('synchronous_commit', '%1$s', true),
				  pg_catalog.set_config('lock_timeout', '%2$s', true),
				  pg_catalog.set_config('statement_timeout', '%3$s', true);
				""".formatted(synchronousCommit, lockTimeoutMillis, this.timeoutMillis * 3 / 4);
	}

	private static String list(Collection<String> values) {
		return values.stream().map(LeaseTableSql::quote).collect(Collectors.joining(", "));
	}

	/**
	 * Return a literal that does not depend on {@code standard_conforming_strings}.
	 */
	private static String quote(String value) {
		return "E'" + value.replace("\\", "\\\\").replace("'", "''") + "'";
	}

	/**
	 * The tables.
	 *
	 * @param leases who holds the lease of each election
	 * @param fences the rows that transactions of leader work lock
	 * @param candidates which node is a candidate
	 */
	record Tables(String leases, String fences, String candidates) {

		static Tables named(String table) {
			return new Tables(table, table + "_fence", table + "_candidate");
		}

		@Override
		public String toString() {
			return this.leases + ", " + this.fences + " and " + this.candidates;
		}

	}

	/**
	 * A renewal.
	 *
	 * @param election the key of the election
	 * @param term the transaction id of its term
	 * @param token the token of the session
	 * @param beat counted by the holder, so that a renewal that is repeated on another
	 * connection is the same one
	 */
	record Renewal(String election, long term, UUID token, long beat) {
	}

	/**
	 * What a takeover writes.
	 *
	 * @param node the id of the node
	 * @param token the token of the session
	 * @param leaseMillis the length of its lease
	 * @param host its host name
	 * @param pid its process id
	 */
	record Identity(String node, UUID token, long leaseMillis, String host, long pid) {
	}

}
