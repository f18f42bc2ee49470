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

package io.leaderelection.schedule;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;

import javax.sql.DataSource;

import io.leaderelection.Leadership;
import io.leaderelection.schedule.JobRecord.Run;
import io.leaderelection.transaction.Coverage;
import io.leaderelection.transaction.TransactionFencing;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.NoSuchBeanDefinitionException;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.jdbc.core.ConnectionCallback;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.interceptor.TransactionAttribute;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;

/**
 * {@link ScheduleStore} in a table of the election database. All its transactions are
 * fenced ones of the application. Internal.
 */
public final class JdbcScheduleStore extends ScheduleStore {

	private static final String SCRIPT = "/io/leaderelection/schema-schedule-postgresql.sql";

	private static final String DEFAULT_TABLE = "leader_election_schedule";

	/**
	 * A claim that waits for longer fails and is repeated, so that a hand-over need not
	 * wait for it.
	 */
	private static final String LOCK_TIMEOUT = "5s";

	private static final Set<String> MISSING = Set.of("42P01", "3F000");

	/**
	 * The lock timeout applies to the record only, and not to the statements of the
	 * method. The three statements are sent at once. The other limit remains: the record
	 * must not be locked for ever by a leader that has stopped.
	 */
	private static final String LOCK = """
			SELECT pg_catalog.set_config('leader_election.lock_timeout', pg_catalog.current_setting('lock_timeout'), true),
			  pg_catalog.set_config('lock_timeout', '%2$s', true),
			  pg_catalog.set_config('idle_in_transaction_session_timeout',
			    CASE WHEN pg_catalog.interval_gt(present.idle::pg_catalog.interval, '0')
			      AND pg_catalog.interval_lt(present.idle::pg_catalog.interval, longest.idle::pg_catalog.interval)
			      THEN present.idle ELSE longest.idle END, true)
			FROM (SELECT pg_catalog.current_setting('idle_in_transaction_session_timeout') AS idle) AS present
			  CROSS JOIN (SELECT ?::pg_catalog.text AS idle) AS longest;
			SELECT last_fire, cron, zone, term, node, started, finished, outcome FROM %1$s
			  WHERE election = ? AND job = ? FOR NO KEY UPDATE;
			SELECT pg_catalog.set_config('lock_timeout', pg_catalog.current_setting('leader_election.lock_timeout'), true)
			""";

	private static final String INSERT = """
			INSERT INTO %1$s (election, job, last_fire, cron, zone) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
			""";

	private static final String UPDATE = """
			UPDATE %1$s SET last_fire = ?, cron = ?, zone = ?, term = ?, node = ?, started = ?, finished = ?, outcome = ?
			  WHERE election = ? AND job = ?
			""";

	private static final String INSPECT = """
			SELECT has_table_privilege('%1$s', 'SELECT') AND has_table_privilege('%1$s', 'INSERT')
			  AND has_table_privilege('%1$s', 'UPDATE') AS privileges, current_user AS role
			FROM (SELECT election, job, last_fire, cron, zone, term, node, started, finished, outcome FROM %1$s LIMIT 0) AS t
			  RIGHT JOIN (SELECT 1) AS one ON true
			""";

	private final TransactionFencing fencing;

	private final ConfigurableListableBeanFactory beanFactory;

	private final String table;

	private final boolean create;

	private final String longestIdle;

	private final UnaryOperator<String> electionKeys;

	private final Map<DurableJob, Target> targets = new ConcurrentHashMap<>();

	private final Set<DataSource> checked = ConcurrentHashMap.newKeySet();

	/**
	 * Create a new {@code JdbcScheduleStore} instance.
	 * @param fencing the transaction managers and their coverage
	 * @param beanFactory the factory of the transaction managers
	 * @param leaseTable the name of the lease table, with or without a schema
	 * @param create whether to create a missing table
	 * @param longestIdle how long the transaction of a claim may be idle
	 * @param electionKeys returns the key of an election, which its nodes share
	 */
	public JdbcScheduleStore(TransactionFencing fencing, ConfigurableListableBeanFactory beanFactory, String leaseTable,
			boolean create, Duration longestIdle, UnaryOperator<String> electionKeys) {
		this.fencing = fencing;
		this.beanFactory = beanFactory;
		this.table = leaseTable + "_schedule";
		this.create = create;
		this.longestIdle = longestIdle.toMillis() + "ms";
		this.electionKeys = electionKeys;
	}

