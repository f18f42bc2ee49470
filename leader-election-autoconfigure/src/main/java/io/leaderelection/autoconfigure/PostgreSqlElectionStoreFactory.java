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
import java.util.HashMap;
import java.util.Map;
import java.util.function.Supplier;
import java.util.regex.Pattern;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionProperties.SchemaInitialization;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Store;
import io.leaderelection.engine.ElectionSettings;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.postgresql.ElectionKeys;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore;
import io.leaderelection.postgresql.advisory.AdvisoryLockStore.TableRow;
import io.leaderelection.postgresql.table.LeaseTable;
import io.leaderelection.postgresql.table.LeaseTable.Node;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * {@link ElectionStoreFactory} on PostgreSQL.
 */
final class PostgreSqlElectionStoreFactory implements ElectionStoreFactory {

	private static final Log logger = LogFactory.getLog(PostgreSqlElectionStoreFactory.class);

	private static final Pattern TABLE_NAME = Pattern
		.compile("(([A-Za-z_]\\w{0,62}|\"[\\w -]{1,63}\")\\.)?[A-Za-z_]\\w{0,52}");

	private static final int LONGEST_KEY = 255;

	/** With more elections, the application probably has one for each job. */
	private static final int MANY_ELECTIONS = 10;

	private final LeaderElectionProperties properties;

	private final ElectionDefinitions definitions;

	private final ElectionConnectionSource source;

	private final Supplier<String> hostName;

	private final String group;

	private final @Nullable LeaseTable table;

	/**
	 * Create a new {@code PostgreSqlElectionStoreFactory} instance.
	 * @param properties the properties
	 * @param definitions the elections
	 * @param source opens the connections
	 * @param group what the nodes have in common, which may be empty
	 * @param hostName determines the name of the host, which may take time
	 */
	PostgreSqlElectionStoreFactory(LeaderElectionProperties properties, ElectionDefinitions definitions,
			ElectionConnectionSource source, String group, Supplier<String> hostName) {
		this.properties = properties;
		this.definitions = definitions;
		this.source = source;
		this.hostName = hostName;
		this.group = group;
		checkKeys();
		checkTable();
		this.table = isTable() ? createTable() : null;
	}

	private boolean isTable() {
		return this.properties.store() == Store.TABLE;
	}

	private void checkTable() {
		String name = this.properties.tableName();
		if (!TABLE_NAME.matcher(name).matches()) {
			throw new InvalidUsageException("leader-election.table-name", name,
					"It is not the name of a table, with or without a schema.",
					"Set a name of letters, digits and underscores that needs no quotes, for instance "
							+ "infra.leader_election. Only the schema may have quotes.");
		}
		Duration lease = this.definitions.all().get(0).settings().lease();
		for (ElectionDefinition definition : this.definitions.all()) {
			if (isTable() && !definition.settings().lease().equals(lease)) {
				throw new InvalidUsageException(
						"leader-election.elections." + definition.election() + ".lease-duration",
						definition.settings().lease().toMillis() + "ms",
						"With leader-election.store=table, a node has one lease for all its elections, that of the "
								+ "default election is " + lease.toMillis() + "ms.",
						"Remove it, and set leader-election.lease-duration for all of them.");
			}
			if (isTable() && key(definition).length() > LONGEST_KEY) {
				throw new InvalidUsageException(
						"leader-election.group", this.group, "Together with the name of the election '"
								+ definition.election() + "' it is longer than " + LONGEST_KEY + " characters.",
						"Set a shorter group.");
			}
		}
	}

	private LeaseTable createTable() {
		ElectionSettings settings = this.definitions.all().get(0).settings();
		Node node = new Node(settings.nodeId(), this.hostName.get(), ProcessHandle.current().pid());
		return new LeaseTable(this.source, node, this.properties.tableName(),
				this.properties.initializeSchema() == SchemaInitialization.ALWAYS, settings.lease());
	}

	/**
	 * Check that no two elections share a key. The key classes have 32 bits, so that two
	 * of them may coincide, even if the main keys are derived.
	 */
	private void checkKeys() {
		Map<Long, ElectionDefinition> mainKeys = new HashMap<>();
		Map<Integer, ElectionDefinition> classes = new HashMap<>();
		for (ElectionDefinition definition : this.definitions.all()) {
			ElectionKeys keys = keys(definition);
			check(definition, mainKeys.putIfAbsent(keys.main(), definition),
					"The election '%s' has the same lock: only one of the two could have a leader.");
			for (int keyClass : new int[] { keys.termClass(), keys.requestClass(), keys.noticeClass(),
					keys.observerClass() }) {
				check(definition, classes.putIfAbsent(keyClass, definition),
						"Keys that are derived from it are also keys of the election '%s': the two elections would "
								+ "interfere with each other.");
			}
		}
	}

	private void check(ElectionDefinition definition, @Nullable ElectionDefinition other, String reason) {
		if (other != null) {
			boolean configured = definition.lockId() != null || other.lockId() == null;
			ElectionDefinition wrong = configured ? definition : other;
			throw new InvalidUsageException(
					ElectionDefinitions.lockIdProperty(wrong.election(), this.properties.name()), keys(wrong).main(),
					reason.formatted((configured ? other : definition).election()), "Set another lock id.");
		}
	}

	@Override
	public void check() {
		this.source.check();
		if (this.group.isEmpty()
				&& this.definitions.all().stream().anyMatch((definition) -> definition.lockId() == null)) {
			throw new InvalidUsageException(
					"Neither leader-election.group nor spring.application.name is set: applications on one database that set neither would elect one common leader, and leader work of the others would not run.",
					"Set spring.application.name, or leader-election.group if the name differs between instances of the application.");
		}
		int count = this.definitions.all().size();
		if (count > MANY_ELECTIONS && !isTable()) {
			logger.warn("There are " + count + " elections, so the leader and each standby of all of them keep " + count
					+ " connections to the database. Use several elections only if different nodes should lead; other jobs can share one "
					+ "election. With leader-election.store=table, a node keeps one connection for all elections");
		}
		logger.info("Elections of group '" + this.group + "' are held on " + this.source.describe());
	}

	@Override
	public ElectionStore create(ElectionDefinition definition) {
		LeaseTable shared = this.table;
		if (shared != null) {
			return shared.store(definition.settings(), key(definition), keys(definition), definition.termEpoch());
		}
		return new AdvisoryLockStore(definition.settings(), keys(definition), definition.termEpoch(),
				this.properties.allowSessionPooler(), this.source,
				new TableRow(this.properties.tableName(), key(definition)));
	}

	private String key(ElectionDefinition definition) {
		return rowKey(this.group, definition.election(), definition.lockId());
	}

	/**
	 * Return the key of an election in the table: the same nodes meet as with the other
	 * store. No two elections have the same key: the first colon without a backslash ends
	 * the group, which is not empty.
	 */
	static String rowKey(String group, String election, @Nullable Long lockId) {
		return (lockId != null) ? ":lock-id:" + lockId
				: group.replace("\\", "\\\\").replace(":", "\\:") + ":" + election;
	}

	private ElectionKeys keys(ElectionDefinition definition) {
		Long lockId = definition.lockId();
		return (lockId != null) ? ElectionKeys.ofLockId(lockId)
				: ElectionKeys.derive(this.group, definition.election());
	}

}
