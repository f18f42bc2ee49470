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

import java.util.Collection;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.ServerInspection;

/**
 * The text of the statements on the lease table. Each is one message of the simple query
 * protocol, which the server runs in one transaction, and none depends on a state of the
 * session: between two of them, a pooler may connect another session. Each begins with
 * its settings, against presets of the role.
 * <p>
 * What a node has written and others have observed is flushed: PostgreSQL shows a commit
 * to others only after its flush. A crash of the server therefore never takes back what
 * anybody has observed.
 * <p>
 * Only a round waits for a row that others lock, its own. What ends sessions and changes
 * elections skips rows that are locked, locks the row of a node before that of an
 * election, and is run again.
 */
class LeaseTableSql {

	private static final String CHANNEL = "leader_election";

	private static final String TRANSACTION_ID = "pg_current_xact_id()::text::bigint";

	/**
	 * Locks the row of the election against every takeover until the end of the
	 * transaction, if its term has not ended. The row of the owner must exist: when it
	 * was deleted, no further transaction passes, for which a takeover would wait. Takes
	 * the time limit for idle transactions from the lease, also for a transaction that
	 * does not pass: PostgreSQL locks a row that has changed before it finds that it does
	 * not match any longer. Runs in a transaction of the application, with its search
	 * path.
	 */
	private static final String FENCE = """
			SELECT passed.term IS NOT NULL AS passed, pg_catalog.set_config('idle_in_transaction_session_timeout',
			    CASE WHEN pg_catalog.interval_gt(present.idle::pg_catalog.interval, '0')
			      AND pg_catalog.interval_lt(present.idle::pg_catalog.interval, longest.idle::pg_catalog.interval)
			      THEN present.idle ELSE longest.idle END, true)
			FROM (SELECT pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle) AS present
			  CROSS JOIN (SELECT ?::pg_catalog.text AS idle) AS longest
			  LEFT JOIN (SELECT entry.term FROM %1$s AS entry
			    WHERE entry.election OPERATOR(pg_catalog.=) ?::pg_catalog.varchar
			      AND entry.term OPERATOR(pg_catalog.=) ? AND entry.timeline OPERATOR(pg_catalog.=) ?
			      AND entry.owner OPERATOR(pg_catalog.=) ?::pg_catalog.uuid
			      AND EXISTS (SELECT FROM %2$s AS node WHERE node.token OPERATOR(pg_catalog.=) entry.owner)
			    FOR SHARE OF entry SKIP LOCKED) AS passed ON true
			""";

	/** Shown in place of names if the role may not read these. */
	private static final String NO_ACTIVITY = """
			(SELECT DISTINCT pid, 'its name requires EXECUTE on pg_stat_get_activity' AS application_name, NULL::oid AS usesysid,
			    '' AS state, '' AS wait_event, now() AS state_change FROM pg_locks)""";

	/** How long a statement waits that delays the rounds of its node. */
	private static final long SHORT_MILLIS = 100;

	private static final String BEATEN = "leader_election.beaten";

