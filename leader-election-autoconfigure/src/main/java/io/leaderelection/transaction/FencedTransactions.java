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
import java.util.List;

import javax.sql.DataSource;

import io.leaderelection.Leadership;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.datasource.DataSourceUtils;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The transactions of one transaction manager. Each that began in leader work, or that
 * such work joined, passes the fence as the last thing before its commit.
 * <p>
 * What is thrown on the way must not be a
 * {@link org.springframework.transaction.TransactionException}: transaction managers do
 * not roll back after one of those in a commit, and the clean-up of the connection would
 * commit instead.
 */
final class FencedTransactions implements TransactionExecutionListener {

	private static final Log logger = LogFactory.getLog(TransactionFencing.class);

	private static final String FAILED_TRANSACTION = "25P02";

	private final String name;

	private final TransactionFencing fencing;

	private final @Nullable DataSource dataSource;

	private volatile Coverage coverage;

	/**
	 * Create a new {@code FencedTransactions} instance.
	 * @param name the name of the transaction manager
	 * @param fencing knows what work is under way
	 * @param dataSource where the transactions are
	 */
	FencedTransactions(String name, TransactionFencing fencing, DataSource dataSource) {
		this.name = name;
		this.fencing = fencing;
		this.dataSource = dataSource;
		this.coverage = (target(dataSource) instanceof AbstractRoutingDataSource) ? Coverage.ROUTED : Coverage.UNKNOWN;
	}

	private static DataSource target(DataSource dataSource) {
		DataSource target = dataSource;
		while (target instanceof DelegatingDataSource delegating && delegating.getTargetDataSource() != null) {
			target = delegating.getTargetDataSource();
		}
		return target;
	}

	/**
	 * Create a new {@code FencedTransactions} instance for transactions that cannot be
	 * fenced.
	 * @param name the name of the transaction manager
	 * @param fencing knows what work is under way
	 * @param coverage why not
	 */
	FencedTransactions(String name, TransactionFencing fencing, Coverage coverage) {
		this.name = name;
		this.fencing = fencing;
		this.dataSource = null;
		this.coverage = coverage;
	}

	String name() {
		return this.name;
	}

	Coverage coverage() {
		return this.coverage;
	}

	/**
	 * Find out on which database the transactions are, by a connection of their own.
	 */
	void inspect() throws SQLException {
		if (this.dataSource != null && this.coverage == Coverage.UNKNOWN) {
			try (Connection connection = this.dataSource.getConnection()) {
				found(coverage(connection));
			}
		}
	}

	@Override
	public void afterBegin(TransactionExecution transaction, @Nullable Throwable beginFailure) {
		if (beginFailure == null && isFenced(transaction)) {
			this.fencing.currentWork().forEach(BoundTerms::bind);
		}
	}

	@Override
	public void beforeCommit(TransactionExecution transaction) {
		if (isFenced(transaction)) {
			// A transaction manager without synchronizations leaves nothing to bind to
			List<Leadership> terms = TransactionSynchronizationManager.isSynchronizationActive()
					? BoundTerms.ofCurrentTransaction() : this.fencing.currentWork();
			if (!terms.isEmpty()) {
				fence(terms);
			}
		}
	}

	// A savepoint is not new, and what is read only leaves nothing behind
	private static boolean isFenced(TransactionExecution transaction) {
		return transaction.isNewTransaction() && !transaction.isReadOnly();
	}

	private void fence(List<Leadership> terms) {
		DataSource source = this.dataSource;
		if (source == null) {
			letPass(this.coverage);
			return;
		}
		if (!(TransactionSynchronizationManager.getResource(source) instanceof ConnectionHolder)) {
			// A JPA dialect that does not show its connection
			found(Coverage.NO_DATA_SOURCE);
			letPass(Coverage.NO_DATA_SOURCE);
			return;
		}
		Connection connection = DataSourceUtils.getConnection(source);
		try {
			if (isCovered(connection)) {
				for (Leadership term : terms) {
					term.fence(connection);
				}
			}
		}
		catch (SQLException ex) {
			if (!FAILED_TRANSACTION.equals(ex.getSQLState())) {
				throw translate(ex);
			}
			// The server makes a roll-back of this commit, as it would without a fence
			logger.debug("Transaction of '" + this.name + "' has failed before its fence", ex);
		}
		finally {
			DataSourceUtils.releaseConnection(connection, source);
		}
	}

	private boolean isCovered(Connection connection) throws SQLException {
		Coverage current = this.coverage;
		if (current == Coverage.UNKNOWN || current == Coverage.ROUTED) {
			current = coverage(connection);
			found(current);
		}
		if (current.isImpossible()) {
			letPass(current);
			return false;
		}
		return true;
	}

	private void letPass(Coverage reason) {
		if (this.fencing.isRequired()) {
			throw new IllegalStateException("Transactions of '" + this.name + "' in leader work must be fenced "
					+ "(leader-election.fencing=required), but this one is " + reason);
		}
	}

	private void found(Coverage found) {
		if (found != this.coverage && this.coverage != Coverage.ROUTED) {
			this.coverage = found;
			report();
		}
	}

	/**
	 * Say what is known of these transactions.
	 */
	void report() {
		if (this.coverage != Coverage.UNKNOWN) {
			logger.info("Transactions of '" + this.name + "' in leader work are " + this.coverage);
		}
	}

	private Coverage coverage(Connection connection) throws SQLException {
		Boolean covered = this.fencing.covers(connection);
		if (covered == null) {
			return Coverage.UNKNOWN;
		}
		return covered ? Coverage.FENCED : Coverage.OTHER_DATABASE;
	}

	private static DataAccessException translate(SQLException ex) {
		DataAccessException translated = new SQLExceptionSubclassTranslator().translate("Fence of leader election",
				null, ex);
		return (translated != null) ? translated : new UncategorizedSQLException("Fence of leader election", null, ex);
	}

}
