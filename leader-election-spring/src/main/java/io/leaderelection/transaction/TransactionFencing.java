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
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.function.Supplier;
import java.util.stream.Stream;

import javax.sql.DataSource;

import io.leaderelection.Leadership;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.ApplicationListener;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.ApplicationContextEvent;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.core.PriorityOrdered;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.ConfigurableTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionManager;
import org.springframework.transaction.support.ResourceHolder;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.Assert;
import org.springframework.util.function.SingletonSupplier;

/**
 * Fences the transactions of leader work in all transaction managers of an application.
 * Registers a listener with each transaction manager as soon as it has been created,
 * since its list of listeners must not change while there are transactions. Ordered last
 * among the {@link PriorityOrdered} processors, so that few transaction managers are
 * created before it.
 */
public final class TransactionFencing implements BeanPostProcessor, SmartInitializingSingleton, PriorityOrdered,
		ApplicationListener<ApplicationContextEvent> {

	private static final Log logger = LogFactory.getLog(TransactionFencing.class);

	private final SingletonSupplier<Settings> settings;

	private final Supplier<DefaultLeaderElectors> supplier;

	private final ConfigurableListableBeanFactory beanFactory;

	private volatile Map<String, FencedTransactions> managers = Map.of();

	/**
	 * The terms of transactions, by their resource. Weak keys, since not every end of a
	 * transaction is signalled. Not a thread-local, since threads of the application may
	 * outlive the context.
	 */
	private final Map<Object, List<Leadership>> bound = Collections.synchronizedMap(new WeakHashMap<>());

	private volatile @Nullable DefaultLeaderElectors electors;

	/**
	 * Create a new {@code TransactionFencing} instance.
	 * @param settings provides the settings; called once, when the first transaction
	 * manager or all singletons have been created
	 * @param electors provides the elections; not called before all singletons have been
	 * created
	 * @param beanFactory the bean factory of the transaction managers
	 */
	public TransactionFencing(Supplier<Settings> settings, Supplier<DefaultLeaderElectors> electors,
			ConfigurableListableBeanFactory beanFactory) {
		this.settings = SingletonSupplier.of(settings);
		this.supplier = electors;
		this.beanFactory = beanFactory;
	}

	@Override
	public int getOrder() {
		return LOWEST_PRECEDENCE;
	}

	@Override
	public Object postProcessAfterInitialization(Object bean, String beanName) {
		if (bean instanceof TransactionManager manager && isEnabled()) {
			listen(manager, beanName);
		}
		return bean;
	}

	/**
	 * Fences the transaction managers of a child context that has no elections of its
	 * own, also those that it creates later.
	 */
	@Override
	public void onApplicationEvent(ApplicationContextEvent event) {
		if (!isEnabled() || !(event.getApplicationContext() instanceof ConfigurableApplicationContext context)
				|| context.getBeanFactory().getBeanNamesForType(TransactionFencing.class, true, false).length > 0) {
			return;
		}
		ChildProcessor processor = ofChild(String.valueOf(context.getId()));
		if (event instanceof ContextRefreshedEvent) {
			context.getBeanFactory().addBeanPostProcessor(processor);
			listenToAll(context.getBeanFactory(), processor.suffix());
		}
		else if (event instanceof ContextClosedEvent) {
			remove(processor.suffix());
		}
	}

	/**
	 * Return a processor that fences the transaction managers that a child context
	 * creates. All those of a context are equal, so that it has one of them.
	 * @param context the id of the child
	 * @return the processor
	 */
	public ChildProcessor ofChild(String context) {
		return new ChildProcessor(this, " of " + context);
	}

	@Override
	public boolean supportsAsyncExecution() {
		return false;
	}

	/**
	 * Listen to the transaction managers that exist, unless their creation was seen:
	 * those that were created too early, products of a factory, and replacements by
	 * another processor.
	 */
	private void listenToAll(ConfigurableListableBeanFactory beanFactory, String suffix) {
		for (String name : beanFactory.getBeanNamesForType(TransactionManager.class, true, false)) {
			if (beanFactory.containsSingleton(name)
					&& beanFactory.getBean(name) instanceof TransactionManager manager) {
				FencedTransactions known = this.managers.get(name + suffix);
				if (known == null || !known.isFor(manager)) {
					listen(manager, name + suffix);
				}
			}
		}
	}

	private synchronized void remove(String suffix) {
		Map<String, FencedTransactions> remaining = new LinkedHashMap<>(this.managers);
		remaining.keySet().removeIf((name) -> name.endsWith(suffix));
		this.managers = Collections.unmodifiableMap(remaining);
	}

	private void listen(TransactionManager manager, String name) {
		if (manager instanceof ReactiveTransactionManager) {
			addUnfenced(name, Coverage.REACTIVE);
		}
		else if (manager instanceof ConfigurableTransactionManager configurable) {
			if (this.managers.values().stream().anyMatch((known) -> known.isListeningTo(configurable))) {
				// Another name for it, or seen by its context, too
				return;
			}
			add(new FencedTransactions(name, this, configurable, PersistenceContextFlush.of(manager),
					(TransactionDataSource.of(manager) != null) ? Coverage.UNKNOWN : Coverage.NO_DATA_SOURCE));
		}
		else {
			addUnfenced(name, Coverage.NO_CALLBACKS);
		}
	}

	private void addUnfenced(String name, Coverage reason) {
		add(new FencedTransactions(name, this, null, (transaction) -> {
		}, reason));
	}

	private synchronized void add(FencedTransactions transactions) {
		transactions.register();
		transactions.report();
		if (this.electors != null && isRequired()) {
			// A lazy one, created after the start
			check(transactions);
		}
		Map<String, FencedTransactions> extended = new LinkedHashMap<>(this.managers);
		extended.put(transactions.name(), transactions);
		this.managers = Collections.unmodifiableMap(extended);
	}

	@Override
	public void afterSingletonsInstantiated() {
		if (!isEnabled()) {
			return;
		}
		listenToAll(this.beanFactory, "");
		for (String name : BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory,
				TransactionManager.class, true, false)) {
			if (!this.beanFactory.containsLocalBean(name)) {
				addUnfenced(name, Coverage.NOT_REGISTERED);
			}
		}
		DefaultLeaderElectors known = this.supplier.get();
		known.all().forEach((elector) -> elector.gate().onEntry(this::join));
		this.electors = known;
		// Before elections start, as far as this is known without a database
		checkRequired();
	}

	/**
	 * Bind the transactions of the current thread to a term.
	 */
	private void join(Leadership leadership) {
		this.managers.values().forEach(FencedTransactions::register);
		for (Object resource : TransactionSynchronizationManager.getResourceMap().values()) {
			if (resource instanceof ResourceHolder) {
				bind(resource, leadership);
			}
		}
	}

	/**
	 * Remember a transaction that begins, until its end. Not once more for a transaction
	 * of another manager that uses its connection.
	 */
	void begun(ConnectionHolder holder) {
		if (this.bound.putIfAbsent(holder, List.of()) == null
				&& TransactionSynchronizationManager.isSynchronizationActive()) {
			TransactionSynchronizationManager.registerSynchronization(endOf(holder));
		}
		currentWork().forEach((leadership) -> bind(holder, leadership));
	}

	/**
	 * Bind a transaction of the current thread to a term.
	 */
	void bind(Object resource, Leadership leadership) {
		this.bound.merge(resource, List.of(leadership), (terms, added) -> terms.contains(leadership) ? terms
				: Stream.concat(terms.stream(), added.stream()).toList());
	}

	/**
	 * Roll back what has not been committed: a transaction manager does not do so after a
	 * {@link org.springframework.transaction.TransactionException} before the fence, for
	 * instance that of another synchronization, and the cleanup of the connection would
	 * commit.
	 */
	private TransactionSynchronization endOf(ConnectionHolder holder) {
		return new TransactionSynchronization() {

			@Override
			public void afterCompletion(int status) {
				List<Leadership> terms = TransactionFencing.this.bound.remove(holder);
				if (status != STATUS_COMMITTED && terms != null && !terms.isEmpty()
						&& TransactionSynchronizationManager.getResourceMap().containsValue(holder)) {
					try {
						holder.getConnection().rollback();
					}
					catch (SQLException | RuntimeException ex) {
						logger.debug("Could not roll back a transaction of leader work once more", ex);
					}
				}
			}

		};
	}

	/**
	 * Return the terms of a transaction. It may have begun before the listener of its
	 * manager was registered again.
	 * @param resource its resource
	 */
	List<Leadership> terms(@Nullable Object resource) {
		List<Leadership> terms = this.bound.getOrDefault(resource, List.of());
		return terms.isEmpty() ? currentWork() : terms;
	}

	/**
	 * Bind the transaction of the current thread to a term, and let its commit fail if it
	 * cannot be fenced: its data source may lead to another database than before.
	 * @param name the name of the transaction manager
	 * @param leadership the leadership
	 */
	public void require(String name, Leadership leadership) {
		FencedTransactions transactions = this.managers.get(name);
		Assert.state(transactions != null, () -> "Transactions of '" + name + "' are not fenced");
		transactions.require(leadership);
	}

	/**
	 * Determine which transactions are fenced, and log the result. Takes a connection of
	 * each pool, but not while the election database is unreachable.
	 * @return whether the coverage of all transaction managers is known
	 */
	public boolean inspect() {
		this.managers.values().forEach(this::inspect);
		return coverage().values().stream().noneMatch(Coverage::isPreliminary);
	}

	private void inspect(FencedTransactions transactions) {
		transactions.register();
		DefaultLeaderElectors known = this.electors;
		if (known == null || known.all().stream().allMatch((elector) -> elector.status().lastConfirmation() == null)) {
			return;
		}
		try {
			transactions.inspect();
		}
		catch (SQLException | RuntimeException | LinkageError ex) {
			// Also of a data source that the application has written, or of an old driver
			logger.debug("Could not determine the database of the transactions of '" + transactions.name() + "'", ex);
		}
	}

	/**
	 * Fail if transactions must be fenced but cannot be, as far as this is known.
	 * @throws InvalidUsageException if transactions of a manager cannot be fenced
	 */
	public void checkRequired() {
		if (isRequired()) {
			this.managers.values().forEach(TransactionFencing::check);
		}
	}

	private static void check(FencedTransactions transactions) {
		transactions.register();
		Coverage coverage = transactions.coverage();
		if (coverage.isImpossible()) {
			throw new InvalidUsageException("leader-election.fencing", "required",
					"Transactions of the transaction manager '" + transactions.name() + "' are " + coverage + ".",
					action(coverage));
		}
	}

	private static String action(Coverage coverage) {
		String auto = "set leader-election.fencing=auto to fence only transactions that can be fenced.";
		return switch (coverage) {
			case REFUSED ->
				"Grant their role what a warning in the log says is denied. With leader-election.store=table, "
						+ "the fence needs USAGE on the schema of the tables, SELECT and UPDATE (since) on that of "
						+ "elections, and SELECT on that of nodes.";
			case OTHER_DATABASE -> "Hold the elections on that database (leader-election.datasource.url), or " + auto;
			default ->
				"Use a DataSourceTransactionManager, JdbcTransactionManager or JpaTransactionManager, or " + auto;
		};
	}

	/**
	 * Return whether transactions of a transaction manager are on the election database.
	 * If this is not known yet, inspects it once.
	 * @param name the name of the transaction manager
	 * @return whether at least some are, or {@code null} if this is still not known
	 */
	public @Nullable Boolean coversElectionDatabase(String name) {
		FencedTransactions transactions = this.managers.get(name);
		if (transactions != null) {
			inspect(transactions);
		}
		Coverage coverage = coverage(name);
		return (coverage != Coverage.UNKNOWN) ? !coverage.isImpossible() : null;
	}

	private Coverage coverage(String name) {
		FencedTransactions transactions = this.managers.get(name);
		return (transactions != null) ? transactions.coverage() : Coverage.NOT_REGISTERED;
	}

	Map<String, Coverage> coverage() {
		Map<String, Coverage> result = new LinkedHashMap<>();
		this.managers.forEach((name, transactions) -> result.put(name, transactions.coverage()));
		return result;
	}

	/**
	 * Return the data source of the transactions of a transaction manager.
	 * @param name the name of the transaction manager
	 * @return the data source, or {@code null} if its transactions cannot be fenced
	 */
	public @Nullable DataSource dataSource(String name) {
		FencedTransactions transactions = this.managers.get(name);
		return (transactions != null) ? transactions.dataSource() : null;
	}

	/**
	 * Return which transactions are fenced, in words.
	 * @return the coverage by the name of the transaction manager
	 */
	public Map<String, String> describe() {
		Map<String, String> result = new LinkedHashMap<>();
		coverage().forEach((name, coverage) -> result.put(name, coverage.toString()));
		return result;
	}

	/**
	 * Return whether the transactions of a transaction manager are fenced, in words.
	 * @param name the name of the transaction manager
	 * @return the coverage
	 */
	public String describe(String name) {
		return coverage(name).toString();
	}

	/**
	 * Return whether transactions are fenced.
	 * @return whether fencing is enabled
	 */
	public boolean isEnabled() {
		return this.settings.obtain().enabled();
	}

	/**
	 * Return whether a transaction that cannot be fenced is an error.
	 * @return whether fencing is required
	 */
	public boolean isRequired() {
		return this.settings.obtain().required();
	}

	/**
	 * Return the leaderships whose work is running on the current thread.
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
	 * Fence a transaction.
	 * @return whether the transaction is on the election database, and is therefore
	 * fenced now
	 */
	boolean fence(Leadership leadership, Connection connection) throws SQLException {
		DefaultLeaderElectors known = this.electors;
		return known != null && known.get(leadership.getElection()).fence(leadership, connection);
	}

	/**
	 * Return whether a connection is a connection to the election database.
	 */
	@Nullable Boolean covers(Connection connection) throws SQLException {
		DefaultLeaderElectors known = this.electors;
		if (known != null) {
			for (DefaultLeaderElector elector : known.all()) {
				Boolean covered = elector.covers(connection);
				if (covered != null) {
					return covered;
				}
			}
		}
		return null;
	}

	/**
	 * Fences the transaction managers that a child context creates.
	 *
	 * @param fencing the fencing of the parent
	 * @param suffix what is added to the names of the child
	 */
	public record ChildProcessor(TransactionFencing fencing, String suffix) implements BeanPostProcessor {

		@Override
		public Object postProcessAfterInitialization(Object bean, String beanName) {
			return this.fencing.postProcessAfterInitialization(bean, beanName + this.suffix);
		}

	}

	/**
	 * The settings.
	 *
	 * @param enabled whether transactions are fenced
	 * @param required whether a transaction that cannot be fenced is an error
	 */
	public record Settings(boolean enabled, boolean required) {

	}

}
