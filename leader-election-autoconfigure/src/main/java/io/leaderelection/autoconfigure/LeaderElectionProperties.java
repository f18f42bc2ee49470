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

package io.leaderelection.autoconfigure;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.leaderelection.engine.ElectionSettings.FastTakeover;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.core.env.Environment;
import org.springframework.util.Assert;
import org.springframework.util.StringUtils;

/**
 * Configuration properties for leader election.
 *
 * @param mode Whether elections are held on a database.
 * @param store How an election is held on the database. The same for all nodes.
 * @param tableName Table for the store table, with or without a schema. The other tables
 * have this name and the suffixes _node and _candidate, and _schedule for durable
 * schedules.
 * @param initializeSchema Whether to create the tables of the store table and of durable
 * schedules if they are missing.
 * @param name Name of the default election.
 * @param group Name that instances share in order to elect one common leader. Defaults to
 * spring.application.name.
 * @param lockId Advisory lock of the default election: a 64-bit number, decimal or
 * hexadecimal with the prefix 0x. Derived from group and name unless set.
 * @param nodeId Name of this node in logs, health and database, unique per process.
 * Generated from host name, process id and a random suffix unless set.
 * @param leaseDuration Time after which the database ends the session of an unresponsive
 * node, so that another node can lead. From 500ms to 1h.
 * @param takeoverDelay Time for which a new leader waits before the grant if the old
 * leader may still have to notice that the server has ended its session. The longest
 * lease of any node always covers it. At most twice the lease.
 * @param fastTakeover Whether a new leader waits for 5ms only if the server reports that
 * the session of the old leader was ended by its client, for instance by the end of its
 * process: auto if nothing is seen between node and server, true also if their addresses
 * are translated, false never. PostgreSQL 15 and later, without a connection pooler, and
 * if takeover-delay is shorter than the lease.
 * @param drainTimeout Time for which an orderly hand-over waits for leader work and
 * listeners before it interrupts them. A stop takes at most 3s longer: 2s of grace for
 * interrupted work and 1s for a database that does not answer. Unless set, 20s or, if
 * that is shorter, 4s less than spring.lifecycle.timeout-per-shutdown-phase.
 * @param candidate Whether this node may lead.
 * @param standbys Number of candidates besides the leader that are ready to take over at
 * once. With the advisory lock, they wait for it on a connection each; with the table,
 * they read it every 0.8s. Other candidates observe less often and take the place of a
 * standby that is gone. From 1 to 1000.
 * @param metadata What this node publishes about itself to the other nodes, for instance
 * its URL or zone. At most 128 printable ASCII characters, as lines of the form
 * name=value.
 * @param priority Number from 0 to 100. A candidate of higher priority goes first, and
 * requests a leader of lower priority to hand over after priority-hold.
 * @param priorityHold Time for which a leader of lower priority must have led, and this
 * node must have waited, before this node requests it to hand over. Doubles with each
 * request, up to 64 times its value, until this node has led for that long. From 1s to
 * 24h.
 * @param spread Whether nodes hand over elections to others that lead at least two fewer,
 * after spread-hold without a change. For several elections with the table.
 * @param spreadHold Time for which leaders and nodes must not have changed before
 * elections are spread. From 10s to 24h.
 * @param maxLed Number of elections that this node leads at most, unless nobody else
 * leads them. At least 1. Unlimited unless set.
 * @param termEpoch Number from 0 to 15, the most significant part of every term. Raise it
 * after pg_upgrade, point-in-time recovery, two independent promotions or a move to
 * another database cluster, on all nodes before any of them starts.
 * @param failFast Whether the start of the application fails if the database is
 * unreachable. Otherwise the application starts as a follower.
 * @param allowSessionPooler Whether a connection pooler in session mode may be between
 * this application and the database.
 * @param fencing Which transactions of leader work are fenced, so that they do not commit
 * after a later term was granted.
 * @param services Services that are started and stopped by leadership.
 * @param health Health of elections.
 * @param resignWhenUnhealthy Resignation while the application is unhealthy.
 * @param schedules Durable schedules.
 * @param observation Observations of leader work with Micrometer.
 * @param mdc Context of leader work in logs.
 * @param integration Leader events of Spring Integration.
 * @param datasource Connection to the election database.
 * @param elections Further elections by name. Each has its own lock-id, lease-duration,
 * takeover-delay, drain-timeout, candidate, standbys, priority, priority-hold and
 * term-epoch. Properties that are not set are inherited from the default election, except
 * lock-id.
 * @param partitions Number of further elections by a common name: with
 * leader-election.partitions.part=16, the elections part-0 to part-15. From 1 to 1000.
 */
