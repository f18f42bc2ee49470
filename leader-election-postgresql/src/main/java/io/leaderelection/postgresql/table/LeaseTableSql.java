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
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.ServerInspection;
import org.jspecify.annotations.Nullable;

/**
 * The text of the statements on the lease table. Each is one message of the simple query
 * protocol, which the server runs in one transaction. Behind a pooler, which may connect
 * another session between two of them, each begins with its settings, against presets of
 * the role. A session that serves one node has them from its beginning.
 * <p>
 * What a node has written and others have observed is flushed: PostgreSQL shows a commit
 * to others only after its flush. A crash of the server therefore never takes back what
 * anybody has observed.
 * <p>
 * Only a round waits for a row that others lock, its own; the insertion of rows and the
 * registration of candidates wait briefly. What ends sessions and changes elections skips
 * rows that are locked, locks the row of a node before that of an election, and is run
 * again.
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

	private static final String PAUSED = """
			CASE WHEN clock_timestamp() < paused_until
			      THEN concat('pause until ', paused_until, ' by ', coalesce(paused_by, 'somebody')) END""";

	private static final String BEATEN = "leader_election.beaten";

	private final Tables tables;

	private final ServerInspection server;

	private final boolean direct;

	private final long timeoutMillis;

	/**
	 * Create a new {@code LeaseTableSql} instance.
	 * @param tables the qualified names of the tables
	 * @param server the server
	 * @param direct whether the session serves this node only, and so keeps settings
	 * @param timeoutMillis how long a statement may take
	 */
	LeaseTableSql(Tables tables, ServerInspection server, boolean direct, long timeoutMillis) {
		this.tables = tables;
		this.server = server;
		this.direct = direct;
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
		Map<String, String> columns = new LinkedHashMap<>();
		columns.put("token", uuid(identity.token()));
		columns.put("node", text(identity.node()));
		columns.put("host", text(identity.host()));
		columns.put("pid", String.valueOf(identity.pid()));
		columns.put("beat", "0");
		columns.put("lease_ms", String.valueOf(identity.leaseMillis()));
		columns.put("since", "clock_timestamp()");
		columns.put("heartbeat", "clock_timestamp()");
		columns.keySet().removeAll(this.tables.absent());
		return begin() + "INSERT INTO %s (%s) VALUES (%s) RETURNING true AS joined".formatted(this.tables.nodes(),
				String.join(", ", columns.keySet()), String.join(", ", columns.values()));
	}

	/**
	 * Raise the beat of a session, unless it is 0, and return the rows of elections with
	 * those of their owners, and their candidates if that is wanted. Each owner and
	 * candidate is read once, by its key: while another transaction keeps an old
	 * snapshot, a row of a node has many versions.
	 * <p>
	 * For a session that owns something, these are two statements, so that the second
	 * reads a newer snapshot: it shows every takeover from this session that has
	 * committed while the first one waited.
	 * @param beat counted by the node and never used again, so that nobody else can have
	 * raised it
	 */
	String round(UUID token, long beat, boolean owns, Collection<String> elections, boolean candidates) {
		String raised = (beat == 0) ? "raised AS (SELECT NULL::uuid AS token WHERE false)"
				: "raised AS (" + raising(uuid(token), beat) + ")";
		boolean first = beat != 0 && owns;
		String listed = candidates ? """
				UNION ALL SELECT true, part.election, NULL, NULL, part.token, NULL, NULL, peer.node, peer.beat, NULL,
				  part.profile, NULL, NULL, answer.* FROM part JOIN peer USING (token) CROSS JOIN answer
				""" : "";
		return begin() + (first ? raise(uuid(token), beat) : "")
				+ """
						WITH %1$s entry AS MATERIALIZED (SELECT election, term, timeline, owner, clean, since,
						    %9$s AS paused FROM unnest(ARRAY[%2$s]::varchar[]) AS wanted (election) LEFT JOIN %3$s USING (election)),
						  session AS MATERIALIZED (SELECT token, node, beat, lease_ms FROM %4$s
						    WHERE token = ANY (ARRAY(SELECT owner FROM entry))),
						  part AS MATERIALIZED (SELECT election, token, profile
						    FROM entry JOIN %5$s USING (election) WHERE candidate),
						  peer AS MATERIALIZED (SELECT token, node, beat FROM %4$s
						    WHERE token = ANY (ARRAY(SELECT token FROM part))),
						  answer AS MATERIALIZED (SELECT %6$s AS raised, EXISTS (SELECT FROM %4$s WHERE token = %7$s) AS joined,
						    %8$s AS server_timeline, pg_is_in_recovery() AS in_recovery, pg_backend_pid() AS pid)
						SELECT false AS listed, entry.election, entry.term, entry.timeline, entry.owner, entry.clean, entry.since,
						  session.node, session.beat, session.lease_ms, held.profile, request.cause AS request, entry.paused, answer.*
						FROM entry CROSS JOIN answer LEFT JOIN session ON session.token = entry.owner
						  LEFT JOIN %5$s AS held ON held.election = entry.election AND held.token = entry.owner
						  LEFT JOIN LATERAL (SELECT CASE WHEN token = entry.owner THEN 'somebody' ELSE coalesce(node, 'a node') END
						      || ': ' || coalesce(resign_cause, '') AS cause
						    FROM %5$s AS asking LEFT JOIN %4$s USING (token)
						    WHERE asking.election = entry.election AND asking.resign_term = entry.term
						    LIMIT 1) AS request ON true
						"""
					.formatted(first ? "" : raised + ", ", list(elections), this.tables.elections(),
							this.tables.nodes(), this.tables.candidates(),
							first ? "current_setting('" + BEATEN + "', true) = '1'" : "EXISTS (SELECT FROM raised)",
							uuid(token), timeline(), hasPauses() ? PAUSED : "NULL")
				+ listed + "ORDER BY listed, node, owner";
	}

	private String raise(String own, long beat) {
		return "WITH raised AS (%s) SELECT set_config('%s', count(*)::text, true) FROM raised;\n"
			.formatted(raising(own, beat), BEATEN);
	}

	private String raising(String own, long beat) {
		return """
				UPDATE %1$s SET beat = %2$s, heartbeat = clock_timestamp() WHERE token = %3$s AND beat < %2$s::bigint
				    RETURNING token""".formatted(this.tables.nodes(), beat, own);
	}

	/**
	 * Insert the missing rows of elections.
	 */
	String insert(Collection<String> elections) {
		return begin() + briefly()
				+ """
						INSERT INTO %s (election, term, timeline, clean)
								  SELECT election, 0, 0, true FROM unnest(ARRAY[%s]::varchar[]) AS missing (election) ON CONFLICT DO NOTHING;
								SELECT true AS inserted
								"""
					.formatted(this.tables.elections(), list(elections));
	}

	/**
	 * End sessions that have expired, if their beats are still those that were observed,
	 * on a server that has not been promoted since then: delete their rows, and mark all
	 * elections that they own, but for those whose rows are locked. So other nodes, which
	 * have not observed the expiry, need not wait for another lease.
	 * @param beats the beats that were observed, by the tokens of the sessions
	 */
	String expire(Map<UUID, Long> beats, long serverTimeline) {
		return begin()
				+ """
						WITH observed (token, beat) AS (VALUES %1$s),
						  expired AS (SELECT node.token FROM %4$s AS node JOIN observed USING (token, beat) WHERE %2$s = %3$s
						    FOR UPDATE OF node SKIP LOCKED),
						  deleted AS (DELETE FROM %4$s AS node USING expired WHERE node.token = expired.token RETURNING node.token),
						  owned AS (SELECT entry.election FROM %5$s AS entry WHERE entry.owner = ANY (ARRAY(SELECT token FROM deleted))
						    FOR NO KEY UPDATE SKIP LOCKED),
						  marked AS (UPDATE %5$s AS entry SET clean = true FROM owned
						    WHERE entry.election = owned.election RETURNING entry.election)
						SELECT token FROM deleted
						"""
					.formatted(beats(beats), timeline(), serverTimeline, this.tables.nodes(), this.tables.elections());
	}

	/**
	 * Take over elections that are free, or whose owner has no row, if they are still in
	 * the term that was observed, on a server that has not been promoted since then, and
	 * no node holds a lock of the other store.
	 * <p>
	 * The own beat is raised first: a session whose row is deleted meanwhile takes
	 * nothing, and nobody who has observed the former beat deletes it afterwards. This
	 * assigns the transaction id, which becomes the term of all of them. It is greater
	 * than their terms before, since those were read before this transaction began.
	 * <p>
	 * A transaction that has passed the fence shares the lock of the row, which is then
	 * skipped. A takeover therefore waits for the end of all of them.
	 * @param rows the rows as they were observed, with the keys of the other store
	 */
	String takeOver(Map<LeaseRow, ElectionKeys> rows, long serverTimeline, UUID token, long beat) {
		String own = "(SELECT token FROM %s WHERE token = %s AND beat < %s::bigint FOR NO KEY UPDATE SKIP LOCKED)"
			.formatted(this.tables.nodes(), uuid(token), beat);
		Map<String, ElectionKeys> keys = new LinkedHashMap<>();
		rows.forEach((row, ofOtherStore) -> keys.put(row.election(), ofOtherStore));
		return begin() + raise(own, beat) + """
				WITH observed (election, term, timeline, owner) AS (VALUES %1$s),
				  %2$s,
				  free AS (SELECT entry.election FROM %3$s AS entry JOIN observed USING (election, term, timeline)
				    WHERE (entry.owner IS NULL OR entry.owner = observed.owner
				        AND NOT EXISTS (SELECT FROM %4$s AS node WHERE node.token = entry.owner))
				    AND current_setting('%5$s') = '1' AND %6$s = %7$s
				    AND %10$s
				    AND NOT EXISTS (SELECT FROM other WHERE other.election = entry.election)
				    FOR NO KEY UPDATE OF entry SKIP LOCKED),
				  taken AS (UPDATE %3$s AS entry SET term = %8$s, timeline = %6$s, owner = %9$s, clean = false,
				    since = clock_timestamp() FROM free WHERE entry.election = free.election
				    RETURNING entry.election, entry.term, entry.timeline)
				SELECT observed.election, taken.term, taken.timeline, other.pid AS other
				FROM observed LEFT JOIN taken USING (election) LEFT JOIN other USING (election)
				""".formatted(
				values(rows.keySet(),
						(row) -> text(row.election()) + ", " + row.term() + "::bigint, " + row.timeline() + "::bigint, "
								+ ((row.owner() != null) ? uuid(row.owner()) : "NULL::uuid")),
				other(keys), this.tables.elections(), this.tables.nodes(), BEATEN, timeline(), serverTimeline,
				TRANSACTION_ID, uuid(token),
				hasPauses() ? "(clock_timestamp() < entry.paused_until) IS NOT TRUE" : "true");
	}

	/**
	 * Return a query for sessions that hold a lock of a node with the other store: it
	 * leads, is a candidate, has not freed all locks of its term, or is in a fenced
	 * transaction.
	 * @param keys the keys of elections
	 */
	String otherStore(Map<String, ElectionKeys> keys) {
		return begin() + "WITH " + other(keys) + " SELECT election, pid FROM other";
	}

	private String other(Map<String, ElectionKeys> keys) {
		return """
				locks AS MATERIALIZED (SELECT pid, objsubid, classid, objid FROM pg_locks
				    WHERE locktype = 'advisory' AND database = %s AND granted),
				  sought (election, subid, class, object) AS (VALUES %s),
				  other AS MATERIALIZED (SELECT election, min(pid) AS pid FROM sought JOIN locks
				    ON objsubid = subid AND classid = class AND (object IS NULL OR objid = object) GROUP BY election)"""
			.formatted(this.server.database(), values(keys.entrySet(), LeaseTableSql::sought));
	}

	private static String sought(Map.Entry<String, ElectionKeys> election) {
		ElectionKeys keys = election.getValue();
		String name = text(election.getKey());
		return Stream.of(keys.main(), keys.candidate(), keys.fence())
			.map((key) -> "%s, '1'::int2, %s::oid, %s::oid), (".formatted(name, key >>> 32, key & 0xFFFFFFFFL))
			.collect(Collectors.joining())
				+ "%s, '2'::int2, %s::oid, NULL::oid".formatted(name, ElectionKeys.unsigned(keys.termClass()));
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
		return begin() + """
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
	 * End terms and free their elections, but for those whose rows are locked.
	 * @param rows the rows as they were observed, and whether the work of the term has
	 * ended
	 * @param token their owner
	 */
	String release(Map<LeaseRow, Boolean> rows, UUID token) {
		return begin() + """
				WITH led (election, term, timeline, ended) AS (VALUES %1$s),
				  own AS (SELECT entry.election, led.ended FROM %2$s AS entry JOIN led USING (election, term, timeline)
				    WHERE entry.owner = %3$s FOR NO KEY UPDATE OF entry SKIP LOCKED),
				  freed AS (UPDATE %2$s AS entry SET owner = NULL, clean = own.ended FROM own
				    WHERE entry.election = own.election RETURNING entry.election)
				SELECT election FROM freed
				""".formatted(
				values(rows.entrySet(),
						(row) -> text(row.getKey().election()) + ", " + row.getKey().term() + "::bigint, "
								+ row.getKey().timeline() + "::bigint, " + row.getValue()),
				this.tables.elections(), uuid(token));
	}

	/**
	 * Notify the other nodes of releases, in a transaction of its own: a full queue of
	 * notices must not undo the release.
	 */
	String announce(Collection<String> elections) {
		return begin() + "SELECT pg_notify('%s', notice) FROM unnest(ARRAY[%s]::text[]) AS released (notice)"
			.formatted(CHANNEL, list(elections.stream().map(this::notice).toList()));
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
	String listen() {
		return "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;\n"
				+ settings(false) + "; LISTEN " + CHANNEL
				+ "; SELECT pg_catalog.set_config('idle_session_timeout', '30000', false) AS timeout";
	}

	/**
	 * Register in which elections this node takes part. Also delete what crashed nodes
	 * have left for more than a day, if it is not needed: by the clock of the server, so
	 * a node whose row is deleted by a step of it begins another session.
	 * @param elections all of them
	 * @param changed its parts in those that have changed
	 */
	String register(UUID token, Collection<String> elections, Map<String, Part> changed) {
		String upsert = changed.isEmpty() ? "" : """
				INSERT INTO %s AS part (token, election, candidate, profile, resign_term, resign_cause) VALUES %s
				ON CONFLICT (election, token) DO UPDATE SET candidate = excluded.candidate, profile = excluded.profile,
				  resign_term = excluded.resign_term, resign_cause = excluded.resign_cause;
				""".formatted(this.tables.candidates(), values(changed.entrySet(),
				(own) -> uuid(token) + ", " + text(own.getKey()) + ", " + columns(own.getValue())));
		return begin() + briefly()
				+ """
						WITH old AS (SELECT token FROM %4$s WHERE heartbeat < clock_timestamp() - interval '1 day'
						    AND token IS DISTINCT FROM %2$s AND NOT EXISTS (SELECT FROM %5$s WHERE owner = token) FOR UPDATE SKIP LOCKED)
						  DELETE FROM %4$s AS node USING old WHERE node.token = old.token;
						WITH old AS (SELECT election, token FROM %1$s AS part WHERE token IS DISTINCT FROM %2$s
						    AND NOT EXISTS (SELECT FROM %4$s AS node WHERE node.token = part.token) FOR UPDATE SKIP LOCKED)
						  DELETE FROM %1$s AS part USING old WHERE part.election = old.election AND part.token = old.token;
						DELETE FROM %1$s AS part WHERE token = %2$s AND NOT EXISTS (
						    SELECT FROM unnest(ARRAY[%3$s]::varchar[]) AS own (election) WHERE own.election = part.election);
						"""
					.formatted(this.tables.candidates(), uuid(token), list(elections), this.tables.nodes(),
							this.tables.elections())
				+ upsert + "SELECT true AS registered";
	}

	private static String columns(Part part) {
		Request request = part.request();
		return part.candidate() + ", " + text(part.candidate() ? Profiles.text(part.profile()) : null) + ", "
				+ ((request != null) ? request.term() : "NULL") + "::bigint, "
				+ text((request != null) ? request.cause() : null);
	}

	/**
	 * End sessions that own nothing, unless their beats were raised further: otherwise
	 * their rows must expire.
	 */
	String leave(Map<UUID, Long> beats) {
		return begin()
				+ """
						WITH observed (token, beat) AS (VALUES %1$s),
						  left_out AS (SELECT node.token FROM %2$s AS node JOIN observed ON node.token = observed.token
						      AND NOT node.beat > observed.beat
						    WHERE NOT EXISTS (SELECT FROM %3$s WHERE owner = node.token) FOR UPDATE OF node SKIP LOCKED),
						  deleted AS (DELETE FROM %2$s AS node USING left_out WHERE node.token = left_out.token RETURNING node.token)
						SELECT token FROM deleted
						"""
					.formatted(beats(beats), this.tables.nodes(), this.tables.elections());
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

	private boolean hasPauses() {
		return Collections.disjoint(this.tables.absent(), List.of("paused_until", "paused_by"));
	}

	private String timeline() {
		return this.server.timelines() ? ServerInspection.TIMELINE : "0::bigint";
	}

	/**
	 * Return the settings of one transaction, against presets of the role, unless the
	 * session has them.
	 */
	private String begin() {
		return this.direct ? ""
				: "SET TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;\n" + settings(true) + ";\n";
	}

	/**
	 * Return a setting for what waits for the lock of a row, which must not delay the
	 * next renewal.
	 */
	private static String briefly() {
		return "SELECT pg_catalog.set_config('lock_timeout', '100', true);\n";
	}

	/**
	 * The server gives a statement up before this side gives the connection up.
	 */
	private String settings(boolean ofTransaction) {
		return """
				SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', %1$s),
				  pg_catalog.set_config('synchronous_commit', 'local', %1$s),
				  pg_catalog.set_config('lock_timeout', '%2$s', %1$s),
				  pg_catalog.set_config('statement_timeout', '%3$s', %1$s)""".formatted(ofTransaction,
				this.timeoutMillis / 2, this.timeoutMillis * 3 / 4);
	}

	private static String list(Collection<String> values) {
		return values.stream().map(LeaseTableShape::quote).collect(Collectors.joining(", "));
	}

	private static <T> String values(Collection<T> rows, Function<T, String> columns) {
		return rows.stream().map(columns).collect(Collectors.joining("), (", "(", ")"));
	}

	private static String beats(Map<UUID, Long> beats) {
		return values(beats.entrySet(), (session) -> uuid(session.getKey()) + ", " + session.getValue() + "::bigint");
	}

	private static String text(@Nullable String value) {
		return ((value != null) ? LeaseTableShape.quote(value) : "NULL") + "::varchar";
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

	/**
	 * How a session takes part in an election.
	 *
	 * @param candidate whether it is a candidate
	 * @param profile what it publishes about itself
	 * @param request the term whose end it requests, or {@code null}
	 */
	record Part(boolean candidate, NodeProfile profile, @Nullable Request request) {
	}

	/**
	 * A request to resign.
	 *
	 * @param term the transaction id of the term that should end
	 * @param cause who or what requests this
	 */
	record Request(long term, String cause) {
	}

}
