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
import java.util.stream.Collectors;

import io.leaderelection.Term;

/**
 * The text of the statements of one session. Numbers are written into the text, since a
 * {@code DO} block takes no parameters.
 * <p>
 * Nothing here raises an error in normal operation: what may fail is caught in the
 * server, so that its log stays quiet.
 */
class AdvisoryLockSql {

	static final String VERSION = "SELECT pg_catalog.version()";

	/**
	 * What the server is and how it is set up, by catalogues that any role may read. The
	 * session still has the search path that was set for its role, so operators and types
	 * say where they are from, as functions and tables always do.
	 */
	static final String INSPECT = """
			SELECT pg_catalog.version() AS version,
			  pg_catalog.current_setting('server_version_num')::int AS version_number,
			  pg_catalog.pg_backend_pid() AS pid,
			  pg_catalog.pg_is_in_recovery() AS in_recovery,
			  CURRENT_USER::pg_catalog.text AS role,
			  (SELECT oid::bigint FROM pg_catalog.pg_database
			    WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) AS database,
			  (SELECT pg_catalog.has_language_privilege(oid, 'USAGE') FROM pg_catalog.pg_language
			    WHERE lanname OPERATOR(pg_catalog.=) 'plpgsql') AS plpgsql,
			  pg_catalog.has_function_privilege('pg_catalog.pg_walfile_name(pg_catalog.pg_lsn)', 'EXECUTE')
			    AND pg_catalog.has_function_privilege('pg_catalog.pg_current_wal_lsn()', 'EXECUTE') AS wal_file_name,
			  pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS control_system,
			  (SELECT setting::bigint FROM pg_catalog.pg_settings
			    WHERE name OPERATOR(pg_catalog.=) 'deadlock_timeout') AS deadlock_timeout,
			  (SELECT setting::bigint FROM pg_catalog.pg_settings
			    WHERE name OPERATOR(pg_catalog.=) 'log_min_duration_statement') AS log_min_duration
			""";

	/**
	 * Which database this is. In a session of the application, so that nothing is taken
	 * from the search path here either.
	 */
	static final String DATABASE = """
			SELECT oid::pg_catalog.int8 AS database,
			  pg_catalog.has_function_privilege('pg_catalog.pg_control_system()', 'EXECUTE') AS control_system
			FROM pg_catalog.pg_database WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
			""";

	static final String CLUSTER = "SELECT system_identifier FROM pg_catalog.pg_control_system()";

	/**
	 * Take a share of the fence key for the transaction, and only then look whether the
	 * key of its term is held: {@code CASE} keeps that order. Neither waits. A newer
	 * leader that waits for the fence key refuses the share too. From here on the
	 * transaction may not be idle for longer than the lease, unless it has a shorter
	 * limit already: its client might stop before it commits, and would hold up every
	 * later grant. Where the key is not held, which database it is decides what that
	 * means.
	 */
	static final String FENCE = """
			SELECT held, CASE WHEN held THEN NULL ELSE (SELECT oid::pg_catalog.int8 FROM pg_catalog.pg_database
			    WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) END AS database,
			  pg_catalog.set_config('idle_in_transaction_session_timeout',
			    CASE WHEN pg_catalog.interval_gt(present.idle::pg_catalog.interval, '0')
			      AND pg_catalog.interval_lt(present.idle::pg_catalog.interval, longest.idle::pg_catalog.interval)
			      THEN present.idle ELSE longest.idle END, true)
			FROM (SELECT CASE WHEN pg_catalog.pg_try_advisory_xact_lock_shared(?)
			    THEN NOT pg_catalog.pg_try_advisory_xact_lock_shared(?, ?) ELSE false END AS held OFFSET 0) AS fence,
			  (SELECT pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle) AS present,
			  (SELECT ?::pg_catalog.text AS idle) AS longest
			""";

	private static final String OUTCOME = "leader_election.outcome";

	static final String TOKEN = "leader_election.token";

	private final ElectionKeys keys;

	private final String advisoryLocks;

	AdvisoryLockSql(ElectionKeys keys, long database) {
		this.keys = keys;
		this.advisoryLocks = "pg_catalog.pg_locks WHERE locktype = 'advisory' AND granted AND database = " + database;
	}

