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

import java.util.HashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.Profiles;
import io.leaderelection.postgresql.ServerInspection;
import org.jspecify.annotations.Nullable;

/**
 * The text of the statement that waits for the main key, takes it for the session and
 * issues the term. Its steps, in this order:
 * <ol>
 * <li><b>Wait.</b> Transaction-level locks are taken in a sub-block: if a timeout and the
 * grant of the lock coincide, the rollback of the sub-block frees the lock, whereas a
 * session-level lock would remain. There are two such blocks, since the server signals a
 * session and its process group when it cancels, and may therefore cancel twice. Only the
 * candidate that holds the key of the head waits for the main key: otherwise two terms
 * could begin and end within one wait, and the predecessor of a winner would not be
 * known. A session that was reset has lost the setting with what follows. Its statement
 * fails before it waits, since the timeout is not valid.
 * <p>
 * Between both waits (the executor evaluates a list in order), the statement reads how
 * many sessions have ended, and only then, as {@code CASE} guarantees, tries to share the
 * key of the term of the predecessor. If that is still held, its own end is not counted,
 * and no later term has begun.
 * <li><b>Take the main key for the session,</b> which no longer has to wait.
 * <li><b>Read the locks.</b> If a candidate of higher priority waits in the queue, the
 * main key is left to it before anything else has changed: the server passes it on with
 * the end of this transaction. This happens before the key of the term is taken, since
 * the predecessor removes its marker as soon as it observes that key. It happens after
 * the main key is taken, since no other session takes a key of a term without it. A
 * marker does not count as a key of an earlier term here: it does not let a transaction
 * pass the fence, and in an orderly hand-over it is set when the main key is freed last.
 * What matters is whether its session still holds a key of a term. (The grant still waits
 * for the removal of the marker, see {@link AdvisoryLockSql#confirmAll}: it must not be
 * mistaken for the marker of a later term.)
 * <li><b>Leave the main key if an earlier term has not ended.</b> A session that ends
 * frees its locks one by one, usually within 1 ms. While one holds the key of a term, no
 * later term begins, so that the look at the predecessor is sufficient.
 * <li><b>Issue the term</b> and take its key. The transaction id is obtained after the
 * lock, since it could be older than that of the predecessor otherwise. Notices give the
 * other nodes the data that the key of the term does not contain; they must not fail,
 * since nothing depends on them. The message has the commit flush the transaction: an id
 * alone is lost in a crash and issued again.
 * <li><b>Try the fence key.</b> No key of an earlier term is left: in the reverse order,
 * a transaction could pass the fence in between.
 * <li><b>Examine how the predecessor has ended,</b> unless its marker says so. The server
 * frees the locks of a session first, then counts its end, and last removes its process
 * id from the activity, usually within 3 ms (PostgreSQL manual, section "The Cumulative
 * Statistics System"). If nothing was counted that the server causes, the client, or
 * something between it and the server, has closed the connection. The end of any other
 * session has the same effect as that of the predecessor, and a reset of the counters
 * too: the winner only waits for longer.
 * <li><b>Free the seat</b> last: until here, a cancelled statement has left the session
 * as it was before, or with the main key.
 * </ol>
 * The answer is a message of level {@code INFO}, which the server sends for every value
 * of {@code client_min_messages} and does not log by default. A {@code DO} block returns
 * no row, and a separate statement would be an additional one in each wait.
 * <p>
 * The server parses and compiles a block each time. What follows a wait that has
 * succeeded is therefore not sent with it, but set once for the session and executed. The
 * setting is read before the wait: a session without it has been reset, and must not win.
 */
final class AcquiringStatement {

	/** The setting that contains what follows the wait. */
	static final String WIN = "leader_election.win";

	private static final String TEXT = """
			DO $acquire$
			BEGIN
			  BEGIN
			    BEGIN
			      PERFORM pg_catalog.set_config('lock_timeout', CASE WHEN pg_catalog.texteq(
			          pg_catalog.current_setting('${win}'), '') THEN 'the session was reset' ELSE '${wait}' END, true),
			        pg_catalog.pg_advisory_xact_lock(${head}), ${examine}
			        pg_catalog.set_config('lock_timeout', greatest(1, least(${wait}, ${wait} - extract(milliseconds
			          FROM pg_catalog.clock_timestamp() - pg_catalog.statement_timestamp())::int))::text, true),
			        pg_catalog.pg_advisory_xact_lock(${main});
			    EXCEPTION WHEN lock_not_available OR query_canceled THEN
			      ${observe}
			      RETURN;
			    END;
			  EXCEPTION WHEN query_canceled THEN
			    ${answer}
			    RETURN;
			  END;
			  PERFORM pg_catalog.pg_advisory_lock(${main}), pg_catalog.set_config('${examined}', '${predecessor}', true),
			    pg_catalog.set_config('${seat}', '${seatNumber}', true),
			    pg_catalog.set_config('${priority}', '${priorityNumber}', true);
			  EXECUTE pg_catalog.current_setting('${win}');
			END $acquire$;
			""";

