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

import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.testsupport.Mutant;
import org.jspecify.annotations.Nullable;

/**
 * Sessions with a seeded mistake in their statements.
 */
public final class SessionMutants {

	/** The shortest takeover delay with which endings are distinguished. */
	private static final Duration NO_TIME = Duration.ofMillis(6);

	private SessionMutants() {
	}

	public static ElectionStore create(Mutant mutant, ElectionSettings settings, ElectionKeys keys,
			ConnectionSource source) {
		return new MutantStore(mutant,
				(mutant == Mutant.RECENT_PREDECESSOR) ? withTakeoverDelay(settings, NO_TIME) : settings, keys, source);
	}

	private static ElectionSettings withTakeoverDelay(ElectionSettings settings, Duration delay) {
		return new ElectionSettings(settings.election(), settings.nodeId(), settings.lease(), delay,
				settings.fastTakeover(), settings.drainTimeout(), settings.candidate(), settings.standbys(),
				settings.profile(), settings.priorityHold());
	}

	/**
	 * Replace a part of a statement, which may be laid out with other white space.
	 */
	private static String replace(String sql, String text, String replacement) {
		String pattern = Stream.of(text.strip().split("\\s+")).map(Pattern::quote).collect(Collectors.joining("\\s+"));
		Matcher matcher = Pattern.compile(pattern).matcher(sql);
		if (!matcher.find()) {
			throw new IllegalStateException("'" + text + "' is not in " + sql);
		}
		return matcher.replaceAll(Matcher.quoteReplacement(replacement));
	}

	/**
	 * A store with a mistake in some of its statements.
	 */
	private static final class MutantStore extends AdvisoryLockStore {

		private final Mutant mutant;

		private final ElectionKeys keys;

		private final AdvisoryLockFence fence;

		MutantStore(Mutant mutant, ElectionSettings settings, ElectionKeys keys, ConnectionSource source) {
			super(settings, keys, 0, false, source, null);
			this.mutant = mutant;
			this.keys = keys;
			this.fence = new AdvisoryLockFence(keys, settings.lease(), fenceSql());
		}

		@Override
		AdvisoryLockSql sql(ServerInspection server) {
			return new MutantSql(this.mutant, this.keys, server);
		}

		@Override
		public AdvisoryLockFence fence() {
			return this.fence;
		}

		private String fenceSql() {
			String sql = AdvisoryLockSql.FENCE;
			return switch (this.mutant) {
				case OPEN_FENCE -> replace(sql, """
						CASE WHEN pg_catalog.pg_try_advisory_xact_lock_shared(?)
						    THEN NOT pg_catalog.pg_try_advisory_xact_lock_shared(?, ?) ELSE false END AS held""",
						"coalesce(?::bigint, ?::int, ?::int) IS NOT NULL AS held");
				case NO_LIMIT_IN_FENCE -> replace(sql, "set_config('idle_in_transaction_session_timeout'",
						"set_config('leader_election.mutant'");
				default -> sql;
			};
		}

	}

	/**
	 * Statements with a mistake.
	 */
	private static final class MutantSql extends AdvisoryLockSql {

		private final Mutant mutant;

		private final ElectionKeys keys;

		private final long database;

		MutantSql(Mutant mutant, ElectionKeys keys, ServerInspection server) {
			super(keys, server);
			this.mutant = mutant;
			this.keys = keys;
			this.database = server.database();
		}

		@Override
		String acquire(long waitMillis, boolean observe, int seat, int priority, @Nullable Predecessor predecessor) {
			String sql = super.acquire(waitMillis, observe, seat, priority, predecessor);
			return switch (this.mutant) {
				case BARE_TRANSACTION_ID -> replace(sql,
						"PERFORM pg_catalog.pg_logical_emit_message(true, 'leader_election', term::text);", "");
				case SESSION_LOCK_IN_WAIT -> {
					String session = "PERFORM pg_catalog.pg_advisory_lock(" + this.keys.main() + ");";
					String transaction = "PERFORM pg_catalog.pg_advisory_xact_lock(" + this.keys.main() + ");";
					yield replace(replace(sql, session, ""), transaction, session);
				}
				case NO_WAIT_FOR_EARLIER_TERMS ->
					replace(sql, " AND objid <> 4294967295) = 0", " AND objid <> 4294967295) >= 0");
				case NO_HEAD -> replace(sql, "PERFORM pg_catalog.pg_advisory_xact_lock(%d, %d);"
					.formatted(this.keys.requestClass(), ElectionKeys.HEAD), "");
				default -> (predecessor != null) ? examine(sql, predecessor) : sql;
			};
		}

		private String examine(String sql, Predecessor predecessor) {
			return switch (this.mutant) {
				case COUNTED_TOO_EARLY -> replace(sql,
						"NOT EXISTS (SELECT FROM pg_catalog.pg_stat_get_activity(" + predecessor.pid() + "))", "true");
				case BASELINE_AFTER_LOOK -> {
					String read = sql.substring(sql.indexOf("baseline := "));
					read = read.substring(0, read.indexOf(';') + 1);
					// Nothing else takes time in between
					String late = "baseline := NULL; ELSE PERFORM pg_catalog.pg_sleep(0.2); " + read + " END IF;";
					yield replace(replace(sql, read, ""), """
							baseline := NULL;
							        END IF;""", late);
				}
				case TERM_KEY_LOOKED_AT -> replace(sql, "count(*) <> 2", "count(*) FILTER (WHERE objsubid = 2) <> 1");
				case FATAL_IGNORED ->
					replace(sql, "pg_catalog.pg_stat_get_db_sessions_fatal(" + this.database + ")", "0");
				case RESET_IGNORED ->
					replace(sql, "pg_catalog.pg_stat_get_db_stat_reset_time(" + this.database + ")", "0");
				default -> sql;
			};
		}

		@Override
		String confirm(Term term, long number) {
			String sql = super.confirm(term, number);
			return (this.mutant == Mutant.NO_WAIT_FOR_EARLIER_TERMS)
					? replace(sql, "pid <> pg_catalog.pg_backend_pid()", "false") : sql;
		}

	}

}