	@Override
	void check(Collection<DurableJob> jobs) {
		SpringTransactions.checkPropagation(jobs, this.beanFactory);
		jobs.forEach(this::target);
		jobs.forEach((job) -> checkTable(target(job).dataSource()));
		this.fencing.inspect();
		for (DurableJob job : jobs) {
			checkCoverage(job, target(job));
		}
	}

	/**
	 * Check and create the table once. The first claim does it if the database cannot be
	 * reached at start.
	 */
	private void checkTable(DataSource dataSource) {
		if (!this.checked.contains(dataSource)) {
			new JdbcTemplate(dataSource).execute((ConnectionCallback<Boolean>) (connection) -> {
				checkTable(connection);
				return this.checked.add(dataSource);
			});
		}
	}

	private void checkTable(Connection connection) throws SQLException {
		boolean autoCommit = connection.getAutoCommit();
		connection.setAutoCommit(true);
		try {
			if (!inspect(connection)) {
				if (this.create) {
					create(connection);
				}
				if (!this.create || !inspect(connection)) {
					throw new InvalidDurableScheduleException(
							"The table " + this.table
									+ ", which records the fires of durable schedules, does not exist in a "
									+ "schema that the application can use.",
							"Run the script io/leaderelection/schema-schedule-postgresql.sql, which is in the jar, for "
									+ "instance as a migration of Flyway or Liquibase, or set "
									+ "leader-election.initialize-schema=always. The name of the table is that in "
									+ "leader-election.table-name and the suffix _schedule.");
				}
			}
		}
		finally {
			connection.setAutoCommit(autoCommit);
		}
	}