	/**
	 * Make the settings that the server knows, each on its own, and tell the two that the
	 * lease rests on. Nothing is set on a session that has the token of another node: a
	 * pooler has given it to both.
	 */
	static String settings(Map<String, String> settings) {
		String rows = settings.entrySet()
			.stream()
			.map((entry) -> "('" + entry.getKey() + "','" + entry.getValue().replace("'", "''") + "')")
			.collect(Collectors.joining(","));
		return """
				DO $settings$
				DECLARE
				  setting pg_catalog.record;
				BEGIN
				  IF pg_catalog.length(pg_catalog.current_setting('%1$s', true)) OPERATOR(pg_catalog.>) 0 THEN
				    RETURN;
				  END IF;
				  FOR setting IN SELECT * FROM (VALUES %2$s) AS settings (name, value) LOOP
				    BEGIN
				      PERFORM pg_catalog.set_config(setting.name, setting.value, false);
				    EXCEPTION WHEN OTHERS THEN
				      NULL;
				    END;
				  END LOOP;
				END $settings$;
				SELECT pg_catalog.current_setting('idle_session_timeout') AS idle_session_timeout,
				  pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle_in_transaction,
				  (SELECT setting FROM pg_catalog.pg_settings
				    WHERE name OPERATOR(pg_catalog.=) 'idle_session_timeout') AS lease,
				  pg_catalog.current_setting('%1$s', true) AS token, pg_catalog.pg_backend_pid() AS pid
				""".formatted(TOKEN, rows);
	}

	/**
	 * Let what follows in the same transaction fail unless it is in the session with this
	 * token.
	 */
	static String requireToken(String token) {
		return """
				DO $token$
				BEGIN
				  IF pg_catalog.texteq(pg_catalog.current_setting('%s', true), '%s') IS NOT TRUE THEN
				    RAISE EXCEPTION 'another session is behind the connection now';
				  END IF;
				END $token$;
				""".formatted(TOKEN, token);
	}

	/**
	 * Hold a share of the candidate key for the life of the session.
	 */
	String stand() {
		return "SELECT pg_catalog.pg_try_advisory_lock_shared(%d)".formatted(this.keys.candidate());
	}

	/**
	 * Hold no share of the candidate key any more.
	 */
	String withdraw() {
		return "SELECT pg_catalog.pg_advisory_unlock_shared(%d)".formatted(this.keys.candidate());
	}

	/**
	 * Wait for the main key, then take it for the session and issue the term.
	 * <p>
	 * The wait is for a lock of the transaction, in a sub-block: if a timeout and the
	 * grant meet, the roll-back of the sub-block frees the lock, whereas a lock of the
	 * session would stay. There are two such blocks, since the server signals a session
	 * and its process group when it cancels, and so may cancel twice. The session's lock
	 * is taken second, when it can no longer wait. The transaction id is asked for after
	 * the lock, or it could be older than the predecessor's. A service that knows no
	 * timelines has none, on all nodes alike. Notices tell the others what the key of the
	 * term does not; they must not fail, as nothing depends on them. The message makes
	 * the transaction one that is flushed at commit: an id alone is forgotten in a crash
	 * and issued again.
	 */
	String acquire(long waitMillis) {
		return """
				DO $acquire$
				DECLARE
				  term bigint;
				  timeline bigint := 0;
				  clean boolean;
				BEGIN
				  BEGIN
				    BEGIN
				      PERFORM pg_catalog.set_config('lock_timeout', '%1$d', true);
				      PERFORM pg_catalog.pg_advisory_xact_lock(%2$d);
				    EXCEPTION WHEN lock_not_available OR query_canceled THEN
				      PERFORM pg_catalog.set_config('%3$s', '', false);
				      RETURN;
				    END;
				  EXCEPTION WHEN query_canceled THEN
				    PERFORM pg_catalog.set_config('%3$s', '', false);
				    RETURN;
				  END;
				  PERFORM pg_catalog.pg_advisory_lock(%2$d);
				  clean := EXISTS (SELECT FROM %4$s AND objsubid = 2 AND classid = %5$d AND objid = %6$d
				    AND mode = 'ExclusiveLock' AND pid <> pg_catalog.pg_backend_pid());
				  term := pg_catalog.pg_current_xact_id()::text::bigint;
				  BEGIN
				    timeline := ('x' || pg_catalog.substr(
				      pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8))::bit(32)::bigint;
				  EXCEPTION WHEN feature_not_supported THEN
				    NULL;
				  END;
				  IF NOT pg_catalog.pg_try_advisory_lock(%7$d, ((term + (timeline - 1) * %9$d) & 2147483647)::int) THEN
				    RAISE EXCEPTION 'the key of term %% is in use', term;
				  END IF;
				  PERFORM pg_catalog.pg_try_advisory_lock_shared(%10$d,
				    ((extract(epoch FROM pg_catalog.clock_timestamp())::bigint - %11$d) & 2147483647)::int);
				  IF timeline >> %12$d = 0 AND (term >> 31) >> (31 - %12$d) = 0 THEN
				    PERFORM pg_catalog.pg_try_advisory_lock_shared(%10$d,
				      (-1 - ((term >> 31 << %12$d) | timeline))::int);
				  END IF;
				  PERFORM pg_catalog.pg_logical_emit_message(true, 'leader_election', term::text);
				  PERFORM pg_catalog.set_config('%3$s', timeline || ':' || term || ':' || clean, false);
				END $acquire$;
				SELECT pg_catalog.current_setting('%3$s') AS outcome, %8$s
				""".formatted(waitMillis, this.keys.main(), OUTCOME, this.advisoryLocks,
				unsigned(this.keys.termClass()), unsigned(ElectionKeys.CLEAN), this.keys.termClass(), view(),
				ElectionKeys.TIMELINE_DISTANCE, this.keys.noticeClass(), ElectionKeys.NOTICE_EPOCH,
				ElectionKeys.TIMELINE_BITS);
	}

