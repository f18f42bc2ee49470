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

import java.time.Duration;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.LeaseTableShape.Tables;
import io.leaderelection.postgresql.ServerInspection;
import io.leaderelection.postgresql.table.LeaseTableFence.Home;
import org.jspecify.annotations.Nullable;

/**
 * The elections of a node in a lease table, which share one connection.
 */
public class LeaseTable {

	private static final Duration SHORTEST_TIMEOUT = Duration.ofMillis(500);

	private static final Duration LONGEST_TIMEOUT = Duration.ofSeconds(5);

	private final ConnectionSource source;

	private final LeaseTableNode node;

	private final Platform platform;

	private volatile @Nullable Home home;

	/**
	 * Create a new {@code LeaseTable} instance.
	 * @param source opens the connections
	 * @param node this node
	 * @param name the name of the table, with or without a schema
	 * @param create whether to create missing tables
	 * @param lease the lease of all its elections
	 */
	public LeaseTable(ConnectionSource source, Node node, String name, boolean create, Duration lease) {
		this(source, node, name, create, lease, Platform.SYSTEM);
	}

	LeaseTable(ConnectionSource source, Node node, String name, boolean create, Duration lease, Platform platform) {
		this.source = source;
		this.platform = platform;
		Duration timeout = timeout(lease);
		LeaseTableConnector connector = new LeaseTableConnector(source, name, create, node.id(), timeout,
				(tables, server, direct) -> sql(tables, server, direct, timeout.toMillis()),
				(identity, sql) -> this.home = new Home(identity, sql));
		this.node = new LeaseTableNode(connector, node, lease, platform);
	}

	LeaseTableSql sql(Tables tables, ServerInspection server, boolean direct, long timeoutMillis) {
		return new LeaseTableSql(tables, server, direct, timeoutMillis);
	}

	/**
	 * A connection that does not answer is replaced while there is still time for a
	 * renewal on another one: a renewal begins a fifth of the lease after the last one,
	 * and trust ends at three quarters.
	 */
	private static Duration timeout(Duration lease) {
		Duration timeout = lease.multipliedBy(3).dividedBy(10);
		if (timeout.compareTo(SHORTEST_TIMEOUT) < 0) {
			return SHORTEST_TIMEOUT;
		}
		return (timeout.compareTo(LONGEST_TIMEOUT) > 0) ? LONGEST_TIMEOUT : timeout;
	}

	/**
	 * Return the store of an election.
	 * @param settings the settings of the election
	 * @param key the key of its row
	 * @param keys the keys that the other store uses for it
	 * @param termEpoch the epoch of its terms
	 * @return the store
	 */
	public ElectionStore store(ElectionSettings settings, String key, ElectionKeys keys, int termEpoch) {
		return new Store(settings, key, keys, termEpoch);
	}

	/**
	 * A node as the table shows it.
	 *
	 * @param id its id
	 * @param host its host name
	 * @param pid its process id
	 */
	public record Node(String id, String host, long pid) {
	}

	/**
	 * The store of one election.
	 */
	private final class Store implements ElectionStore, ElectionStore.Spreading {

		private final ElectionSettings settings;

		private final String key;

		private final ElectionKeys keys;

		private final int termEpoch;

		private final LeaseTableFence fence;

		private volatile @Nullable LeaseTableSession session;

		private volatile StandBack standBack = StandBack.NOT;

		Store(ElectionSettings settings, String key, ElectionKeys keys, int termEpoch) {
			this.settings = settings;
			this.key = key;
			this.keys = keys;
			this.termEpoch = termEpoch;
			this.fence = new LeaseTableFence(key, settings.lease(), () -> LeaseTable.this.home,
					LeaseTable.this.platform);
		}

		@Override
		public StoreSession open() throws SessionException {
			LeaseTableSession opened = new LeaseTableSession(LeaseTable.this.node, this.fence, this.settings, this.key,
					this.keys, this.termEpoch, () -> this.standBack);
			opened.open();
			this.session = opened;
			return opened;
		}

		@Override
		public void requestResignation(Term term, String cause, Duration limit) throws SessionException {
			LeaseTableSession known = this.session;
			if (known == null) {
				throw new SessionException("This node has no session", null);
			}
			known.requestResignation(term, cause, limit);
		}

		@Override
		public Spreading spreading() {
			return this;
		}

		@Override
		public @Nullable Sight sight() {
			LeaseTableSession known = this.session;
			return (known != null) ? known.sight() : null;
		}

		@Override
		public void standBack(StandBack next) {
			boolean listed = (this.standBack == StandBack.UNLISTED) == (next == StandBack.UNLISTED);
			this.standBack = next;
			LeaseTableSession known = this.session;
			if (!listed && known != null) {
				known.wake();
			}
		}

		@Override
		public Description describe() {
			Home known = LeaseTable.this.home;
			return new Description("table", this.key, this.keys.lockId(), (known != null) ? known.sql().table() : null,
					LeaseTable.this.source.describe());
		}

		@Override
		public TransactionFence fence() {
			return this.fence;
		}

	}

}