	/**
	 * Remember what the server has counted, unless the key of the term is free
	 * afterwards.
	 */
	private static final String EXAMINE = """
			CASE WHEN pg_catalog.set_config('${baseline}', ${endings}, true) IS NULL THEN NULL
			    WHEN pg_catalog.pg_try_advisory_xact_lock_shared(${termClass}, ${termOfPredecessor})
			    THEN pg_catalog.set_config('${baseline}', '', true) END,""";

	/** Also shows that the client receives answers. */
	private static final String ANSWER = "RAISE INFO '" + AdvisoryLockSql.ANSWER + "';";

	private static final String OBSERVE = """
			IF pg_catalog.pg_try_advisory_xact_lock_shared(${termClass}, ${term}) THEN
			  RAISE INFO '${prefix}ended';
			END IF;""";

	private static final String WIN_TEXT = """
			DO $win$
			DECLARE
			  baseline text := nullif(pg_catalog.current_setting('${baseline}', true), '');
			  predecessor int := pg_catalog.current_setting('${examined}');
			  seat int := pg_catalog.current_setting('${seat}');
			  priority int := pg_catalog.current_setting('${priority}');
			  preceded boolean;
			  clean boolean;
			  clear boolean;
			  earlier int;
			  term bigint;
			  timeline bigint;
			  object int;
			  abandoned boolean := false;
			BEGIN
			  SELECT count(*) FILTER (WHERE ${isHeldTerm} AND objid = ${clean}) > 0,
			      count(*) FILTER (WHERE ${isHeldTerm} AND objid <> ${clean}) = 0,
			      array_agg(pid) FILTER (WHERE NOT granted AND (${isMain} OR ${isHead}))
			        && array_agg(pid) FILTER (WHERE ${isHigherPriority})
			    INTO clean, clear, preceded FROM ${locks} AND pid <> pg_catalog.pg_backend_pid();
			  IF preceded THEN
			    PERFORM pg_catalog.pg_advisory_unlock(${main});
			    RAISE INFO '${prefix}';
			    RETURN;
			  END IF;

			  FOR i IN 1..${looks} LOOP
			    EXIT WHEN clear;
			    PERFORM pg_catalog.pg_sleep('0.001');
			    SELECT count(*) = 0, min(pid) INTO clear, earlier FROM ${locks} AND pid <> pg_catalog.pg_backend_pid()
			      AND ${isHeldTerm} AND objid <> ${clean};
			  END LOOP;
			  IF NOT clear THEN
			    PERFORM pg_catalog.pg_advisory_unlock(${main});
			    RAISE INFO '${prefix}blocked %', earlier;
			    RETURN;
			  END IF;

			  term := pg_catalog.pg_current_xact_id()::text::bigint;
			  timeline := ${timeline};
			  object := (term + (timeline - 1) * ${timelineDistance}) & 2147483647;
			  IF NOT pg_catalog.pg_try_advisory_lock(${termClass}, object) THEN
			    RAISE EXCEPTION 'the key of term % is in use', term;
			  END IF;
			  PERFORM pg_catalog.pg_try_advisory_lock_shared(${requestClass}, object);
			  PERFORM pg_catalog.pg_try_advisory_lock_shared(${noticeClass},
			    ((extract(epoch FROM pg_catalog.clock_timestamp())::bigint - ${noticeEpoch}) & 2147483647)::int);
			  IF timeline >> ${timelineBits} = 0 AND (term >> 31) >> (31 - ${timelineBits}) = 0 THEN
			    PERFORM pg_catalog.pg_try_advisory_lock_shared(${noticeClass},
			      (-1 - ((term >> 31 << ${timelineBits}) | timeline))::int);
			  END IF;
			  PERFORM pg_catalog.pg_logical_emit_message(true, 'leader_election', term::text);

			  clear := pg_catalog.pg_try_advisory_xact_lock(${fence});

			  IF baseline IS NOT NULL AND NOT clean THEN
			    FOR i IN 1..20 LOOP
			      PERFORM pg_catalog.pg_stat_clear_snapshot();
			      IF NOT EXISTS (SELECT FROM pg_catalog.pg_stat_get_activity(predecessor)) THEN
			        abandoned := baseline = ${endings};
			        EXIT;
			      END IF;
			      PERFORM pg_catalog.pg_sleep('0.001');
			    END LOOP;
			  END IF;

			  IF seat <> 0 THEN
			    PERFORM pg_catalog.pg_advisory_unlock(${observerClass}, seat);
			  END IF;
			  RAISE INFO '${prefix}%:%:%:%:%', timeline, term, clean::text, clear::text, abandoned::text;
			END $win$;
			""";

