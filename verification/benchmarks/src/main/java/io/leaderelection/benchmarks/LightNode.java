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

package io.leaderelection.benchmarks;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.stream.IntStream;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.postgresql.ConnectionSource;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.postgresql.table.LeaseTable;
import io.leaderelection.testsupport.CountedConnection;
import org.jspecify.annotations.Nullable;

/**
 * A node in this JVM, without an application. Counts the text that it sends and its
 * terms.
 */
final class LightNode implements AutoCloseable {

	private static final Duration LEASE = Duration.ofSeconds(5);

	private static final Duration TAKEOVER_DELAY = Duration.ofMillis(100);

	private static final Duration DRAIN_TIMEOUT = Duration.ofSeconds(1);

	private final LongAdder messages = new LongAdder();

	private final LongAdder characters = new LongAdder();

	/** Of the application, which watchers borrow from. */
	private final HikariDataSource pool;

	private final LongAdder grants = new LongAdder();

	private final DefaultLeaderElectors electors;

	/**
	 * Start a node.
	 * @param url where the database is
	 * @param store the store
	 * @param group the group of its elections
	 * @param id its id
	 * @param elections the number of elections
	 */
	LightNode(String url, Store store, String group, String id, int elections) {
		this.pool = pool(url);
		List<ElectionSettings> settings = IntStream.range(0, elections)
			.mapToObj((number) -> new ElectionSettings("election-" + number, id, LEASE, TAKEOVER_DELAY, DRAIN_TIMEOUT,
					true))
			.toList();
		Function<ElectionSettings, ElectionStore> sessions = switch (store) {
			case ADVISORY_LOCK -> locks(url, group);
			case TABLE -> table(url, group, id);
		};
		this.electors = new DefaultLeaderElectors(settings, sessions::apply, (event) -> {
			if (event instanceof LeadershipGrantedEvent) {
				this.grants.increment();
			}
		});
		this.electors.all().forEach(DefaultLeaderElector::start);
	}

	private Function<ElectionSettings, ElectionStore> locks(String url, String group) {
		return (settings) -> new AdvisoryLockStore(settings, ElectionKeys.derive(group, settings.election()), 0, false,
				source(url), null);
	}

	private Function<ElectionSettings, ElectionStore> table(String url, String group, String id) {
		LeaseTable table = new LeaseTable(source(url), new LeaseTable.Node(id, "localhost", 1), "leader_election", true,
				LEASE);
		return (settings) -> table.store(settings, group + ":" + settings.election(),
				ElectionKeys.derive(group, settings.election()), 0);
	}

	private ConnectionSource source(String url) {
		return new ConnectionSource() {

			@Override
			public Connection connect(Properties settings) throws SQLException {
				return counted(DriverManager.getConnection(url, settings));
			}

			@Override
			public @Nullable Connection borrow(Duration timeout) {
				try {
					return counted(LightNode.this.pool.getConnection());
				}
				catch (SQLException ex) {
					return null;
				}
			}

		};
	}

	private Connection counted(Connection connection) {
		return CountedConnection.of(connection, this.messages, this.characters);
	}

	private static HikariDataSource pool(String url) {
		HikariConfig pool = new HikariConfig();
		pool.setJdbcUrl(url);
		pool.setMaximumPoolSize(1);
		pool.setMinimumIdle(0);
		return new HikariDataSource(pool);
	}

	/**
	 * Return how many characters of SQL this node has sent.
	 */
	long characters() {
		return this.characters.sum();
	}

	/**
	 * Return how often this node was granted leadership.
	 */
	long grants() {
		return this.grants.sum();
	}

	/**
	 * Return how many elections this node leads.
	 */
	long leaderships() {
		return this.electors.all().stream().filter(LeaderElector::isLeader).count();
	}

	@Override
	public void close() throws Exception {
		CompletableFuture<?>[] stopped = this.electors.all()
			.stream()
			.map(DefaultLeaderElector::stop)
			.toArray(CompletableFuture<?>[]::new);
		CompletableFuture.allOf(stopped).get(60, TimeUnit.SECONDS);
		this.pool.close();
	}

}
