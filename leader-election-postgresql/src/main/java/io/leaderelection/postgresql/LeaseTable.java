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

import java.time.Duration;
import java.util.List;
import java.util.UUID;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.Platform;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.TransactionFence;
import io.leaderelection.postgresql.LeaseTableFence.Home;
import io.leaderelection.postgresql.LeaseTableSql.Identity;
import io.leaderelection.postgresql.LeaseTableSql.Tables;
import org.jspecify.annotations.Nullable;

/**
 * The elections of a node in a lease table, which share one connection.
 */
public class LeaseTable {

	private static final Duration SHORTEST_TIMEOUT = Duration.ofMillis(500);

	private static final Duration LONGEST_TIMEOUT = Duration.ofSeconds(5);

	private final LeaseTableRequests requests;

	private final Node node;

	private final Platform platform;

	private volatile @Nullable Home home;

	/**
	 * Create a new {@code LeaseTable} instance.
	 * @param source opens the connections
	 * @param node this node
	 * @param name the name of the table, with or without a schema
	 * @param create whether to create missing tables
	 * @param shortestLease the shortest lease of its elections
	 */
	public LeaseTable(ConnectionSource source, Node node, String name, boolean create, Duration shortestLease) {
		this(source, node, name, create, shortestLease, Platform.SYSTEM);
	}

	LeaseTable(ConnectionSource source, Node node, String name, boolean create, Duration shortestLease,
			Platform platform) {
		this.node = node;
		this.platform = platform;
		Duration timeout = timeout(shortestLease);
		LeaseTableConnector connector = new LeaseTableConnector(source, name, create, node.id(), timeout,
				(tables, server) -> sql(tables, server, timeout.toMillis()),
				(identity, sql) -> this.home = new Home(identity, sql), platform);
		this.requests = new LeaseTableRequests(connector, node.id(), platform);
	}

	LeaseTableSql sql(Tables tables, ServerInspection server, long timeoutMillis) {
		return new LeaseTableSql(tables, server, timeoutMillis);
	}

	/**
	 * A connection that does not answer is replaced while there is still time for a
	 * renewal on another one: a renewal begins a fifth of the lease after the last one,
	 * and trust ends at three quarters.
	 */
	private static Duration timeout(Duration shortestLease) {
		Duration timeout = shortestLease.multipliedBy(3).dividedBy(10);
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
	private final class Store implements ElectionStore {

		private final ElectionSettings settings;

		private final String key;

		private final ElectionKeys keys;

		private final int termEpoch;

		private final LeaseTableFence fence;

		Store(ElectionSettings settings, String key, ElectionKeys keys, int termEpoch) {
			this.settings = settings;
			this.key = key;
			this.keys = keys;
			this.termEpoch = termEpoch;
			this.fence = new LeaseTableFence(key, settings.lease(), () -> LeaseTable.this.home,
					LeaseTable.this.platform);
		}

		/**
		 * An interrupt ends the wait for the connection, but not its opening, for which
		 * other elections may wait as well.
		 */
		@Override
		public StoreSession open() throws SessionException {
			Node node = LeaseTable.this.node;
			Identity identity = new Identity(node.id(), UUID.randomUUID(), this.settings.lease().toMillis(),
					node.host(), node.pid());
			LeaseTableSession session = new LeaseTableSession(LeaseTable.this.requests, this.fence, this.settings,
					this.key, this.keys, identity, this.termEpoch);
			try {
				LeaseTable.this.requests.join(session);
				return session;
			}
			catch (SessionException | RuntimeException | Error ex) {
				session.abort();
				throw ex;
			}
		}

		@Override
		public void requestResignation(Term term, String cause, Duration limit) throws SessionException {
			List<LeaseTableSession> sessions = LeaseTable.this.requests.elections()
				.sessions((session) -> session.key().equals(this.key));
			if (sessions.isEmpty()) {
				throw new SessionException("This node has no session", null);
			}
			sessions.get(0).requestResignation(term, limit);
		}

		@Override
		public String name() {
			return "table";
		}

		@Override
		public String key() {
			return this.key;
		}

		@Override
		public TransactionFence fence() {
			return this.fence;
		}

	}

}