@ConfigurationProperties("leader-election")
public record LeaderElectionProperties(@DefaultValue("postgresql") Mode mode,
		@DefaultValue("advisory-lock") Store store, @DefaultValue("leader_election") String tableName,
		@DefaultValue("never") SchemaInitialization initializeSchema, @DefaultValue("default") String name,
		@Nullable String group, @Nullable String lockId, @Nullable String nodeId,
		@DefaultValue("5s") Duration leaseDuration, @DefaultValue("250ms") Duration takeoverDelay,
		@DefaultValue("auto") FastTakeover fastTakeover, @Nullable Duration drainTimeout,
		@DefaultValue("true") boolean candidate, @DefaultValue("3") int standbys,
		@DefaultValue Map<String, String> metadata, @DefaultValue("0") int priority,
		@DefaultValue("1m") Duration priorityHold, @DefaultValue("false") boolean spread,
		@DefaultValue("10s") Duration spreadHold, @Nullable Integer maxLed, @DefaultValue("0") int termEpoch,
		@DefaultValue("false") boolean failFast, @DefaultValue("false") boolean allowSessionPooler,
		@DefaultValue("auto") Fencing fencing, @DefaultValue Services services, @DefaultValue Health health,
		@DefaultValue ResignWhenUnhealthy resignWhenUnhealthy, @DefaultValue Schedules schedules,
		@DefaultValue Observation observation, @DefaultValue Mdc mdc, @DefaultValue Integration integration,
		@DefaultValue Datasource datasource, @DefaultValue Map<String, Election> elections,
		@DefaultValue Map<String, Integer> partitions) {

	/**
	 * Return the name that instances share in order to elect one common leader.
	 * @param environment has the name of the application
	 * @return the group, or an empty text if neither is set
	 */
	public String group(Environment environment) {
		return Stream.of(this.group, environment.getProperty("spring.application.name"))
			.filter(StringUtils::hasText)
			.findFirst()
			.orElse("");
	}

	/**
	 * Whether elections are held on a database.
	 */
	public enum Mode {

		/** Elections are held on a PostgreSQL database. */
		POSTGRESQL,

		/**
		 * No election: this node always leads, or never if it is not a candidate. For
		 * local development and tests.
		 */
		ALWAYS

	}

	/**
	 * What an election on the database consists of.
	 */
	public enum Store {

		/**
		 * An advisory lock of a session: failover in milliseconds, one direct connection
		 * per election for the leader and for each standby.
		 */
		ADVISORY_LOCK,

		/**
		 * A lease in a table: failover after the lease, one connection per node, also
		 * through a pooler in transaction mode.
		 */
		TABLE

	}

	/**
	 * Whether to create the tables.
	 */
	public enum SchemaInitialization {

		/** At every start if they are missing. */
		ALWAYS,

		/** Never: migrations create them. */
		NEVER

	}

	/**
	 * Services that are started and stopped by leadership.
	 *
	 * @param startAttempts Number of failed starts of a service after which this node
	 * resigns, so that another node can start it. At least 1.
	 * @param startTimeout Time after which the start of a service is interrupted and
	 * counts as failed.
	 */
	public record Services(@DefaultValue("3") int startAttempts, @DefaultValue("1m") Duration startTimeout) {

	}

	/**
	 * Which transactions of leader work are fenced.
	 */
	public enum Fencing {

		/**
		 * Transactions on the election database.
		 */
		AUTO,

		/** All transactions: a transaction that cannot be fenced is an error. */
		REQUIRED,

		/** No transactions. */
		OFF

	}

	/**
	 * Health of elections.
	 *
	 * @param unreachableAfter Time without an answer from the database after which health
	 * is OUT_OF_SERVICE.
	 */
	public record Health(@DefaultValue("30s") Duration unreachableAfter) {

	}

	/**
	 * Resignation while the application is unhealthy.
	 *
	 * @param group Health group, for instance readiness. While it is unhealthy, this node
	 * resigns and suspends its candidacy. Disabled unless set.
	 * @param after Time for which the health group must be unhealthy, or must not answer,
	 * before this node resigns. Also the time for which it must be healthy before this
	 * node is a candidate again. At most 24h.
	 */
	public record ResignWhenUnhealthy(@Nullable String group, @DefaultValue("30s") Duration after) {

	}

	/**
	 * Durable schedules.
	 *
	 * @param transactionIdleTimeout Time for which the transaction of a claim may be
	 * idle, for instance while its method calls another service, before the database ends
	 * it. Bounds how long a leader that has stopped in the middle of a run delays the
	 * next one.
	 * @param maxClockSkew Time that the clock of a node may be ahead of that of the
	 * database, or behind it. Otherwise the node claims no fire.
	 * @param within Age up to which a missed fire is run, for schedules that do not
	 * define it. Unlimited unless set.
	 */
	public record Schedules(@DefaultValue("1m") Duration transactionIdleTimeout,
			@DefaultValue("1m") Duration maxClockSkew, @Nullable Duration within) {

	}

	/**
	 * Observations of leader work with Micrometer.
	 *
	 * @param enabled Whether leader work is observed. Requires an ObservationRegistry.
	 */
	public record Observation(@DefaultValue("false") boolean enabled) {

	}

	/**
	 * Context of leader work in logs.
	 *
	 * @param enabled Whether the MDC contains election, node and term during leader work.
	 */
	public record Mdc(@DefaultValue("false") boolean enabled) {

	}

	/**
	 * Leader events of Spring Integration.
	 *
	 * @param enabled Whether to publish the leader events of Spring Integration if it is
	 * on the class path.
	 * @param roles Roles of Spring Integration that follow an election, by the name of
	 * the election. An election that is not listed has one role, which has its name.
	 */
	public record Integration(@DefaultValue("true") boolean enabled, @DefaultValue Map<String, List<String>> roles) {

	}

	/**
	 * Connection to the election database.
	 *
	 * @param url JDBC URL of the election database. That of the application's DataSource
	 * unless set.
	 * @param username User for the election database. That of the application's
	 * DataSource unless this or the URL is set.
	 * @param password Password for the election database. That of the application's
	 * DataSource unless this or the URL is set.
	 */
	public record Datasource(@Nullable String url, @Nullable String username, @Nullable String password) {

		@Override
		public String toString() {
			return "Datasource[url=" + ((this.url != null) ? JdbcUrl.withoutSecrets(this.url) : null) + ", username="
					+ this.username + "]";
		}

	}

	/**
	 * Properties of a further election.
	 *
	 * @param lockId Advisory lock: a 64-bit number, decimal or hexadecimal with the
	 * prefix 0x.
	 * @param leaseDuration Time after which the database ends the session of an
	 * unresponsive node.
	 * @param takeoverDelay Time for which a new leader waits before the grant if the old
	 * leader may still have to notice that the server has ended its session.
	 * @param drainTimeout Time for which an orderly hand-over waits for leader work and
	 * listeners before it interrupts them.
	 * @param candidate Whether this node may lead.
	 * @param standbys Number of candidates besides the leader that are ready to take over
	 * at once.
	 * @param priority Number from 0 to 100. A candidate of higher priority goes first,
	 * and requests a leader of lower priority to hand over after priority-hold.
	 * @param priorityHold Time for which a leader of lower priority must have led before
	 * this node requests it to hand over.
	 * @param termEpoch Number from 0 to 15, the most significant part of every term.
	 */
	public record Election(@Nullable String lockId, @Nullable Duration leaseDuration, @Nullable Duration takeoverDelay,
			@Nullable Duration drainTimeout, @Nullable Boolean candidate, @Nullable Integer standbys,
			@Nullable Integer priority, @Nullable Duration priorityHold, @Nullable Integer termEpoch) {

		/**
		 * Convert the value of an election that has nothing but a name, which Spring Boot
		 * 4.0 does not do by itself.
		 * @param value an empty value
		 * @return an election without properties of its own
		 * @throws IllegalArgumentException if the value is not empty
		 */
		public static Election from(String value) {
			Assert.isTrue(value.isEmpty(), "An election has properties, not a value");
			return new Election(null, null, null, null, null, null, null, null, null);
		}

	}

}