	/**
	 * Whether this session holds any key alone.
	 */
	String holdsAny() {
		return "SELECT count(*) > 0 AS holds FROM " + this.advisoryLocks
				+ " AND pid = pg_catalog.pg_backend_pid() AND mode = 'ExclusiveLock'";
	}

	/**
	 * Who holds the main key, and who stands.
	 */
	String observe() {
		return "SELECT " + view();
	}

	private String view() {
		return "min(pid) FILTER (WHERE mode = 'ExclusiveLock' AND %s) AS holder, %s FROM %s"
			.formatted(bigint(this.keys.main()), candidates(), this.advisoryLocks);
	}

	private String candidates() {
		return "string_agg(pid::text, ',' ORDER BY pid) FILTER (WHERE %s) AS candidates"
			.formatted(bigint(this.keys.candidate()));
	}

	/**
	 * Whose sessions these are, and what they tell about their terms. The view
	 * {@code pg_stat_activity} would lock catalogs that all databases share, for which
	 * the server may have no room left.
	 */
	String describe(Collection<Integer> pids) {
		String list = pids.stream().map(String::valueOf).collect(Collectors.joining(","));
		return """
				SELECT activity.pid, activity.application_name,
				  min(objid) FILTER (WHERE classid = %1$d AND mode = 'ExclusiveLock' AND objid < 2147483648) AS term,
				  min(objid) FILTER (WHERE classid = %2$d AND objid < 2147483648) AS since,
				  min(4294967295 - objid) FILTER (WHERE classid = %2$d AND objid >= 2147483648) AS notice
				FROM pg_catalog.pg_stat_get_activity(NULL) AS activity LEFT JOIN
				  (SELECT pid, classid::bigint, objid::bigint, mode FROM %3$s AND objsubid = 2) AS locks USING (pid)
				WHERE activity.pid IN (%4$s) GROUP BY activity.pid, activity.application_name
				""".formatted(unsigned(this.keys.termClass()), unsigned(this.keys.noticeClass()), this.advisoryLocks,
				list);
	}

	/**
	 * Ask a term to end.
	 */
	String requestResignation(Term term) {
		return "SELECT pg_catalog.pg_try_advisory_lock_shared(%d, %d)".formatted(this.keys.requestClass(),
				termObject(term));
	}

	/**
	 * Ask a term to end no more.
	 */
	String withdrawRequest(Term term) {
		return "SELECT pg_catalog.pg_advisory_unlock_shared(%d, %d)".formatted(this.keys.requestClass(),
				termObject(term));
	}

	/**
	 * Whether this is the session that won, holds both keys and would be ended when
	 * silent; who else holds a key of a term or a marker; who stands; and whether
	 * somebody asks the term to end. A share of the key of a term is a fence that was
	 * refused, and nobody's term.
	 */
	String confirm(Term term) {
		return """
				SELECT pg_catalog.pg_backend_pid() AS pid, pg_catalog.pg_is_in_recovery() AS in_recovery,
				  pg_catalog.current_setting('%s', true) AS token,
				  pg_catalog.current_setting('idle_session_timeout') AS idle_session_timeout,
				  pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle_in_transaction,
				  count(*) FILTER (WHERE mode = 'ExclusiveLock' AND pid = pg_catalog.pg_backend_pid()
				    AND (%s OR %s)) AS held,
				  min(pid) FILTER (WHERE mode = 'ExclusiveLock' AND pid <> pg_catalog.pg_backend_pid()
				    AND %s) AS predecessor,
				  count(*) FILTER (WHERE pid <> pg_catalog.pg_backend_pid() AND %s) > 0 AS resignation_requested,
				  %s
				FROM %s
				""".formatted(TOKEN, bigint(this.keys.main()), pair(this.keys.termClass(), termObject(term)), anyTerm(),
				pair(this.keys.requestClass(), termObject(term)), candidates(), this.advisoryLocks);
	}

