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

import org.jspecify.annotations.Nullable;

/**
 * The text of the statement that waits for the main key, takes it for the session and
 * issues the term: a wait at the head of the queue, one look at the locks, the term, and
 * the end of the predecessor.
 */
final class AcquiringStatement {

	private static final String TRANSACTION_ID = "pg_catalog.pg_current_xact_id()::text::bigint";

	private static final String MESSAGE = "pg_catalog.pg_logical_emit_message(true, 'leader_election', term::text)";

	/**
	 * False on a primary, but not before execution, so that the server does not optimize
	 * the branch away.
	 */
	private static final String NEVER = "pg_catalog.pg_is_in_recovery()";

	private final ElectionKeys keys;

	private final ServerInspection server;

	private final boolean warmUp;

	/**
	 * Create a new {@code AcquiringStatement} instance.
	 * @param warmUp whether it neither assigns a transaction id nor writes a message
	 */
	AcquiringStatement(ElectionKeys keys, ServerInspection server, boolean warmUp) {
		this.keys = keys;
		this.server = server;
		this.warmUp = warmUp;
	}

	/**
	 * Return the text.
	 * <p>
	 * The session first waits for transaction-level locks, in a sub-block: if a timeout
	 * and the grant of the lock coincide, the rollback of the sub-block frees the lock,
	 * whereas a session-level lock would remain. There are two such blocks, since the
	 * server signals a session and its process group when it cancels, and may therefore
	 * cancel twice. The session-level lock is taken second, when it no longer has to
	 * wait.
	 * <p>
	 * The seat is freed last: until here, a cancelled statement has left the session as
	 * it was before, or with the main key.
	 * @param waitMillis how long to wait
	 * @param seat the seat of this session, or 0
	 * @param priority the priority of this node
	 * @param predecessor the leader whose end is to be examined if this node wins
	 */
	String text(long waitMillis, int seat, int priority, @Nullable Predecessor predecessor) {
		return """
				DO $acquire$
				DECLARE
				  term bigint;
				  timeline bigint;
				  clean boolean;
				  clear boolean;
				  preceded boolean;
				  baseline text;
				  abandoned boolean := false;
				BEGIN
				  BEGIN
				    BEGIN
				%s    EXCEPTION WHEN lock_not_available OR query_canceled THEN
				%s    END;
				  EXCEPTION WHEN query_canceled THEN
				%s  END;
				  PERFORM pg_catalog.pg_advisory_lock(%d);
				%s%s%s%s  PERFORM pg_catalog.set_config('%s', 'won', false);
				  RAISE INFO '%s%%:%%:%%:%%:%%', timeline, term, clean::text, clear::text, abandoned::text;
				END $acquire$;
				""".formatted(waitForMain(waitMillis, predecessor), notWon(), notWon(), this.keys.main(),
				look(priority), issueTerm(), (predecessor != null) ? examine(predecessor) : "", freeSeat(seat),
				AdvisoryLockSql.OUTCOME, AdvisoryLockSql.ANSWER);
	}

	private static String notWon() {
		return """
				      PERFORM pg_catalog.set_config('%s', '', false);
				      RAISE INFO '%s';
				      RETURN;
				""".formatted(AdvisoryLockSql.OUTCOME, AdvisoryLockSql.ANSWER);
	}

	/**
	 * Wait for the head of the queue, and there for the main key. Otherwise two terms
	 * could begin and end within one wait, and the predecessor of a winner would not be
	 * known.
	 * <p>
	 * The ends of sessions are counted before the predecessor is found to hold both of
	 * its keys, so that its own end is not among them. The key of its term alone would
	 * not be sufficient: a session that ends may free the main key first, and another
	 * term may begin and end before it frees the other one.
	 */
	private String waitForMain(long waitMillis, @Nullable Predecessor predecessor) {
		String count = (predecessor != null) ? """
				      baseline := %s;
				      IF (SELECT count(*) <> 2 FROM %s AND granted AND mode = 'ExclusiveLock' AND pid = %d
				          AND (%s OR %s)) THEN
				        baseline := NULL;
				      END IF;
				""".formatted(endings(), AdvisoryLockSql.locks(this.server), predecessor.pid(),
				AdvisoryLockSql.bigint(this.keys.main()),
				AdvisoryLockSql.pair(this.keys.termClass(), predecessor.termObject())) : "";
		return """
				      PERFORM pg_catalog.set_config('lock_timeout', '%1$d', true);
				      PERFORM pg_catalog.pg_advisory_xact_lock(%2$d, %3$d);
				%4$s      PERFORM pg_catalog.set_config('lock_timeout', greatest(1, least(%1$d, %1$d - 1000 * extract(
				          epoch FROM pg_catalog.clock_timestamp() - pg_catalog.statement_timestamp())))::int::text, true);
				      PERFORM pg_catalog.pg_advisory_xact_lock(%5$d);
				"""
			.formatted(waitMillis, this.keys.requestClass(), ElectionKeys.HEAD, count, this.keys.main());
	}

