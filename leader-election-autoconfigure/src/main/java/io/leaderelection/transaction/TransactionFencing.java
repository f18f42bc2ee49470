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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Supplier;

import javax.sql.DataSource;

import io.leaderelection.Leadership;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.core.PriorityOrdered;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionManager;

/**
 * Fences the transactions of leader work in all transaction managers of an application.
 * Looks at each as soon as it has been created: its list of listeners is not made to be
 * changed while there are transactions.
 */
public final class TransactionFencing implements BeanPostProcessor, SmartInitializingSingleton, PriorityOrdered {

	private static final Log logger = LogFactory.getLog(TransactionFencing.class);

	private final Mode mode;

	private final Supplier<DefaultLeaderElectors> supplier;

	private final ListableBeanFactory beanFactory;

	private final List<FencedTransactions> managers = new CopyOnWriteArrayList<>();

	private volatile @Nullable DefaultLeaderElectors electors;

	/**
	 * Create a new {@code TransactionFencing} instance.
	 * @param mode what is fenced
	 * @param electors gives the elections; not asked before all singletons are created
	 * @param beanFactory has the transaction managers
	 */
	public TransactionFencing(Mode mode, Supplier<DefaultLeaderElectors> electors, ListableBeanFactory beanFactory) {
		this.mode = mode;
		this.supplier = electors;
		this.beanFactory = beanFactory;
	}

	@Override
	public int getOrder() {
		return LOWEST_PRECEDENCE;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (this.mode != Mode.OFF && bean instanceof TransactionManager manager) {
			add(listen(manager, beanName));
		}
		return bean;
	}

	private void add(FencedTransactions transactions) {
		transactions.report();
		this.managers.add(transactions);
	}

	private FencedTransactions listen(TransactionManager manager, String name) {
		if (manager instanceof ReactiveTransactionManager) {
			return new FencedTransactions(name, this, Coverage.REACTIVE);
		}
		if (!(manager instanceof ConfigurableTransactionManager configurable)) {
			return new FencedTransactions(name, this, Coverage.NO_CALLBACKS);
		}
		DataSource dataSource = TransactionDataSource.of(manager);
		FencedTransactions transactions = (dataSource != null) ? new FencedTransactions(name, this, dataSource)
				: new FencedTransactions(name, this, Coverage.NO_DATA_SOURCE);
		configurable.addListener(transactions);
		return transactions;
	}

	@Override
	public void afterSingletonsInstantiated() {
		if (this.mode != Mode.OFF) {
			this.electors = this.supplier.get();
			BeanFactoryUtils.beansOfTypeIncludingAncestors(this.beanFactory, TransactionManager.class, false, false)
				.keySet()
				.stream()
				.filter((name) -> this.managers.stream().noneMatch((known) -> known.name().equals(name)))
				.forEach((name) -> add(new FencedTransactions(name, this, Coverage.OUT_OF_SIGHT)));
		}
	}

	/**
	 * Bind the transaction that is under way on the current thread, if there is one, to a
	 * term.
	 * @param leadership the leadership of the work that begins
	 */
	public void join(Leadership leadership) {
		if (this.mode != Mode.OFF) {
			BoundTerms.bind(leadership);
		}
	}

	/**
	 * Find out which transactions are fenced, and say so. Takes a connection of each
	 * pool, but not while the database of the elections is out of reach.
	 */
	public void inspect() {
		DefaultLeaderElectors known = this.electors;
		if (known == null || known.all().stream().allMatch((elector) -> elector.status().lastConfirmation() == null)) {
			return;
		}
		for (FencedTransactions transactions : this.managers) {
			try {
				transactions.inspect();
			}
			catch (SQLException ex) {
				logger.debug("Could not find out on which database the transactions of '" + transactions.name()
						+ "' are, trying again with the first of them", ex);
			}
		}
	}

	/**
	 * Return which transactions are fenced.
	 * @return the coverage by the name of the transaction manager
	 */
	public Map<String, Coverage> coverage() {
		Map<String, Coverage> result = new LinkedHashMap<>();
		this.managers.forEach((transactions) -> result.put(transactions.name(), transactions.coverage()));
		return result;
	}

	/**
	 * Return in words which transactions are fenced.
	 * @return the coverage by the name of the transaction manager
	 */
	public Map<String, String> describe() {
		Map<String, String> result = new LinkedHashMap<>();
		coverage().forEach((name, coverage) -> result.put(name, coverage.toString()));
		return result;
	}

	boolean isRequired() {
		return this.mode == Mode.REQUIRED;
	}

	/**
	 * Return the leaderships whose work is under way on the current thread.
	 */
	List<Leadership> currentWork() {
		DefaultLeaderElectors known = this.electors;
		if (known == null) {
			return List.of();
		}
		List<Leadership> result = List.of();
		for (DefaultLeaderElector elector : known.all()) {
			Leadership leadership = elector.getWorkLeadership();
			if (leadership != null) {
				result = (result.isEmpty()) ? new ArrayList<>(1) : result;
				result.add(leadership);
			}
		}
		return result;
	}

	/**
	 * Return whether a connection leads to where the elections are held.
	 */
	@Nullable Boolean covers(Connection connection) throws SQLException {
		DefaultLeaderElectors known = this.electors;
		if (known != null) {
			for (DefaultLeaderElector elector : known.all()) {
				Boolean covered = elector.fenceChecks().covers(connection);
				if (covered != null) {
					return covered;
				}
			}
		}
		return null;
	}

	/**
	 * What is fenced.
	 */
	public enum Mode {

		/**
		 * Transactions on the database of the elections.
		 */
		AUTO,

		/**
		 * All transactions: one that cannot be fenced is an error.
		 */
		REQUIRED,

		/**
		 * Nothing.
		 */
		OFF

	}

}