	private final Tables tables;

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
		this.server = server;
		this.timeoutMillis = timeoutMillis;
	}

	/**
	 * Return the qualified name of the table of elections.
	 */
	String table() {
		return this.tables.elections();
	}

	/**
	 * Begin a session.
	 */
	String join(Identity identity) {
		return begin("local", SHORT_MILLIS) + """
				INSERT INTO %s (token, node, host, pid, beat, lease_ms, since, heartbeat)
				VALUES (%s, %s, %s, %s, 0, %s, clock_timestamp(), clock_timestamp()) RETURNING true AS joined
				""".formatted(this.tables.nodes(), uuid(identity.token()), LeaseTableShape.quote(identity.node()),
				LeaseTableShape.quote(identity.host()), identity.pid(), identity.leaseMillis());
	}

	/**
	 * Raise the beat of a session, unless it is 0, and then return the rows of elections
	 * with those of their owners. Two statements, so that the second reads a newer
	 * snapshot: it shows every takeover from this session that has committed while the
	 * first one waited. Each owner is read once, by its key: while another transaction
	 * keeps an old snapshot, a row of a node has many versions.
	 * @param beat counted by the node and never used again, so that nobody else can have
	 * raised it
	 */
	String round(UUID token, long beat, Collection<String> elections) {
		String raise = (beat == 0) ? "" : raise(uuid(token), beat);
		return begin((beat == 0) ? "off" : "local", this.timeoutMillis / 2) + raise
				+ """
						WITH entry AS MATERIALIZED (SELECT election, term, timeline, owner, clean, since
						    FROM unnest(ARRAY[%5$s]::varchar[]) AS wanted (election) LEFT JOIN %6$s USING (election)),
						  session AS MATERIALIZED (SELECT token, node, beat, lease_ms FROM %3$s
						    WHERE token = ANY (ARRAY(SELECT owner FROM entry)))
						SELECT entry.election, entry.term, entry.timeline, %1$s AS server_timeline, entry.owner, entry.clean,
						  entry.since, session.node, session.beat, session.lease_ms, part.profile, request.cause AS request,
						  current_setting('%2$s', true) = '1' AS raised, EXISTS (SELECT FROM %3$s WHERE token = %4$s) AS joined,
						  pg_is_in_recovery() AS in_recovery
						FROM entry LEFT JOIN session ON session.token = entry.owner
						  LEFT JOIN %7$s AS part ON part.election = entry.election AND part.token = entry.owner
						  LEFT JOIN LATERAL (SELECT CASE WHEN token = entry.owner THEN 'somebody' ELSE coalesce(node, 'a node') END
						      || ': ' || coalesce(resign_cause, '') AS cause
						    FROM %7$s AS asking LEFT JOIN %3$s USING (token)
						    WHERE asking.election = entry.election AND asking.resign_term = entry.term LIMIT 1) AS request ON true
						"""
					.formatted(timeline(), BEATEN, this.tables.nodes(), uuid(token), list(elections),
							this.tables.elections(), this.tables.candidates());
	}

	private String raise(String own, long beat) {
		return """
				WITH raised AS (UPDATE %1$s SET beat = %2$s, heartbeat = clock_timestamp()
				  WHERE token = %3$s AND beat < %2$s::bigint RETURNING token)
				SELECT set_config('%4$s', count(*)::text, true) FROM raised;
				""".formatted(this.tables.nodes(), beat, own, BEATEN);
	}

	/**
	 * Insert the missing row of an election.
	 */
	String insert(String election) {
		return begin("local", SHORT_MILLIS) + """
				INSERT INTO %s (election, term, timeline, clean) VALUES (%s, 0, 0, true) ON CONFLICT DO NOTHING;
				SELECT true AS inserted
				""".formatted(this.tables.elections(), LeaseTableShape.quote(election));
	}

	/**
	 * Delete the row of a session that has expired, if its beat is still the one that was
	 * observed, on a server that has not been promoted since then.
	 */
	String expire(UUID token, long beat, long serverTimeline) {
		String present = "token = %s AND beat = %s".formatted(uuid(token), beat);
		return begin("local", SHORT_MILLIS)
				+ """
						WITH expired AS (SELECT token FROM %1$s WHERE %2$s AND %3$s = %4$s FOR UPDATE SKIP LOCKED),
						  deleted AS (DELETE FROM %1$s AS node USING expired WHERE node.token = expired.token RETURNING node.token)
						SELECT EXISTS (SELECT FROM deleted) AS changed
						"""
					.formatted(this.tables.nodes(), present, timeline(), serverTimeline);
	}

	/**
	 * Take an election over that is free, or whose owner has no row, if its row is still
	 * as it was observed, on a server that has not been promoted since then, and no node
	 * holds a lock of the other store.
	 * <p>
	 * The own beat is raised first: a session whose row is deleted meanwhile takes
	 * nothing, and nobody who has observed the former beat deletes it afterwards. This
	 * assigns the transaction id, which becomes the term. It is greater than the term
	 * before, since that was read before this transaction began.
	 * <p>
	 * A transaction that has passed the fence shares the lock of the row, which is then
	 * skipped. A takeover therefore waits for the end of all of them.
	 * @param keys the keys of the other store
	 */
	String takeOver(LeaseRow row, long serverTimeline, ElectionKeys keys, UUID token, long beat) {
		String own = "(SELECT token FROM %s WHERE token = %s AND beat < %s::bigint FOR NO KEY UPDATE SKIP LOCKED)"
			.formatted(this.tables.nodes(), uuid(token), beat);
		return begin("local", SHORT_MILLIS) + raise(own, beat) + """
				WITH other AS MATERIALIZED (%1$s),
				  free AS (SELECT election FROM %2$s AS entry WHERE election = %3$s AND term = %4$s AND timeline = %5$s
				    AND owner IS NOT DISTINCT FROM %12$s
				    AND (owner IS NULL OR NOT EXISTS (SELECT FROM %6$s AS node WHERE node.token = entry.owner))
				    AND current_setting('%7$s') = '1' AND %8$s = %9$s AND NOT EXISTS (SELECT FROM other)
				    FOR NO KEY UPDATE SKIP LOCKED),
				  taken AS (UPDATE %2$s AS entry SET term = %10$s, timeline = %8$s, owner = %11$s, clean = false,
				    since = clock_timestamp() FROM free WHERE entry.election = free.election
				    RETURNING entry.term, entry.timeline)
				SELECT taken.term, taken.timeline, (SELECT min(pid) FROM other) AS other
				FROM (SELECT true) AS one LEFT JOIN taken ON true
				""".formatted(locksOfOtherStore(keys), this.tables.elections(), LeaseTableShape.quote(row.election()),
				row.term(), row.timeline(), this.tables.nodes(), BEATEN, timeline(), serverTimeline, TRANSACTION_ID,
				uuid(token), (row.owner() != null) ? uuid(row.owner()) : "NULL::uuid");
	}

	/**
	 * Return a query for a session that holds a lock of a node with the other store: it
	 * leads, is a candidate, has not freed all locks of its term, or is in a fenced
	 * transaction.
	 */
	String otherStore(ElectionKeys keys) {
		return begin("off", SHORT_MILLIS) + "SELECT min(pid) AS pid FROM (" + locksOfOtherStore(keys) + ") AS other";
	}

	private String locksOfOtherStore(ElectionKeys keys) {
		return """
				SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND database = %s AND granted
				    AND (%s OR %s OR %s OR (objsubid = 2 AND classid = %s))""".formatted(this.server.database(),
				ElectionKeys.bigint(keys.main()), ElectionKeys.bigint(keys.candidate()),
				ElectionKeys.bigint(keys.fence()), ElectionKeys.unsigned(keys.termClass()));
	}

	/**
	 * Return a query for the sessions and prepared transactions that have locked the row
	 * of an election or of its owner, and end those that have waited for the rest of a
	 * request for longer than the lease, as the barrier of the other store does. A row
	 * has either the transaction that has locked it or a set of transactions, and the
	 * number of a set may be that of any transaction: only those that have locked
	 * something in the tables count.
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
				  FOR locker IN SELECT xmax::text FROM %1$s WHERE election = %2$s UNION ALL SELECT node.xmax::text
				      FROM %7$s AS node JOIN %1$s ON node.token = owner WHERE election = %2$s LOOP
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
				        AND database = %4$s AND relation IN (to_regclass(%5$s), to_regclass(%8$s)));
				  PERFORM set_config('leader_election.lockers', pids, true);
				  PERFORM set_config('leader_election.prepared', (SELECT coalesce(min(gid), '') FROM pg_prepared_xacts
				    WHERE transaction::text = ANY (transactions)), true);
				  FOR stuck IN SELECT pid FROM %6$s AS activity
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
				SELECT activity.pid, activity.application_name, pg_get_userbyid(activity.usesysid) AS role,
				  nullif(current_setting('leader_election.prepared'), '') AS prepared
				FROM (SELECT min(pid) AS pid FROM unnest(string_to_array(
				    nullif(current_setting('leader_election.lockers'), ''), ',')::int[]) AS lockers (pid)) AS first
				  LEFT JOIN %6$s AS activity USING (pid)
				""".formatted(this.tables.elections(), LeaseTableShape.quote(election), leaseMillis,
				this.server.database(), LeaseTableShape.quote(this.tables.elections()),
				this.server.mayExecute("pg_stat_get_activity") ? "pg_stat_get_activity(NULL)" : NO_ACTIVITY,
				this.tables.nodes(), LeaseTableShape.quote(this.tables.nodes()));
	}

	/**
	 * End a term and free the election.
	 * @param clean whether the work of the term has ended
	 */
	String release(String election, Term term, UUID token, boolean clean) {
		String own = "election = %s AND term = %s AND timeline = %s AND owner = %s"
			.formatted(LeaseTableShape.quote(election), term.transactionId(), term.timeline(), uuid(token));
		return begin("local", SHORT_MILLIS) + """
				WITH own AS (SELECT election FROM %1$s WHERE %2$s FOR NO KEY UPDATE SKIP LOCKED),
				  freed AS (UPDATE %1$s AS entry SET owner = NULL, clean = %3$s FROM own
				    WHERE entry.election = own.election RETURNING entry.election)
				SELECT EXISTS (SELECT FROM freed) AS changed, EXISTS (SELECT FROM %1$s WHERE %2$s) AS held
				""".formatted(this.tables.elections(), own, clean);
	}

	/**
	 * Notify the other nodes of a release, in a transaction of its own: a full queue of
	 * notices must not undo the release.
	 */
	String announce(String election) {
		return begin("off", SHORT_MILLIS)
				+ "SELECT pg_notify('%s', %s)".formatted(CHANNEL, LeaseTableShape.quote(notice(election)));
	}

	/**
	 * Return the notice of a release. It has less than 8000 bytes, and names the table.
	 */
	String notice(String election) {
		return this.tables.elections() + " " + election;
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
	 * Request the end of a term, or withdraw that request if the term is 0.
	 */
	String requestResignation(String election, UUID token, long term, String cause) {
		return begin("off", SHORT_MILLIS) + """
				INSERT INTO %1$s AS part (election, token, candidate, resign_term, resign_cause)
				VALUES (%2$s, %3$s, false, %4$s, %5$s) ON CONFLICT (election, token)
				DO UPDATE SET resign_term = excluded.resign_term, resign_cause = excluded.resign_cause;
				SELECT true AS requested
				""".formatted(this.tables.candidates(), LeaseTableShape.quote(election), uuid(token),
				(term != 0) ? term : "NULL", (term != 0) ? LeaseTableShape.quote(cause) : "NULL");
	}

	/**
	 * Register in which elections this node is a candidate. Also delete what crashed
	 * nodes have left for more than a day, if it is not needed: by the clock of the
	 * server, so a node whose row is deleted by a step of it begins another session.
	 * @param own its profile in each of them
	 */
	String register(UUID token, Map<String, NodeProfile> own) {
		String insert = own.isEmpty() ? "" : """
				INSERT INTO %1$s AS part (election, token, candidate, profile)
				SELECT election, %2$s, true, profile FROM unnest(ARRAY[%3$s]::varchar[], ARRAY[%4$s]::varchar[])
				  AS own (election, profile)
				ON CONFLICT (election, token) DO UPDATE SET candidate = true, profile = excluded.profile;
				""".formatted(this.tables.candidates(), uuid(token), list(own.keySet()),
				list(own.values().stream().map(Profiles::text).toList()));
		return begin("off", SHORT_MILLIS)
				+ """
						WITH old AS (SELECT token FROM %4$s WHERE heartbeat < clock_timestamp() - interval '1 day'
						    AND token IS DISTINCT FROM %2$s AND NOT EXISTS (SELECT FROM %5$s WHERE owner = token) FOR UPDATE SKIP LOCKED)
						  DELETE FROM %4$s AS node USING old WHERE node.token = old.token;
						WITH old AS (SELECT election, token FROM %1$s AS part WHERE token IS DISTINCT FROM %2$s
						    AND NOT EXISTS (SELECT FROM %4$s AS node WHERE node.token = part.token) FOR UPDATE SKIP LOCKED)
						  DELETE FROM %1$s AS part USING old WHERE part.election = old.election AND part.token = old.token;
						DELETE FROM %1$s AS part WHERE token = %2$s
						  AND NOT EXISTS (SELECT FROM unnest(ARRAY[%3$s]::varchar[]) AS own (election) WHERE own.election = part.election);
						"""
					.formatted(this.tables.candidates(), uuid(token), list(own.keySet()), this.tables.nodes(),
							this.tables.elections())
				+ insert + "SELECT true AS registered";
	}

	/**
	 * Return the candidates in elections, with the beats of their sessions.
	 */
	String candidates(Collection<String> elections) {
		return begin("off", SHORT_MILLIS)
				+ """
						WITH part AS MATERIALIZED (SELECT election, token, profile
						    FROM unnest(ARRAY[%3$s]::varchar[]) AS wanted (election) JOIN %1$s USING (election) WHERE candidate),
						  session AS MATERIALIZED (SELECT token, node, beat FROM %2$s WHERE token = ANY (ARRAY(SELECT token FROM part)))
						SELECT election, token, node, beat, profile FROM part JOIN session USING (token) ORDER BY node, token
						"""
					.formatted(this.tables.candidates(), this.tables.nodes(), list(elections));
	}

	/**
	 * End a session that owns nothing, unless its beat was raised further: otherwise its
	 * row must expire.
	 */
	String leave(UUID token, long beat) {
		return begin("local", SHORT_MILLIS)
				+ """
						WITH left_out AS (SELECT token FROM %1$s WHERE token = %2$s AND NOT beat > %4$s::bigint
						    AND NOT EXISTS (SELECT FROM %3$s WHERE owner = %2$s) FOR UPDATE SKIP LOCKED),
						  deleted AS (DELETE FROM %1$s AS node USING left_out WHERE node.token = left_out.token RETURNING node.token)
						SELECT EXISTS (SELECT FROM deleted) AS changed
						"""
					.formatted(this.tables.nodes(), uuid(token), this.tables.elections(), beat);
	}

	/**
	 * Return the statement that a transaction of leader work runs before its commit.
	 */
	String fence() {
		return FENCE.formatted(this.tables.elections(), this.tables.nodes());
	}

	/**
	 * Return a query for whether a term has not ended. Runs in a transaction of the
	 * application, with its search path.
	 */
	String isHeld(String election, Term term, UUID token) {
		return """
				SELECT pg_catalog.count(*) AS held FROM %s AS entry JOIN %s AS node
				  ON node.token OPERATOR(pg_catalog.=) entry.owner
				WHERE entry.election OPERATOR(pg_catalog.=) %s::pg_catalog.varchar
				  AND entry.term OPERATOR(pg_catalog.=) %s AND entry.timeline OPERATOR(pg_catalog.=) %s
				  AND entry.owner OPERATOR(pg_catalog.=) %s::pg_catalog.uuid
				""".formatted(this.tables.elections(), this.tables.nodes(), LeaseTableShape.quote(election),
				term.transactionId(), term.timeline(), LeaseTableShape.quote(token.toString()));
	}

	private String timeline() {
		return this.server.timelines() ? ServerInspection.TIMELINE : "0::bigint";
	}

	/**
	 * Return the settings of one transaction, against presets of the role. The server
	 * gives a statement up before this side gives the connection up.
	 */
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
		return values.stream().map(LeaseTableShape::quote).collect(Collectors.joining(", "));
	}

	private static String uuid(UUID token) {
		return LeaseTableShape.quote(token.toString()) + "::uuid";
	}

	/**
	 * What a session writes.
	 *
	 * @param token its token
	 * @param node the id of the node
	 * @param leaseMillis the length of its lease
	 * @param host its host name
	 * @param pid its process id
	 */
	record Identity(UUID token, String node, long leaseMillis, String host, long pid) {
	}

}
