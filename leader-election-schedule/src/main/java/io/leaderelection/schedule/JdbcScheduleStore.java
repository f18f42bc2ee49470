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

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;

import io.leaderelection.Leadership;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.transaction.TransactionFencing;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;

/**
 * {@link ScheduleStore} in a table of the election database. All its transactions are
 * fenced ones of the application.
 */
final class JdbcScheduleStore extends ScheduleStore {

	private static final String IDLE_TIMEOUT = "25P03";

	private static final String TRANSACTION_TIMEOUT = "25P04";

	private static final String QUERY_CANCELED = "57014";

	private static final Pattern TIMEOUT = Pattern.compile("Timed?[oO]ut");

	private static final Set<String> CONNECTION_ENDED = Set.of("08003", "08006", "57P01", "57P05");

	/** How long a run has lasted if a limit may have ended its connection. */
	private static final Duration LONG = Duration.ofSeconds(10);

	private final TransactionFencing fencing;

	private final ConfigurableListableBeanFactory beanFactory;

	private final ScheduleTable table;

	private final String longestIdle;

	private final Duration longestSkew;

	private final UnaryOperator<String> electionKeys;

	private final Map<DurableJob, ClaimTransactions> transactions = new ConcurrentHashMap<>();

	JdbcScheduleStore(TableSettings settings, TransactionFencing fencing, ConfigurableListableBeanFactory beanFactory,
			UnaryOperator<String> electionKeys) {
		this.fencing = fencing;
		this.beanFactory = beanFactory;
		this.table = new ScheduleTable(settings.leaseTable(), settings.create());
		this.longestIdle = settings.longestIdle().toMillis() + "ms";
		this.longestSkew = settings.longestSkew();
		this.electionKeys = electionKeys;
	}

	@Override
	void check(Collection<DurableJob> jobs) {
		jobs.forEach(this::transactions);
		for (DurableJob job : jobs) {
			String key = this.electionKeys.apply(job.election());
			if (key.length() > JobDefinition.LONGEST_NAME) {
				throw new InvalidUsageException(
						job + " has a durable schedule, but its election is recorded as '" + key
								+ "', which is longer than " + JobDefinition.LONGEST_NAME + " characters.",
						"Set a shorter leader-election.group, or a shorter name of the election.");
			}
		}
		jobs.forEach((job) -> table(transactions(job)));
	}

	/**
	 * Return the table, which is looked for on the election database only.
	 */
	private String table(ClaimTransactions claims) {
		if (!claims.areOnElectionDatabase()) {
			// Or fails to connect, which is the reason
			claims.jdbc().execute((Connection connection) -> {
				throw new IllegalStateException(
						"The database of the transaction manager '" + claims.manager() + "' is not known yet");
			});
		}
		return this.table.resolve(claims.dataSource());
	}

	private ClaimTransactions transactions(DurableJob job) {
		return this.transactions.computeIfAbsent(job,
				(key) -> ClaimTransactions.of(key, this.fencing, this.beanFactory));
	}

	@Override
	@Nullable String timeout(DurableJob job, Duration lasted, Throwable failure) {
		boolean joined = job.claim() == Claim.IN_TRANSACTION;
		String limit = limit(joined ? lasted : Duration.ZERO, joined ? transactions(job).joined().timeout() : 0,
				failure);
		return (limit != null && joined) ? limit + ", or use claim = AFTER" : limit;
	}

	/**
	 * Return which limit has ended a run. The timeout of its transaction appears as
	 * different exceptions of Spring, the driver and JPA. A short run may have lost its
	 * connection for another reason.
	 */
	private @Nullable String limit(Duration lasted, int timeout, Throwable failure) {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			String state = (cause instanceof SQLException ex) ? String.valueOf(ex.getSQLState()) : "";
			if (state.equals(TRANSACTION_TIMEOUT)) {
				return "The database has ended its transaction: set a longer transaction_timeout";
			}
			if (state.equals(IDLE_TIMEOUT)) {
				return "The database has ended its transaction, which was idle for longer than " + this.longestIdle
						+ ": set a longer leader-election.schedules.transaction-idle-timeout";
			}
			if (timeout > 0 && lasted.toMillis() >= timeout * 900L
					&& (state.equals(QUERY_CANCELED) || TIMEOUT.matcher(cause.getClass().getSimpleName()).find())) {
				return "Its transaction times out after " + timeout
						+ " s: set a longer timeout of @Transactional, or spring.transaction.default-timeout";
			}
			if (lasted.compareTo(LONG) >= 0 && CONNECTION_ENDED.contains(state)) {
				return "Its connection was ended after " + lasted
						+ ": set a longer limit of the pooler, firewall or server that has ended it";
			}
		}
		return null;
	}

	@Override
	void execute(DurableJob job, Leadership leadership, boolean own, Operation operation) throws Throwable {
		ClaimTransactions claims = transactions(job);
		String table = table(claims);
		String election = this.electionKeys.apply(leadership.getElection());
		JdbcRow row = new JdbcRow(claims, table, this.longestIdle, this.longestSkew, election);
		try {
			(own ? claims.own() : claims.joined()).execute((status) -> {
				this.fencing.require(claims.manager(), leadership);
				operation.run(row);
				if (!row.isChanged()) {
					status.setRollbackOnly();
				}
			});
		}
		catch (Throwable ex) {
			throw row.failure(ex);
		}
	}

}
