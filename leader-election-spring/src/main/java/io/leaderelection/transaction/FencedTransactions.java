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

package io.leaderelection.transaction;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.WeakHashMap;

import javax.sql.DataSource;

import io.leaderelection.Leadership;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.dao.PermissionDeniedDataAccessException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The transactions of one transaction manager. A transaction that began in leader work,
 * or that leader work has joined, passes the fence directly before its commit, after the
 * writes that the commit would otherwise flush.
 * <p>
 * Terms are bound to the resource of a transaction, such as its {@link ConnectionHolder}:
 * it is suspended and resumed with the transaction, whereas the synchronizations of a
 * transaction may be suspended by another transaction manager, or missing.
 * <p>
 * An exception that is thrown here must not be a
 * {@link org.springframework.transaction.TransactionException}: transaction managers do
 * not roll back after such an exception in a commit, and the cleanup of the connection
 * would commit instead.
 */
final class FencedTransactions implements TransactionExecutionListener {

	private static final Log logger = LogFactory.getLog(TransactionFencing.class);

	private static final String FAILED_TRANSACTION = "25P02";

	private static final String ACCESS_RULE_VIOLATION = "42";

	private static final String INSUFFICIENT_PRIVILEGE = "42501";

	private final String name;

	private final TransactionFencing fencing;

	/** Without which the transactions cannot be fenced. */
	private final @Nullable ConfigurableTransactionManager manager;

	private final PersistenceContextFlush flush;

	/**
	 * Transactions that must not commit without a fence.
	 */
	private final Set<ConnectionHolder> required = Collections
		.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

	private volatile Coverage coverage;

	private boolean registered;

	/**
	 * Create a new {@code FencedTransactions} instance.
	 * @param name the name of the transaction manager
	 * @param fencing provides the leader work of the current thread
	 * @param manager the transaction manager, if its transactions can be fenced
	 * @param flush flushes pending changes of a transaction
	 * @param coverage the coverage that is known so far
	 */
	FencedTransactions(String name, TransactionFencing fencing, @Nullable ConfigurableTransactionManager manager,
			PersistenceContextFlush flush, Coverage coverage) {
		this.name = name;
		this.fencing = fencing;
		this.manager = manager;
		this.flush = flush;
		this.coverage = coverage;
	}

	/**
	 * Register this listener with the transaction manager, also if the application has
	 * replaced its listeners since.
	 */
	void register() {
		if (!isRegistered()) {
			register(Objects.requireNonNull(this.manager));
		}
	}

	private synchronized void register(ConfigurableTransactionManager manager) {
		if (isRegistered()) {
			return;
		}
		// The existing list may be immutable
		List<TransactionExecutionListener> listeners = new ArrayList<>(manager.getTransactionExecutionListeners());
		// Last, directly before the commit. Without synchronizations, nothing rolls back
		// if another one fails before the fence
		boolean first = manager instanceof AbstractPlatformTransactionManager platform
				&& platform.getTransactionSynchronization() == AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER;
		listeners.add(first ? 0 : listeners.size(), this);
		manager.setTransactionExecutionListeners(listeners);
		if (this.registered && isRegistered()) {
			logger.warn("The application has replaced the transaction execution listeners of '" + this.name
					+ "', and with them the fence, which is registered again. Add listeners instead of replacing them");
		}
		this.registered = true;
	}

	/**
	 * Return whether these are the transactions of a bean: that of the known manager, or
	 * a proxy for it.
	 */
	boolean isFor(TransactionManager bean) {
		register();
		return this.manager == null || !(bean instanceof ConfigurableTransactionManager configurable)
				|| isListeningTo(configurable);
	}

	boolean isListeningTo(ConfigurableTransactionManager bean) {
		return bean.getTransactionExecutionListeners().contains(this);
	}

	private boolean isRegistered() {
		return this.manager == null || isListeningTo(this.manager);
	}

	String name() {
		return this.name;
	}

	Coverage coverage() {
		return isRegistered() ? this.coverage : Coverage.NOT_REGISTERED;
	}

	/**
	 * Return the data source of the transactions, which the application may replace.
	 */
	@Nullable DataSource dataSource() {
		return (this.manager != null) ? TransactionDataSource.of(this.manager) : null;
	}

	/**
	 * Determine the database of the transactions, with a connection of their data source.
	 */
	void inspect() throws SQLException {
		DataSource dataSource = dataSource();
		if (dataSource != null && this.coverage.isPreliminary()) {
			try (Connection connection = dataSource.getConnection()) {
				try {
					seen(this.fencing.covers(connection));
				}
				catch (SQLException ex) {
					failed(ex);
					throw ex;
				}
				finally {
					if (!connection.getAutoCommit()) {
						connection.rollback();
					}
				}
			}
		}
	}

