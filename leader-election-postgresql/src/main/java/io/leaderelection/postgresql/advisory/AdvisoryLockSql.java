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

import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

import io.leaderelection.Term;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.ServerInspection;
import org.jspecify.annotations.Nullable;

/**
 * The text of the statements of one session. Numbers are part of the text, since a
 * {@code DO} block takes no parameters.
 * <p>
 * The statements raise no error in normal operation: expected errors are caught on the
 * server, so that nothing is logged there.
 */
class AdvisoryLockSql {

	static final String OUTCOME = "leader_election.outcome";

	/**
	 * The prefix of the answer of {@link #acquire}; nothing follows if the lock was not
	 * won. Without an answer, the observed term has not ended.
	 */
	static final String ANSWER = "leader_election ";

	/** The ends of the connection as the server sees them. */
	private static final String ENDS = """
			, pg_catalog.host(pg_catalog.inet_client_addr()) AS client_addr,
			pg_catalog.inet_client_port() AS client_port,
			pg_catalog.host(pg_catalog.inet_server_addr()) AS server_addr,
			pg_catalog.inet_server_port() AS server_port""";

	static final String TOKEN = "leader_election.token";

	/**
	 * Takes a share of the fence key for the transaction, and only then checks whether
	 * the key of its term is held: {@code CASE} guarantees that order. Neither step
	 * waits. The share is also refused while a newer leader waits for the fence key. From
	 * here on the transaction may be idle for at most the length of the lease, unless it
	 * already has a shorter limit: a client that stops before the commit would otherwise
	 * block every later grant. If the key is not held, the database decides whether the
	 * term has ended.
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

	private final ElectionKeys keys;

	private final ServerInspection server;

	private final String comment;

	private final AcquiringStatement acquiring;

	private final String allLocks;

	private final String locks;

	AdvisoryLockSql(ElectionKeys keys, ServerInspection server) {
		this(keys, server, "");
	}

	/**
	 * Create a new {@code AdvisoryLockSql} instance.
	 * @param comment precedes each message of the session
	 */
	AdvisoryLockSql(ElectionKeys keys, ServerInspection server, String comment) {
		this.keys = keys;
		this.server = server;
		this.comment = comment;
		this.acquiring = new AcquiringStatement(keys, server);
		this.allLocks = locks(server);
		this.locks = this.allLocks + " AND granted";
	}

	/**
	 * Return the comment that precedes each message of the session.
	 */
	String comment() {
		return this.comment;
	}