	private static final Pattern PLACEHOLDER = Pattern.compile("\\$\\{(\\w+)}");

	private final String text;

	private final String examine;

	private final String observe;

	private final String win;

	AcquiringStatement(ElectionKeys keys, ServerInspection server) {
		Map<String, Object> values = new HashMap<>();
		values.put("main", keys.main());
		values.put("head", keys.requestClass() + ", " + ElectionKeys.HEAD);
		values.put("fence", keys.fence());
		values.put("termClass", keys.termClass());
		values.put("noticeClass", keys.noticeClass());
		values.put("observerClass", keys.observerClass());
		values.put("clean", ElectionKeys.unsigned(ElectionKeys.CLEAN));
		values.put("timelineDistance", ElectionKeys.TIMELINE_DISTANCE);
		values.put("timelineBits", ElectionKeys.TIMELINE_BITS);
		values.put("noticeEpoch", ElectionKeys.NOTICE_EPOCH);
		values.put("locks", AdvisoryLockSql.locks(server));
		values.put("isMain", ElectionKeys.bigint(keys.main()));
		values.put("isHead", ElectionKeys.pair(keys.requestClass(), ElectionKeys.HEAD));
		values.put("isHeldTerm", "granted AND mode = 'ExclusiveLock' AND " + AdvisoryLockSql.anyTerm(keys));
		values.put("isHigherPriority",
				"mode = 'ShareLock' AND objsubid = 2 AND classid = %s AND objid::bigint >> %s = %s AND ((objid::bigint >> 8) & 255) > priority"
					.formatted(ElectionKeys.unsigned(keys.observerClass()), Profiles.BITS, Profiles.PREFIX));
		values.put("endings", endings(server.database()));
		values.put("timeline", server.timelines() ? ServerInspection.TIMELINE : "0");
		values.put("requestClass", keys.requestClass());
		values.put("looks", server.mayExecute("pg_sleep") ? 20 : 0);
		values.put("win", WIN);
		values.put("baseline", "leader_election.baseline");
		values.put("examined", "leader_election.predecessor");
		values.put("seat", "leader_election.seat");
		values.put("priority", "leader_election.priority");
		values.put("prefix", AdvisoryLockSql.ANSWER);
		values.put("answer", ANSWER);
		// A server may log it
		this.text = compact(TEXT, values);
		this.examine = compact(EXAMINE, values);
		this.observe = compact(OBSERVE, values);
		this.win = compact(WIN_TEXT, values);
	}

	/**
	 * Return what follows the wait, the value of the setting {@link #WIN}.
	 */
	String win() {
		return this.win;
	}

	/**
	 * Return the text.
	 * @param waitMillis how long to wait
	 * @param seat the seat of this session, or 0
	 * @param priority the priority of this node
	 * @param predecessor the leader whose end is to be examined if this node wins
	 * @param term the second half of the key of the term to observe if this node does not
	 * win, or 0 if an answer is required
	 */
	String text(long waitMillis, int seat, int priority, @Nullable Predecessor predecessor, int term) {
		return replace(this.text, Map.of("wait", waitMillis, "seatNumber", seat, "priorityNumber", priority,
				"predecessor", (predecessor != null) ? predecessor.pid() : 0, "examine", (predecessor != null)
						? replace(this.examine, Map.of("termOfPredecessor", predecessor.termObject())) : "",
				"observe", (term != 0) ? replace(this.observe, Map.of("term", term)) : ANSWER));
	}

	private static String compact(String text, Map<String, Object> values) {
		return replace(text, values).replaceAll("\\s+", " ");
	}

	/**
	 * Replace the placeholders whose values are given.
	 */
	private static String replace(String text, Map<String, Object> values) {
		return PLACEHOLDER.matcher(text)
			.replaceAll((found) -> Matcher
				.quoteReplacement(String.valueOf(values.getOrDefault(found.group(1), found.group()))));
	}

	/**
	 * Return an expression for the number of sessions that the server has ended, with the
	 * time from which it counts.
	 */
	private static String endings(long database) {
		return """
				pg_catalog.concat_ws(' ', pg_catalog.pg_stat_get_db_sessions_killed(%1$s),
				          pg_catalog.pg_stat_get_db_sessions_fatal(%1$s), pg_catalog.pg_stat_get_db_stat_reset_time(%1$s))"""
			.formatted(database);
	}

}