	/**
	 * Bind the current transaction of the current thread to a term, and let it fail if it
	 * cannot be fenced.
	 */
	void require(Leadership leadership) {
		register();
		ConnectionHolder holder = holder(dataSource());
		if (holder == null) {
			// Otherwise each statement would commit on its own
			throw new IllegalStateException("Transactions of '" + this.name
					+ "' have no JDBC connection, for instance since the JPA dialect exposes none");
		}
		this.fencing.bind(holder, leadership);
		this.required.add(holder);
	}

	private static @Nullable ConnectionHolder holder(@Nullable DataSource dataSource) {
		return (dataSource != null
				&& TransactionSynchronizationManager.getResource(dataSource) instanceof ConnectionHolder holder)
						? holder : null;
	}

	@Override
	public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
		if (beginFailure == null && transaction.isNewTransaction()) {
			ConnectionHolder holder = holder(dataSource());
			if (holder != null) {
				this.fencing.begun(holder);
			}
		}
	}

	@Override
	public void beforeCommit(TransactionExecution transaction) {
		if (!transaction.isNewTransaction()) {
			// A nested transaction with a savepoint: its changes commit with the outer
			// one
			return;
		}
		DataSource dataSource = dataSource();
		ConnectionHolder holder = holder(dataSource);
		List<Leadership> terms = this.fencing.terms((holder != null) ? holder : resource());
		if (terms.isEmpty()) {
			return;
		}
		if (dataSource != null && holder != null) {
			this.flush.flush(transaction);
			fence(dataSource, terms, transaction.isReadOnly(), this.required.contains(holder));
		}
		else {
			if (seen(Coverage.NO_DATA_SOURCE)) {
				report();
			}
			checkNotRequired(false, Coverage.NO_DATA_SOURCE);
		}
	}

	/**
	 * Return the resource of a transaction without a connection.
	 */
	private @Nullable Object resource() {
		return (this.manager instanceof ResourceTransactionManager resources)
				? TransactionSynchronizationManager.getResource(resources.getResourceFactory()) : null;
	}

	private void fence(DataSource source, List<Leadership> terms, boolean readOnly, boolean required) {
		Connection connection = DataSourceUtils.getConnection(source);
		try {
			if (readOnly && connection.isReadOnly()) {
				return;
			}
			for (Leadership term : terms) {
				boolean covered = this.fencing.fence(term, connection);
				seen(covered);
				if (!covered) {
					checkNotRequired(required, Coverage.OTHER_DATABASE);
				}
			}
		}
		catch (SQLException ex) {
			if (!FAILED_TRANSACTION.equals(ex.getSQLState())) {
				failed(ex);
				throw translate(ex);
			}
			// The server rolls this commit back, as it would without a fence
			logger.debug("Transaction of '" + this.name + "' has failed before its fence", ex);
		}
		finally {
			DataSourceUtils.releaseConnection(connection, source);
		}
	}

	private void checkNotRequired(boolean required, Coverage reason) {
		if (required || this.fencing.isRequired()) {
			throw new IllegalStateException("Transactions of '" + this.name + "' in leader work must be fenced ("
					+ (required ? "@DurableSchedule" : "leader-election.fencing=required") + "), but this one is "
					+ reason);
		}
	}

	private void seen(@Nullable Boolean covered) {
		if (covered != null && seen(covered ? Coverage.FENCED : Coverage.OTHER_DATABASE)) {
			report();
		}
	}

	private void failed(SQLException ex) {
		String state = ex.getSQLState();
		if (state != null && state.startsWith(ACCESS_RULE_VIOLATION) && seen(Coverage.REFUSED)) {
			logger.warn("No transaction of '" + this.name + "' in leader work can commit, since the fence fails: "
					+ ex.getMessage());
		}
	}

	/**
	 * Record what was seen.
	 * @return whether the coverage has changed: only once, although several threads may
	 * inspect the database at the start
	 */
	private boolean seen(Coverage seen) {
		if (this.coverage == seen || this.coverage == Coverage.PARTLY) {
			return false;
		}
		synchronized (this) {
			Coverage known = this.coverage;
			if (known == seen || known == Coverage.PARTLY) {
				return false;
			}
			boolean lasting = seen == Coverage.REFUSED || seen == Coverage.NO_DATA_SOURCE;
			this.coverage = (known.isPreliminary() || lasting) ? seen : Coverage.PARTLY;
			return true;
		}
	}

	/**
	 * Log the coverage of these transactions.
	 */
	void report() {
		if (this.coverage != Coverage.UNKNOWN) {
			logger.info("Transactions of '" + this.name + "' in leader work are " + this.coverage);
		}
	}

	private static DataAccessException translate(SQLException ex) {
		if (INSUFFICIENT_PRIVILEGE.equals(ex.getSQLState())) {
			return new PermissionDeniedDataAccessException("Fence of leader election", ex);
		}
		DataAccessException translated = new SQLExceptionSubclassTranslator().translate("Fence of leader election",
				null, ex);
		return (translated != null) ? translated : new UncategorizedSQLException("Fence of leader election", null, ex);
	}

}