	private boolean inspect(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement();
				ResultSet row = statement.executeQuery(INSPECT.formatted(this.table))) {
			row.next();
			if (!row.getBoolean("privileges")) {
				throw privileges(row.getString("role"));
			}
			return true;
		}
		catch (SQLException ex) {
			String state = String.valueOf(ex.getSQLState());
			if (MISSING.contains(state)) {
				return false;
			}
			if (state.equals("42703")) {
				throw new InvalidDurableScheduleException(
						"The table " + this.table + " cannot record the fires of durable schedules: "
								+ String.valueOf(ex.getMessage()).lines().findFirst().orElse("") + ".",
						"Create it with the script io/leaderelection/schema-schedule-postgresql.sql, which is in the jar, "
								+ "or set leader-election.table-name to another name.");
			}
			if (state.equals("42501")) {
				throw privileges(connection.getMetaData().getUserName());
			}
			throw ex;
		}
	}

	private InvalidDurableScheduleException privileges(String role) {
		return new InvalidDurableScheduleException(
				"The role \"" + role + "\" lacks privileges on the table " + this.table
						+ ", which records the fires of durable schedules.",
				"Run as its owner: GRANT SELECT, INSERT, UPDATE ON " + this.table + " TO \"" + role + "\"");
	}

	/**
	 * Nodes that start at the same time may create the table at the same time, of which
	 * all but one may fail.
	 */
	private void create(Connection connection) throws SQLException {
		try (Statement statement = connection.createStatement()) {
			statement.execute(script());
		}
		catch (SQLException ex) {
			if (!inspect(connection)) {
				throw ex;
			}
		}
	}

	private String script() {
		try (InputStream script = JdbcScheduleStore.class.getResourceAsStream(SCRIPT)) {
			if (script == null) {
				throw new IllegalStateException("The resource " + SCRIPT + " is missing");
			}
			String text = new String(script.readAllBytes(), StandardCharsets.UTF_8);
			return text.replaceAll("\\b" + DEFAULT_TABLE + " \\(", Matcher.quoteReplacement(this.table) + " (");
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	@Override
	void checkCaller(DurableJob job) {
		Assert.state(!TransactionSynchronizationManager.isActualTransactionActive(),
				() -> job + " has a durable schedule, so it must not be called in a transaction");
	}

	/**
	 * Return whether the session of the transaction has ended, or the transaction was in
	 * conflict with another one.
	 */
	@Override
	boolean isInterruption(Throwable failure) {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			if (cause instanceof SQLException ex && ex.getSQLState() != null && (ex.getSQLState().startsWith("08")
					|| ex.getSQLState().startsWith("57P") || ex.getSQLState().startsWith("40"))) {
				return true;
			}
		}
		return false;
	}

	private Target target(DurableJob job) {
		return this.targets.computeIfAbsent(job, this::resolve);
	}

	private Target resolve(DurableJob job) {
		if (!this.fencing.isEnabled()) {
			throw new InvalidDurableScheduleException(
					job + " has a durable schedule, but transactions are not fenced (leader-election.fencing=off), "
							+ "so an earlier leader could claim a fire once more.",
					"Remove leader-election.fencing=off.");
		}
		TransactionAttribute attribute = SpringTransactions.attribute(job, this.beanFactory);
		PlatformTransactionManager manager = manager(job, attribute);
		String name = this.fencing.coverage()
			.keySet()
			.stream()
			.filter((candidate) -> this.beanFactory.getBean(candidate) == manager)
			.findFirst()
			.orElseThrow(() -> unfenced(job, manager.toString(), Coverage.NOT_REGISTERED.toString()));
		DataSource dataSource = this.fencing.dataSource(name);
		if (dataSource == null) {
			throw unfenced(job, name, String.valueOf(this.fencing.coverage().get(name)));
		}
		return new Target(name, new JdbcTemplate(dataSource), dataSource,
				new SpringTransactions(manager, attribute, TransactionDefinition.PROPAGATION_REQUIRED),
				new SpringTransactions(manager, null, TransactionDefinition.PROPAGATION_REQUIRES_NEW));
	}

	private PlatformTransactionManager manager(DurableJob job, @Nullable TransactionAttribute attribute) {
		PlatformTransactionManager manager;
		try {
			manager = SpringTransactions.manager(job, attribute, this.beanFactory);
		}
		catch (NoSuchBeanDefinitionException ex) {
			throw new InvalidDurableScheduleException(
					job + " has a durable schedule, but there is no transaction manager '"
							+ ((attribute != null) ? attribute.getQualifier() : null) + "'.",
					"Correct the name in @Transactional.");
		}
		if (manager != null) {
			return manager;
		}
		String[] names = this.beanFactory.getBeanNamesForType(PlatformTransactionManager.class);
		if (names.length == 0) {
			throw new InvalidDurableScheduleException(job
					+ " has a durable schedule, but the application has no transaction manager, in whose transactions fires are claimed.",
					"Define a JdbcTransactionManager for the election database.");
		}
		throw new InvalidDurableScheduleException(
				job + " has a durable schedule, but several transaction managers could claim its fires: "
						+ String.join(", ", names) + ".",
				"Mark one as primary, or name it in @Transactional on the method.");
	}

	/**
	 * Fail if transactions may be on another database. Its coverage may not be known
	 * before this node has reached the election database.
	 */
	private void checkCoverage(DurableJob job, Target target) {
		Coverage coverage = this.fencing.coverage().get(target.name());
		if (coverage != Coverage.FENCED && coverage != Coverage.UNKNOWN) {
			throw unfenced(job, target.name(), String.valueOf(coverage));
		}
	}

	private static InvalidDurableScheduleException unfenced(DurableJob job, String name, String coverage) {
		return new InvalidDurableScheduleException(
				job + " has a durable schedule, but transactions of the transaction manager '" + name + "' are "
						+ coverage + ", so an earlier leader could claim a fire once more.",
				"Use a transaction manager whose transactions are on the election database and are fenced.");
	}

	@Override
	<T extends @Nullable Object> T execute(DurableJob job, Leadership leadership, boolean own, Operation<T> operation)
			throws Throwable {
		Target target = target(job);
		checkTable(target.dataSource());
		if (this.fencing.coverage().get(target.name()) != Coverage.FENCED) {
			this.fencing.inspect();
			checkCoverage(job, target);
			Assert.state(this.fencing.coverage().get(target.name()) == Coverage.FENCED,
					() -> "The database of the transaction manager '" + target.name() + "' is not known yet");
		}
		SpringTransactions transactions = own ? target.ownTransactions() : target.transactions();
		String election = this.electionKeys.apply(leadership.getElection());
		return transactions.<T>execute((status) -> {
			// Otherwise each statement would commit on its own
			Assert.state(TransactionSynchronizationManager.hasResource(target.dataSource()), () -> "Transactions of '"
					+ target.name() + "' have no JDBC connection, for instance since the JPA dialect exposes none");
			this.fencing.join(leadership);
			return operation.run(new JdbcRow(target.jdbc(), status, election, job.name()));
		});
	}

	/**
	 * Where the fires of a job are claimed.
	 *
	 * @param name the name of the transaction manager
	 * @param jdbc executes statements in its transactions
	 * @param dataSource its data source
	 * @param transactions the transactions of claims together with the work
	 * @param ownTransactions the transactions of other claims
	 */
	private record Target(String name, JdbcTemplate jdbc, DataSource dataSource, SpringTransactions transactions,
			SpringTransactions ownTransactions) {

	}

	/**
	 * A row of the table.
	 */
	private final class JdbcRow implements Row {

		private final JdbcTemplate jdbc;

		private final TransactionStatus status;

		private final String election;

		private final String job;

		JdbcRow(JdbcTemplate jdbc, TransactionStatus status, String election, String job) {
			this.jdbc = jdbc;
			this.status = status;
			this.election = election;
			this.job = job;
		}

		@Override
		public JobRecord lock(JobRecord initial) {
			JobRecord existing = select();
			if (existing != null) {
				return existing;
			}
			int inserted = this.jdbc.update(INSERT.formatted(JdbcScheduleStore.this.table), this.election, this.job,
					time(initial.lastFire()), initial.cron(), initial.zone());
			if (inserted > 0) {
				return initial;
			}
			JobRecord concurrent = select();
			if (concurrent == null) {
				throw new IllegalStateException("The record of the job " + this.job + " has been deleted");
			}
			return concurrent;
		}

		private @Nullable JobRecord select() {
			Optional<JobRecord> record = this.jdbc.execute((ConnectionCallback<Optional<JobRecord>>) (connection) -> {
				try (PreparedStatement statement = connection
					.prepareStatement(LOCK.formatted(JdbcScheduleStore.this.table, LOCK_TIMEOUT))) {
					statement.setString(1, JdbcScheduleStore.this.longestIdle);
					statement.setString(2, this.election);
					statement.setString(3, this.job);
					statement.execute();
					statement.getMoreResults();
					try (ResultSet row = statement.getResultSet()) {
						return row.next() ? Optional.of(map(row)) : Optional.empty();
					}
				}
			});
			return (record != null) ? record.orElse(null) : null;
		}

		private static JobRecord map(ResultSet row) throws SQLException {
			Run run = new Run(row.getString("term"), row.getString("node"), instant(row, "started"),
					instant(row, "finished"), row.getString("outcome"));
			Instant lastFire = instant(row, "last_fire");
			return new JobRecord((lastFire != null) ? lastFire : Instant.EPOCH, row.getString("cron"),
					row.getString("zone"), (run.started() != null) ? run : null);
		}

		private static @Nullable Instant instant(ResultSet row, String column) throws SQLException {
			OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
			return (time != null) ? time.toInstant() : null;
		}

		private static @Nullable OffsetDateTime time(@Nullable Instant instant) {
			return (instant != null) ? instant.atOffset(ZoneOffset.UTC) : null;
		}

		@Override
		public void save(JobRecord replacement) {
			Run run = (replacement.last() != null) ? replacement.last() : new Run(null, null, null, null, null);
			this.jdbc.update(UPDATE.formatted(JdbcScheduleStore.this.table), time(replacement.lastFire()),
					replacement.cron(), replacement.zone(), run.term(), run.node(), time(run.started()),
					time(run.finished()), run.outcome(), this.election, this.job);
		}

		@Override
		public void discard() {
			this.status.setRollbackOnly();
		}

	}

}