	/**
	 * Read the locks once. If a candidate of higher priority waits in the queue, the main
	 * key is left to it before anything else has changed: the server passes it on with
	 * the end of this transaction. This happens before the key of the term is taken,
	 * since the predecessor removes its marker as soon as it observes that key. It
	 * happens after the main key is taken, since no other session takes a key of a term
	 * without it. A marker does not count as a key of an earlier term here: it does not
	 * let a transaction pass the fence, and in an orderly hand-over it is set when the
	 * main key is freed last. What matters is whether its session still holds a key of a
	 * term. (The grant still waits for the removal of the marker, see
	 * {@link AdvisoryLockSql#confirm}: it must not be mistaken for the marker of a later
	 * term.)
	 */
	private String look(int priority) {
		return """
				  SELECT count(*) FILTER (WHERE %1$s AND objid = %2$d) > 0,
				      count(*) FILTER (WHERE %1$s AND objid <> %2$d) = 0,
				      array_agg(pid) FILTER (WHERE NOT granted AND (%3$s OR %4$s)) && array_agg(pid) FILTER (WHERE %5$s)
				    INTO clean, clear, preceded FROM %6$s AND pid <> pg_catalog.pg_backend_pid();
				  IF preceded THEN
				    PERFORM pg_catalog.pg_advisory_unlock(%7$d);
				%8$s  END IF;
				""".formatted("granted AND mode = 'ExclusiveLock' AND " + AdvisoryLockSql.anyTerm(this.keys),
				AdvisoryLockSql.unsigned(ElectionKeys.CLEAN), AdvisoryLockSql.bigint(this.keys.main()),
				AdvisoryLockSql.pair(this.keys.requestClass(), ElectionKeys.HEAD), higherPriority(priority),
				AdvisoryLockSql.locks(this.server), this.keys.main(), notWon());
	}

	/**
	 * Issue the term and take its key. Only if no key of an earlier term is left, the
	 * fence key is tried: in the reverse order, a transaction could pass the fence in
	 * between.
	 * <p>
	 * The transaction id is obtained after the lock, since it could be older than that of
	 * the predecessor otherwise. Notices give the other nodes the data that the key of
	 * the term does not contain. They must not fail, since nothing depends on them. The
	 * message has the commit flush the transaction: an id alone is lost in a crash and
	 * issued again.
	 * <p>
	 * The answer is a message of level {@code INFO}, which the server sends for every
	 * value of {@code client_min_messages} and does not log by default. A {@code DO}
	 * block returns no row, and a separate statement would be an additional one in each
	 * wait.
	 */
	private String issueTerm() {
		String timeline = this.server.timelines() ? AdvisoryLockSql.TIMELINE : "0";
		String transactionId = this.warmUp
				? "CASE WHEN " + NEVER + " THEN " + TRANSACTION_ID
						+ " ELSE pg_catalog.pg_snapshot_xmax(pg_catalog.pg_current_snapshot())::text::bigint END"
				: TRANSACTION_ID;
		String message = this.warmUp ? "CASE WHEN " + NEVER + " THEN " + MESSAGE + " END" : MESSAGE;
		return """
				  term := %1$s;
				  timeline := %2$s;
				  IF NOT pg_catalog.pg_try_advisory_lock(%3$d, ((term + (timeline - 1) * %4$d) & 2147483647)::int) THEN
				    RAISE EXCEPTION 'the key of term %% is in use', term;
				  END IF;
				  PERFORM pg_catalog.pg_try_advisory_lock_shared(%5$d,
				    ((extract(epoch FROM pg_catalog.clock_timestamp())::bigint - %6$d) & 2147483647)::int);
				  IF timeline >> %7$d = 0 AND (term >> 31) >> (31 - %7$d) = 0 THEN
				    PERFORM pg_catalog.pg_try_advisory_lock_shared(%5$d,
				      (-1 - ((term >> 31 << %7$d) | timeline))::int);
				  END IF;
				  PERFORM %8$s;
				  IF clear THEN
				    clear := pg_catalog.pg_try_advisory_xact_lock(%9$d);
				  END IF;
				""".formatted(transactionId, timeline, this.keys.termClass(), ElectionKeys.TIMELINE_DISTANCE,
				this.keys.noticeClass(), ElectionKeys.NOTICE_EPOCH, ElectionKeys.TIMELINE_BITS, message,
				this.keys.fence());
	}

	/**
	 * Determine whether the session of the predecessor was ended by its own side. The
	 * server frees its locks first, then counts its end, and last removes its process id
	 * from the activity, usually within 3 ms. If nothing was counted that the server
	 * causes, the predecessor has no connection any longer, and knows it. The end of any
	 * other session has the same effect as that of the predecessor, and a reset of the
	 * counters too: the winner only waits for longer.
	 */
	private String examine(Predecessor predecessor) {
		return """
				  IF baseline IS NOT NULL THEN
				    FOR i IN 1..20 LOOP
				      PERFORM pg_catalog.pg_stat_clear_snapshot();
				      IF NOT EXISTS (SELECT FROM pg_catalog.pg_stat_get_activity(%d)) THEN
				        abandoned := baseline = %s;
				        EXIT;
				      END IF;
				      PERFORM pg_catalog.pg_sleep(0.001);
				    END LOOP;
				  END IF;
				""".formatted(predecessor.pid(), endings());
	}

	/**
	 * Return an expression for the number of sessions that the server has ended, with the
	 * time from which it counts (PostgreSQL manual, section "The Cumulative Statistics
	 * System").
	 */
	private String endings() {
		long database = this.server.database();
		return """
				pg_catalog.concat_ws(' ', pg_catalog.pg_stat_get_db_sessions_killed(%1$d),
				        pg_catalog.pg_stat_get_db_sessions_fatal(%1$d), pg_catalog.pg_stat_get_db_stat_reset_time(%1$d))"""
			.formatted(database);
	}

	private String freeSeat(int seat) {
		return (seat != 0)
				? "  PERFORM pg_catalog.pg_advisory_unlock(%d, %d);\n".formatted(this.keys.observerClass(), seat) : "";
	}

	private String higherPriority(int priority) {
		return "mode = 'ShareLock' AND objsubid = 2 AND classid = %d AND objid::bigint >> %d = %d AND ((objid::bigint >> 8) & 255) > %d"
			.formatted(AdvisoryLockSql.unsigned(this.keys.observerClass()), Profiles.BITS, Profiles.HEADER, priority);
	}

}