	/**
	 * Apply the settings that the server knows, each separately, and return those on
	 * which elections depend. Nothing is set on a session that has the token of another
	 * node: a pooler has given it to both nodes.
	 */
	String settings(Map<String, String> settings) {
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
				  %3$s AS lease, %4$s AS tcp_user_timeout, %5$s AS tcp_keepalives_idle,
				  pg_catalog.current_setting('%1$s', true) AS token, pg_catalog.pg_backend_pid() AS pid%6$s
				""".formatted(TOKEN, rows, applied("idle_session_timeout"), applied("tcp_user_timeout"),
				applied("tcp_keepalives_idle"), this.server.endings() ? ENDS : "");
	}

	/**
	 * Return the value of a setting as the operating system of the server has applied it,
	 * in the unit of the setting.
	 */
	private static String applied(String setting) {
		return "(SELECT setting FROM pg_catalog.pg_settings WHERE name OPERATOR(pg_catalog.=) '" + setting + "')";
	}

	/**
	 * Make the following statements of the same transaction fail unless they run in the
	 * session with this token.
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
	 * Take a free seat, unless this session has one, and return its number or null. Only
	 * with a seat, replace the share of the observer key by a share of the candidate key.
	 * If a foreign session prevents this, the session remains a node.
	 * @param seats the seats that this node may take, in order
	 */
	String becomeCandidate(List<Integer> seats) {
		return """
				SELECT seat, CASE WHEN seat IS NULL THEN NULL
				  WHEN candidate OR pg_catalog.pg_try_advisory_lock_shared(%1$s)
				  THEN CASE WHEN observer THEN pg_catalog.pg_advisory_unlock_shared(%2$s, %3$s) END
				  ELSE observer OR pg_catalog.pg_try_advisory_lock_shared(%2$s, %3$s) END AS done
				FROM (SELECT candidate, observer, CASE WHEN own.seat IS NOT NULL THEN own.seat ELSE
				    (SELECT number FROM pg_catalog.unnest(ARRAY%4$s) AS number
				      WHERE pg_catalog.pg_try_advisory_lock(%2$s, number) LIMIT 1) END AS seat
				  FROM (%5$s) AS own OFFSET 0) AS own
				""".formatted(this.keys.candidate(), this.keys.observerClass(), ElectionKeys.OBSERVER, seats,
				ownKeys());
	}

	/**
	 * Publish the profile of this node, before it becomes a candidate. This must not fail
	 * if the server has no space for another lock.
	 * @param fast whether a takeover from this session is fast
	 */
	String publish(NodeProfile profile, boolean fast) {
		return """
				DO $publish$
				BEGIN
				  PERFORM pg_catalog.pg_try_advisory_lock_shared(%s, %s);
				EXCEPTION WHEN OTHERS THEN
				  NULL;
				END $publish$;
				""".formatted(this.keys.observerClass(), Profiles.key(profile, fast));
	}

	/**
	 * Free the seat, and replace the share of the candidate key by a share of the
	 * observer key.
	 */
	String withdraw() {
		return """
				SELECT observer OR pg_catalog.pg_try_advisory_lock_shared(%2$s, %3$s) AS done,
				  CASE WHEN candidate THEN pg_catalog.pg_advisory_unlock_shared(%1$s) END,
				  CASE WHEN seat IS NOT NULL THEN pg_catalog.pg_advisory_unlock(%2$s, seat) END
				FROM (%4$s) AS own
				""".formatted(this.keys.candidate(), this.keys.observerClass(), ElectionKeys.OBSERVER, ownKeys());
	}

	/**
	 * Return a query for the keys that this session holds as a node, so that a cancelled
	 * statement can run again.
	 */
	private String ownKeys() {
		return """
				SELECT count(*) FILTER (WHERE %s) > 0 AS candidate, count(*) FILTER (WHERE %s) > 0 AS observer,
				  (min(objid::bigint) FILTER (WHERE %s))::int AS seat
				FROM %s AND pid = pg_catalog.pg_backend_pid()
				""".formatted(share(ElectionKeys.bigint(this.keys.candidate())), share(observerKey()),
				"mode = 'ExclusiveLock' AND " + anySeat(), this.locks);
	}

	private String anySeat() {
		return "objsubid = 2 AND classid = " + ElectionKeys.unsigned(this.keys.observerClass()) + " AND objid >= "
				+ ElectionKeys.FIRST_SEAT + " AND objid < 2147483648";
	}

	/**
	 * Return a query for the holder of the main key, the nodes, the holders of seats and
	 * the number of seats that are taken. It runs without a session, on any connection to
	 * the database: in a session of the application, with its search path, and as one
	 * statement, since the next one may run in another session.
	 * @param seats the seats that this node may take
	 */
	String watch(List<Integer> seats) {
		String seat = "objsubid OPERATOR(pg_catalog.=) 2 AND classid OPERATOR(pg_catalog.=) "
				+ ElectionKeys.unsigned(this.keys.observerClass()) + " AND objid OPERATOR(pg_catalog.=) ANY (ARRAY"
				+ seats + ")";
		return """
				WITH locks AS MATERIALIZED (SELECT pid, mode, objsubid::pg_catalog.int8 AS objsubid,
				    classid::pg_catalog.int8 AS classid, objid::pg_catalog.int8 AS objid FROM pg_catalog.pg_locks
				  WHERE locktype OPERATOR(pg_catalog.=) 'advisory' AND granted
				    AND database::pg_catalog.int8 OPERATOR(pg_catalog.=) %1$s)
				SELECT pg_catalog.pg_is_in_recovery() AS in_recovery,
				  (SELECT oid::pg_catalog.int8 FROM pg_catalog.pg_database
				    WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()) AS database,
				  extract(epoch FROM pg_catalog.pg_postmaster_start_time())::pg_catalog.text AS started,
				  pg_catalog.min(pid) FILTER (WHERE %2$s) AS holder,
				  pg_catalog.max(objid) FILTER (WHERE objsubid OPERATOR(pg_catalog.=) 2
				    AND classid OPERATOR(pg_catalog.=) %7$s AND objid OPERATOR(pg_catalog.<) 2147483648
				    AND mode OPERATOR(pg_catalog.=) 'ExclusiveLock') AS term,
				  %3$s AS candidates,
				  %4$s AS observers,
				  %6$s AS seats,
				  pg_catalog.count(DISTINCT objid) FILTER (WHERE %5$s) AS taken
				FROM locks
				""".formatted(this.server.database(), key(this.keys.main()),
				qualifiedPids("mode OPERATOR(pg_catalog.=) 'ShareLock' AND " + key(this.keys.candidate())),
				qualifiedPids("mode OPERATOR(pg_catalog.=) 'ShareLock' AND "
						+ key("locks", 2, ElectionKeys.unsigned(this.keys.observerClass()), ElectionKeys.OBSERVER)),
				seat, qualifiedPids("mode OPERATOR(pg_catalog.=) 'ExclusiveLock' AND " + seat),
				ElectionKeys.unsigned(this.keys.termClass()));
	}

	/**
	 * Return a query for whether no seat is free and the session of a term lives. It does
	 * not read the locks, of which there may be many, but tries to share these keys until
	 * its transaction ends. Such a share is no sign of a term or of a node with a seat.
	 * On another database, the key of the term is free.
	 */
	String isUnchanged(List<Integer> seats, Term term) {
		return """
				SELECT NOT EXISTS (SELECT FROM pg_catalog.unnest(ARRAY%s) AS number
				    WHERE pg_catalog.pg_try_advisory_xact_lock_shared(%s, number))
				  AND NOT pg_catalog.pg_try_advisory_xact_lock_shared(%s, %s)
				""".formatted(seats, this.keys.observerClass(), this.keys.termClass(), termObject(term));
	}

	private static String key(long key) {
		return key("locks", 1, key >>> 32, key & 0xFFFFFFFFL);
	}

	private static String qualifiedPids(String condition) {
		return "pg_catalog.string_agg(pid::pg_catalog.text, ',' ORDER BY pid) FILTER (WHERE " + condition + ")";
	}

	/**
	 * Wait for the main key, then take it for the session and issue the term.
	 * @param waitMillis how long to wait
	 * @param seat the seat of this session, or 0
	 * @param priority the priority of this node
	 * @param predecessor the leader whose end is to be examined if this node wins
	 * @param term the second half of the key of the term to observe if this node does not
	 * win, or 0 if an answer is required
	 */
	String acquire(long waitMillis, int seat, int priority, @Nullable Predecessor predecessor, int term) {
		return this.acquiring.text(waitMillis, seat, priority, predecessor, term);
	}

	/**
	 * Return the settings that {@link #acquire} depends on, to be applied with those of
	 * the session. Blocks are sent so often that parsing each expression when a block is
	 * compiled, and again when it runs, would cost more than running it.
	 */
	Map<String, String> acquiring() {
		return Map.of(AcquiringStatement.WIN, this.acquiring.win(), "check_function_bodies", "off");
	}

	/**
	 * Return a query for whether this session holds any key exclusively, besides a seat.
	 */
	String holdsAny() {
		return "SELECT count(*) > 0 AS holds FROM " + this.locks
				+ " AND pid = pg_catalog.pg_backend_pid() AND mode = 'ExclusiveLock' AND NOT (" + anySeat() + ")";
	}

	/**
	 * Return a query for the holder of the main key, the head of the queue and the nodes.
	 */
	String observe() {
		return "SELECT min(pid) FILTER (WHERE %s AND pid <> pg_catalog.pg_backend_pid()) AS holder, "
			.formatted(ElectionKeys.bigint(this.keys.main()))
				+ "max(objid::bigint) FILTER (WHERE %s AND objid <> %s) AS term, %s AS head, %s, %s FROM %s".formatted(
						"mode = 'ExclusiveLock' AND " + anyTerm(this.keys), ElectionKeys.unsigned(ElectionKeys.CLEAN),
						pids(ElectionKeys.pair(this.keys.requestClass(), ElectionKeys.HEAD)), nodes(),
						ServerInspection.THRESHOLD + " AS threshold", this.locks);
	}

	private String nodes() {
		return pids(share(ElectionKeys.bigint(this.keys.candidate()))) + " AS candidates, " + pids(share(observerKey()))
				+ " AS observers";
	}

	String login() {
		return this.server.login();
	}

	/**
	 * Return a query for the nodes of the given sessions and for the data of their terms.
	 * The view {@code pg_stat_activity} would lock shared catalogs, for which the server
	 * may have no space left in its lock table. May also run in a session of the
	 * application, with its search path.
	 */
	String describe(Collection<Integer> pids) {
		return """
				WITH locks AS MATERIALIZED (SELECT pid, mode, classid::pg_catalog.int8 AS classid,
				    objid::pg_catalog.int8 AS objid FROM pg_catalog.pg_locks
				  WHERE locktype OPERATOR(pg_catalog.=) 'advisory' AND granted
				    AND database::pg_catalog.int8 OPERATOR(pg_catalog.=) %3$s
				    AND objsubid::pg_catalog.int8 OPERATOR(pg_catalog.=) 2)
				SELECT activity.pid, activity.application_name, activity.query,
				  pg_catalog.pg_get_userbyid(activity.usesysid) AS role,
				  pg_catalog.min(objid) FILTER (WHERE classid OPERATOR(pg_catalog.=) %1$s
				    AND mode OPERATOR(pg_catalog.=) 'ExclusiveLock' AND objid OPERATOR(pg_catalog.<) 2147483648) AS term,
				  pg_catalog.min(objid) FILTER (WHERE classid OPERATOR(pg_catalog.=) %2$s
				    AND objid OPERATOR(pg_catalog.<) 2147483648) AS since,
				  pg_catalog.min(4294967295 OPERATOR(pg_catalog.-) objid) FILTER (WHERE classid OPERATOR(pg_catalog.=) %2$s
				    AND objid OPERATOR(pg_catalog.>=) 2147483648) AS notice,
				  pg_catalog.min(objid) FILTER (WHERE classid OPERATOR(pg_catalog.=) %5$s
				    AND objid OPERATOR(pg_catalog.>=) 2147483648) AS profile
				FROM pg_catalog.pg_stat_get_activity(NULL) AS activity
				  LEFT JOIN locks ON locks.pid OPERATOR(pg_catalog.=) activity.pid
				WHERE %4$s GROUP BY activity.pid, activity.application_name, activity.usesysid, activity.query
				"""
			.formatted(ElectionKeys.unsigned(this.keys.termClass()), ElectionKeys.unsigned(this.keys.noticeClass()),
					this.server.database(), anyOf(pids), ElectionKeys.unsigned(this.keys.observerClass()));
	}

	/**
	 * Return a query for the application names, the roles and the last statements of
	 * sessions.
	 */
	String nameSessions(Collection<Integer> pids) {
		return """
				SELECT pid, application_name, pg_catalog.pg_get_userbyid(usesysid) AS role, query
				FROM pg_catalog.pg_stat_get_activity(NULL) AS activity WHERE %s
				""".formatted(anyOf(pids));
	}

	private static String anyOf(Collection<Integer> pids) {
		return "activity.pid OPERATOR(pg_catalog.=) ANY (ARRAY["
				+ pids.stream().map(String::valueOf).collect(Collectors.joining(",")) + "])";
	}

	/**
	 * Verify that this is the session that won, that no other session holds one of its
	 * keys and that the server would end it when it is silent. Does not read the locks,
	 * of which there may be many, but tries to take both keys again until its transaction
	 * ends: for the session that holds them, the server only counts that. A session that
	 * has lost them would take them for a moment; {@link #confirmAll} finds that. The key
	 * of a request is shared by this session, so that a try to take it exclusively fails
	 * if another one shares it too, and needs no space in the lock table.
	 * @param number returned with the answer, to match it with this statement
	 */
	String confirm(Term term, long number) {
		return """
				SELECT %1$s,
				  CASE WHEN pg_catalog.pg_try_advisory_xact_lock(%2$s)
				    THEN pg_catalog.pg_try_advisory_xact_lock(%3$s, %5$s) ELSE false END AS held,
				  NOT pg_catalog.pg_try_advisory_xact_lock(%4$s, %5$s) AS requested
				""".formatted(identity(number), this.keys.main(), this.keys.termClass(), this.keys.requestClass(),
				termObject(term));
	}

	private static String identity(long number) {
		return """
				pg_catalog.pg_backend_pid() AS pid, pg_catalog.pg_is_in_recovery() AS in_recovery,
				  pg_catalog.current_setting('%s', true) AS token, %s AS number,
				  pg_catalog.current_setting('idle_session_timeout') AS idle_session_timeout,
				  pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle_in_transaction"""
			.formatted(TOKEN, number);
	}

	/**
	 * Verify what {@link #confirm} does, and that the session itself holds both keys.
	 * Also read the other sessions that hold a key of a term or a marker, the sessions
	 * that have a seat, or hold the fence key exclusively or wait to do so, the sessions
	 * that request the end of the term, and the nodes. A share of the key of a term
	 * belongs to a transaction that was refused by the fence, and not to a term.
	 * @param number returned with the answer, to match it with this statement
	 */
	String confirmAll(Term term, long number) {
		String others = "pid <> pg_catalog.pg_backend_pid()";
		return """
				SELECT %s,
				  count(*) FILTER (WHERE mode = 'ExclusiveLock' AND pid = pg_catalog.pg_backend_pid()
				    AND (%s OR %s)) = 2 AS held,
				  %s AS predecessors,
				  %s AS others,
				  %s AS requests,
				  %s
				FROM %s AND (granted OR %s)
				""".formatted(identity(number), ElectionKeys.bigint(this.keys.main()),
				ElectionKeys.pair(this.keys.termClass(), termObject(term)),
				pids("mode = 'ExclusiveLock' AND " + others + " AND " + anyTerm(this.keys)),
				pids("mode = 'ExclusiveLock' AND " + others + " AND (" + ElectionKeys.bigint(this.keys.fence())
						+ " OR (" + anySeat() + "))"),
				pids(others + " AND " + ElectionKeys.pair(this.keys.requestClass(), termObject(term))), nodes(),
				this.allLocks, ElectionKeys.bigint(this.keys.fence()));
	}

	/**
	 * Wait until no session shares the fence key. Uses a transaction-level lock, so that
	 * no lock remains if a timeout and the grant of the lock coincide.
	 * <p>
	 * No timeout of the server runs between two messages of one request. A session that
	 * has waited for the rest of a request for longer than the lease would block the
	 * grant until TCP detects the failure. Such a session is ended; its transaction is
	 * either not committed or has already been committed.
	 */
	String passBarrier(long waitMillis, long leaseMillis) {
		return """
				DO $barrier$
				DECLARE
				  stuck int;
				BEGIN
				  BEGIN
				    PERFORM pg_catalog.set_config('lock_timeout', '%1$s', true);
				    PERFORM pg_catalog.pg_advisory_xact_lock(%2$s);
				    PERFORM pg_catalog.set_config('%3$s', 'passed', false);
				    RETURN;
				  EXCEPTION WHEN lock_not_available OR query_canceled THEN
				    PERFORM pg_catalog.set_config('%3$s', 'blocked', false);
				  END;
				  BEGIN
				    FOR stuck IN SELECT pid FROM pg_catalog.pg_stat_get_activity(NULL)
				        WHERE pid IN (SELECT pid FROM %4$s AND pid <> pg_catalog.pg_backend_pid() AND %5$s)
				          AND state = 'active' AND wait_event = 'ClientRead'
				          AND state_change < pg_catalog.clock_timestamp() - interval '%6$s ms' LOOP
				      BEGIN
				        PERFORM pg_catalog.pg_terminate_backend(stuck);
				      EXCEPTION WHEN insufficient_privilege OR query_canceled THEN
				        NULL;
				      END;
				    END LOOP;
				  EXCEPTION WHEN insufficient_privilege THEN
				    NULL;
				  END;
				END $barrier$;
				SELECT pg_catalog.current_setting('%3$s') AS outcome,
				  (SELECT min(pid) FROM %4$s AND pid <> pg_catalog.pg_backend_pid() AND %5$s) AS holder
				""".formatted(waitMillis, this.keys.fence(), OUTCOME, this.locks,
				ElectionKeys.bigint(this.keys.fence()), leaseMillis);
	}

	/**
	 * Free the keys, the main key last. If the term ended cleanly and still held its
	 * lock, set a marker before that. From here on the session has a shorter idle
	 * timeout: if this node stops now, the marker must not block the successor for the
	 * length of a lease. Then wait until a successor has its term, or until no successor
	 * is to be expected, and remove the marker, for which the successor waits: on the
	 * server, this takes no round trip. Nothing depends on this wait, so an early end of
	 * it is not a failure. The wait is bounded by the clock, and by its number of steps
	 * in case the clock is set back.
	 * @param waitMillis how long to wait for a successor
	 */
	String release(Term term, boolean clean, long idleMillis, long waitMillis) {
		return """
				DO $release$
				DECLARE
				  main_held boolean;
				  term_held boolean;
				  marked boolean;
				  successors int := 0;
				  candidates int;
				  until timestamptz;
				BEGIN
				  PERFORM pg_catalog.set_config('idle_session_timeout', '%1$s', false);
				  SELECT count(*) FILTER (WHERE %8$s) > 0, count(*) FILTER (WHERE %9$s) > 0,
				    count(*) FILTER (WHERE %14$s) > 0 INTO main_held, term_held, marked
				    FROM %10$s AND pid = pg_catalog.pg_backend_pid() AND mode = 'ExclusiveLock';
				  IF %2$s AND main_held AND NOT marked THEN
				    marked := pg_catalog.pg_try_advisory_lock(%3$s, %4$s);
				  END IF;
				  IF term_held THEN
				    PERFORM pg_catalog.pg_advisory_unlock(%3$s, %5$s);
				  END IF;
				  IF main_held THEN
				    PERFORM pg_catalog.pg_advisory_unlock(%6$s);
				  END IF;
				  until := pg_catalog.clock_timestamp() + interval '%11$s ms';
				  BEGIN
				    BEGIN
				      FOR attempt IN 1..%11$s LOOP
				        SELECT count(*) FILTER (WHERE %12$s), count(*) FILTER (WHERE %13$s) INTO successors, candidates
				          FROM %10$s AND pid <> pg_catalog.pg_backend_pid();
				        EXIT WHEN successors > 0 OR candidates = 0 OR pg_catalog.clock_timestamp() >= until;
				        PERFORM pg_catalog.pg_sleep(CASE WHEN attempt <= 10 THEN '0.001'::pg_catalog.float8 ELSE '0.01' END);
				      END LOOP;
				    EXCEPTION WHEN query_canceled OR OTHERS THEN
				      NULL;
				    END;
				  EXCEPTION WHEN query_canceled THEN
				    NULL;
				  END;
				  IF marked AND (successors > 0 OR candidates = 0) THEN
				    PERFORM pg_catalog.pg_advisory_unlock(%3$s, %4$s);
				  END IF;
				  PERFORM pg_catalog.set_config('%7$s', (successors > 0)::text, false);
				END $release$;
				SELECT pg_catalog.current_setting('%7$s')::boolean AS succeeded
				"""
			.formatted(idleMillis, clean, this.keys.termClass(), ElectionKeys.CLEAN, termObject(term), this.keys.main(),
					OUTCOME, ElectionKeys.bigint(this.keys.main()),
					ElectionKeys.pair(this.keys.termClass(), termObject(term)), this.locks, waitMillis,
					"mode = 'ExclusiveLock' AND " + anyTerm(this.keys) + " AND objid <> "
							+ ElectionKeys.unsigned(ElectionKeys.CLEAN),
					share(ElectionKeys.bigint(this.keys.candidate())),
					ElectionKeys.pair(this.keys.termClass(), ElectionKeys.CLEAN));
	}

	/**
	 * Return a query for the foreign session that holds the fence key exclusively or
	 * waits to do so, while the key of the term is still held. Runs in a transaction of
	 * the application, with its search path.
	 */
	static String foreignFenceHolder(ElectionKeys keys, long database, Term term) {
		return """
				WITH locks AS MATERIALIZED (SELECT pid, mode, granted, objsubid::pg_catalog.int8 AS objsubid,
				    classid::pg_catalog.int8 AS classid, objid::pg_catalog.int8 AS objid FROM pg_catalog.pg_locks
				  WHERE locktype OPERATOR(pg_catalog.=) 'advisory'
				    AND database::pg_catalog.int8 OPERATOR(pg_catalog.=) %1$s)
				SELECT activity.pid, activity.application_name, pg_catalog.pg_get_userbyid(activity.usesysid) AS role
				FROM locks AS fence, pg_catalog.pg_stat_get_activity(NULL) AS activity
				WHERE fence.mode OPERATOR(pg_catalog.=) 'ExclusiveLock' AND %2$s
				  AND activity.pid OPERATOR(pg_catalog.=) fence.pid
				  AND EXISTS (SELECT FROM locks AS term
				    WHERE term.granted AND term.mode OPERATOR(pg_catalog.=) 'ExclusiveLock' AND %3$s)
				  AND NOT EXISTS (SELECT FROM locks AS node WHERE node.pid OPERATOR(pg_catalog.=) activity.pid
				    AND node.granted AND node.mode OPERATOR(pg_catalog.=) 'ShareLock' AND (%4$s OR %5$s))
				LIMIT 1
				""".formatted(database, key("fence", 1, keys.fence() >>> 32, keys.fence() & 0xFFFFFFFFL),
				key("term", 2, ElectionKeys.unsigned(keys.termClass()), termObject(term)),
				key("node", 1, keys.candidate() >>> 32, keys.candidate() & 0xFFFFFFFFL),
				key("node", 2, ElectionKeys.unsigned(keys.observerClass()), ElectionKeys.OBSERVER));
	}

	/**
	 * Return the condition for a key, independent of the search path.
	 */
	private static String key(String table, int parts, long first, long second) {
		return "(%1$s.objsubid %2$s %3$s AND %1$s.classid %2$s %4$s AND %1$s.objid %2$s %5$s)".formatted(table,
				"OPERATOR(pg_catalog.=)", parts, first, second);
	}

	static String locks(ServerInspection server) {
		return "pg_catalog.pg_locks WHERE locktype = 'advisory' AND database = " + server.database();
	}

	static String anyTerm(ElectionKeys keys) {
		return "objsubid = 2 AND classid = " + ElectionKeys.unsigned(keys.termClass());
	}

	private static int termObject(Term term) {
		return ElectionKeys.termObject(term.timeline(), term.transactionId());
	}

	private String observerKey() {
		return ElectionKeys.pair(this.keys.observerClass(), ElectionKeys.OBSERVER);
	}

	private static String pids(String condition) {
		return "string_agg(pid::text, ',' ORDER BY pid) FILTER (WHERE " + condition + ")";
	}

	private static String share(String key) {
		return "(mode = 'ShareLock' AND " + key + ")";
	}

}
