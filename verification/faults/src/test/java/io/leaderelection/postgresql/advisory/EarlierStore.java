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

import java.util.List;

import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.NodeProfile;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.ServerInspection;
import org.jspecify.annotations.Nullable;

/**
 * Sessions with the statements of the version before seats for standbys. Every node has
 * one, all the time.
 */
public final class EarlierStore implements ElectionStore {

	private final AdvisoryLockStore store;

	public EarlierStore(ElectionSettings settings, ElectionKeys keys, ConnectionSource source) {
		this.store = new AdvisoryLockStore(settings, keys, 0, false, source, null) {

			@Override
			AdvisoryLockSql sql(ServerInspection server) {
				return new EarlierSql(keys, server);
			}

		};
	}

	@Override
	public StoreSession open() throws SessionException {
		return this.store.open();
	}

	@Override
	public void abandon() {
		this.store.abandon();
	}

	@Override
	public String name() {
		return this.store.name();
	}

	@Override
	public TransactionFence fence() {
		return this.store.fence();
	}

	/**
	 * The statements of that version. The session reads the number of a seat that these
	 * have not taken.
	 */
	private static final class EarlierSql extends AdvisoryLockSql {

		private final ElectionKeys keys;

		private final String locks;

		EarlierSql(ElectionKeys keys, ServerInspection server) {
			super(keys, server);
			this.keys = keys;
			this.locks = "pg_catalog.pg_locks WHERE locktype = 'advisory' AND database = " + server.database()
					+ " AND granted";
		}

		@Override
		String becomeCandidate(List<Integer> seats) {
			return """
					SELECT 1 AS seat, CASE WHEN candidate OR pg_catalog.pg_try_advisory_lock_shared(%1$d)
					  THEN CASE WHEN observer THEN pg_catalog.pg_advisory_unlock_shared(%2$d, %3$d) END
					  ELSE observer OR pg_catalog.pg_try_advisory_lock_shared(%2$d, %3$d) END AS done
					FROM (%4$s) AS own
					""".formatted(this.keys.candidate(), this.keys.observerClass(), ElectionKeys.OBSERVER, ownShares());
		}

		@Override
		String publish(NodeProfile profile, boolean fast) {
			return "";
		}

		@Override
		String withdraw() {
			return """
					SELECT observer OR pg_catalog.pg_try_advisory_lock_shared(%2$d, %3$d) AS done,
					  CASE WHEN candidate THEN pg_catalog.pg_advisory_unlock_shared(%1$d) END
					FROM (%4$s) AS own
					""".formatted(this.keys.candidate(), this.keys.observerClass(), ElectionKeys.OBSERVER, ownShares());
		}

		private String ownShares() {
			return """
					SELECT count(*) FILTER (WHERE %s) > 0 AS candidate, count(*) FILTER (WHERE %s) > 0 AS observer
					FROM %s AND pid = pg_catalog.pg_backend_pid()
					""".formatted(share(1, this.keys.candidate() >>> 32, this.keys.candidate() & 0xFFFFFFFFL),
					share(2, Integer.toUnsignedLong(this.keys.observerClass()), ElectionKeys.OBSERVER), this.locks);
		}

		private static String share(int parts, long first, long second) {
			return "(mode = 'ShareLock' AND (objsubid = %d AND classid = %d AND objid = %d))".formatted(parts, first,
					second);
		}

		/**
		 * Without a seat, this statement has not changed.
		 */
		@Override
		String acquire(long waitMillis, boolean observe, int seat, int priority, @Nullable Predecessor predecessor) {
			return super.acquire(waitMillis, observe, 0, priority, predecessor);
		}

		@Override
		String holdsAny() {
			return "SELECT count(*) > 0 AS holds FROM " + this.locks
					+ " AND pid = pg_catalog.pg_backend_pid() AND mode = 'ExclusiveLock'";
		}

	}

}