	/**
	 * Wait until nobody shares the fence key. A lock of the transaction, so that a
	 * timeout that meets the grant leaves nothing behind.
	 * <p>
	 * Between two messages of a request, no timeout of the server runs. A session that
	 * has waited for the rest of one for longer than the lease would hold everybody up
	 * for as long as TCP takes to notice; its transaction was not committed, or is so
	 * already.
	 */
	String passBarrier(long waitMillis, long leaseMillis) {
		return """
				DO $barrier$
				DECLARE
				  stuck int;
				BEGIN
				  BEGIN
				    PERFORM pg_catalog.set_config('lock_timeout', '%1$d', true);
				    PERFORM pg_catalog.pg_advisory_xact_lock(%2$d);
				    PERFORM pg_catalog.set_config('%3$s', 'passed', false);
				    RETURN;
				  EXCEPTION WHEN lock_not_available OR query_canceled THEN
				    PERFORM pg_catalog.set_config('%3$s', 'blocked', false);
				  END;
				  FOR stuck IN SELECT pid FROM pg_catalog.pg_stat_get_activity(NULL)
				      WHERE pid IN (SELECT pid FROM %4$s AND pid <> pg_catalog.pg_backend_pid() AND %5$s)
				        AND state = 'active' AND wait_event = 'ClientRead'
				        AND state_change < pg_catalog.clock_timestamp() - interval '%6$d ms' LOOP
				    BEGIN
				      PERFORM pg_catalog.pg_terminate_backend(stuck);
				    EXCEPTION WHEN insufficient_privilege OR query_canceled THEN
				      NULL;
				    END;
				  END LOOP;
				END $barrier$;
				SELECT pg_catalog.current_setting('%3$s') AS outcome,
				  (SELECT min(pid) FROM %4$s AND pid <> pg_catalog.pg_backend_pid() AND %5$s) AS holder
				""".formatted(waitMillis, this.keys.fence(), OUTCOME, this.advisoryLocks, bigint(this.keys.fence()),
				leaseMillis);
	}

	/**
	 * Free the keys, the main key last, behind a marker if the term ended in good order.
	 * The session has little left to do: should this node fall silent now, the marker
	 * must not hold the successor up for a lease.
	 */
	String release(Term term, boolean clean, long idleMillis) {
		return """
				DO $release$
				BEGIN
				  PERFORM pg_catalog.set_config('idle_session_timeout', '%1$d', false);
				  PERFORM pg_catalog.set_config('%7$s',
				    CASE WHEN %2$s THEN pg_catalog.pg_try_advisory_lock(%3$d, %4$d) ELSE false END::text, false);
				  PERFORM pg_catalog.pg_advisory_unlock(%3$d, %5$d);
				  PERFORM pg_catalog.pg_advisory_unlock(%6$d);
				END $release$;
				SELECT pg_catalog.current_setting('%7$s')::boolean AS marked
				""".formatted(idleMillis, clean, this.keys.termClass(), ElectionKeys.CLEAN, termObject(term),
				this.keys.main(), OUTCOME);
	}

	/**
	 * Whether a successor has seen the marker, or there is none to see it; then the
	 * marker is taken down.
	 */
	String succeeded() {
		return """
				SELECT CASE WHEN successors > 0 OR candidates = 0
				  THEN pg_catalog.pg_advisory_unlock(%d, %d) ELSE false END AS succeeded
				FROM (SELECT count(*) FILTER (WHERE mode = 'ExclusiveLock' AND %s) AS successors,
				    count(*) FILTER (WHERE %s) AS candidates
				  FROM %s AND pid <> pg_catalog.pg_backend_pid()) AS others
				""".formatted(this.keys.termClass(), ElectionKeys.CLEAN, anyTerm(), bigint(this.keys.candidate()),
				this.advisoryLocks);
	}

	private String anyTerm() {
		return "objsubid = 2 AND classid = " + unsigned(this.keys.termClass());
	}

	private static int termObject(Term term) {
		return ElectionKeys.termObject(term.timeline(), term.transactionId());
	}

	private static String pair(int first, int second) {
		return "(objsubid = 2 AND classid = %d AND objid = %d)".formatted(unsigned(first), unsigned(second));
	}

	private static String bigint(long key) {
		return "(objsubid = 1 AND classid = %d AND objid = %d)".formatted(key >>> 32, key & 0xFFFFFFFFL);
	}

	private static long unsigned(int half) {
		return half & 0xFFFFFFFFL;
	}

}
