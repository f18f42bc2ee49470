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
import java.sql.SQLFeatureNotSupportedException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.AbstractFactoryBean;
import org.springframework.beans.factory.config.BeanDefinitionCustomizer;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.PriorityOrdered;
import org.springframework.dao.DataAccessException;
import org.springframework.integration.transaction.PseudoTransactionManager;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionTimedOutException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.ResourceHolderSupport;
import org.springframework.transaction.support.ResourceTransactionManager;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyString;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willThrow;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.times;

/**
 * What is fenced with several transaction managers, and how an application learns of it.
 */
@ExtendWith(OutputCaptureExtension.class)
@Tag("ring1")
class FencingCoverageTests {

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	/** With the transaction managers of {@link #secondManager()}. */
	private static ConfigurableApplicationContext shared;

	@BeforeAll
	static void start() {
		server.execute("DROP TABLE IF EXISTS covered; CREATE TABLE covered (id int)");
		server.execute("DROP DATABASE IF EXISTS other_database");
		server.execute("CREATE DATABASE other_database");
		new JdbcTemplate(dataSource("other_database")).execute("CREATE TABLE covered (id int)");
		shared = start(secondManager());
	}

	@AfterAll
	static void stop() {
		shared.close();
	}

	@BeforeEach
	void lead() {
		awaitLeader(shared);
		server.execute("TRUNCATE covered");
	}

	@Test
	void everyTransactionManagerOnTheSameDatabaseIsFenced() {
		awaitCoverage(shared, Map.of("transactionManager", Coverage.FENCED, "second", Coverage.FENCED));
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(shared, "second"));
		awaitLeader(shared);
		assertFenced(shared, "transactionManager");
	}

	@Test
	void anotherDatabaseIsNotFencedAndSaidSo(CapturedOutput output) {
		try (ConfigurableApplicationContext context = start(otherDatabase())) {
			awaitCoverage(context, Map.of("transactionManager", Coverage.FENCED, "other", Coverage.OTHER_DATABASE));
			// Logged after the coverage has changed
			Awaitility.await()
				.untilAsserted(() -> assertThat(output)
					.contains("Transactions of 'other' in leader work are not fenced: not on the election database"));
			assertThat(health(context)).containsEntry("fencing",
					Map.of("transactionManager", "fenced", "other", "not fenced: not on the election database"));
			int before = rows("other_database");
			insertLate(context, "other");
			assertThat(rows("other_database")).isEqualTo(before + 1);
		}
	}

	@Test
	void anotherDatabaseIsAnErrorWhereFencingIsRequired(CapturedOutput output) {
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> start(otherDatabase(), "leader-election.fencing=required").close());
		assertThat(output).contains("leader-election.fencing")
			.contains("'other' are not fenced: not on the election database")
			.contains("set leader-election.fencing=auto");
	}

	@Test
	void routedTransactionsAreInspectedOneByOne() {
		AtomicReference<String> database = new AtomicReference<>("other_database");
		try (ConfigurableApplicationContext context = start(routed(database))) {
			awaitCoverage(context, "routed", Coverage.OTHER_DATABASE);
			int before = rows("other_database");
			insertLate(context, "routed");
			assertThat(rows("other_database")).isEqualTo(before + 1);
			awaitLeader(context);
			database.set("own");
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "routed"));
			awaitLeader(context);
			insert(context, "routed");
			awaitCoverage(context, "routed", Coverage.PARTLY);
		}
	}

	@Test
	void routedTransactionElsewhereIsRefusedWhereFencingIsRequired() {
		AtomicReference<String> database = new AtomicReference<>("own");
		try (ConfigurableApplicationContext context = start(routed(database), "leader-election.fencing=required")) {
			awaitLeader(context);
			int before = rows("other_database");
			database.set("other_database");
			assertThatIllegalStateException().isThrownBy(() -> insert(context, "routed"))
				.withMessageContaining("leader-election.fencing=required")
				.withMessageContaining("'routed'");
			assertThat(rows("other_database")).isEqualTo(before);
		}
	}

	@Test
	void reactiveTransactionsAreNotFencedAndSaidSo(CapturedOutput output) {
		try (ConfigurableApplicationContext context = start(reactive())) {
			assertThat(coverage(context)).containsEntry("reactive", Coverage.REACTIVE);
			assertThat(output).contains("Transactions of 'reactive' in leader work are not fenced: reactive");
		}
	}

	@Test
	void reactiveTransactionsAreAnErrorWhereFencingIsRequired(CapturedOutput output) {
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> start(reactive(), "leader-election.fencing=required").close());
		assertThat(output).contains("'reactive' are not fenced: reactive");
		assertThat(output.toString().split("Transactions of 'reactive'")[1]).doesNotContain("Acquired leadership");
	}

	@Test
	void lazyTransactionManagerIsAnErrorWhereFencingIsRequired() {
		try (ConfigurableApplicationContext context = start(reactive(), "leader-election.fencing=required",
				"spring.main.lazy-initialization=true")) {
			assertThatExceptionOfType(BeanCreationException.class).isThrownBy(() -> context.getBean("reactive"))
				.withMessageContaining("'reactive' are not fenced: reactive");
		}
	}

	@Test
	void transactionManagerOfAParentContextIsNotFencedAndSaidSo() {
		child(null, manager("ofParent", () -> dataSource(server.database())), (parent) -> {
			try (ConfigurableApplicationContext context = FencedApplication.start(server,
					(application) -> application.parent(parent))) {
				assertThat(coverage(context)).containsEntry("ofParent", Coverage.NOT_REGISTERED);
			}
		});
	}

	@Test
	void transactionManagerOfAChildContextIsFenced() {
		String name = "ofParent of "
				+ child(shared, manager("ofParent", () -> dataSource(server.database())), (context) -> {
					assertFenced(context, "ofParent");
					awaitLeader(context);
					insert(context, "ofParent");
					assertThat(coverage(shared)).containsEntry("ofParent of " + context.getId(), Coverage.FENCED);
				});
		assertThat(coverage(shared)).doesNotContainKey(name);
		try (ConfigurableApplicationContext context = start(secondManager(), "leader-election.fencing=required")) {
			assertThatExceptionOfType(InvalidUsageException.class)
				.isThrownBy(() -> child(context, reactive(), (child) -> {
				}))
				.withMessageContaining("'reactive of ")
				.withMessageContaining("are not fenced: reactive");
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { Replaced.class, EarlyProduct.class })
	void transactionManagerWhoseCreationIsNotSeenIsFenced(Class<?> configuration) {
		try (ConfigurableApplicationContext context = FencedApplication.start(server, configuration)) {
			awaitLeader(context);
			assertFenced(context, "transactionManager");
			awaitCoverage(context, Map.of("transactionManager", Coverage.FENCED));
		}
	}

	private static String child(@Nullable ApplicationContext parent, Consumer<GenericApplicationContext> beans,
			Consumer<ConfigurableApplicationContext> test) {
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
			context.setParent(parent);
			beans.accept(context);
			context.refresh();
			test.accept(context);
			return context.getId();
		}
	}

	@Test
	void transactionsOfAManagerWithoutSynchronizationsAreFenced() {
		withoutSynchronizations((manager) -> assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> insertLate(shared, "second")));
		assertThat(rows()).isZero();
	}

	@Test
	void workThatJoinsATransactionWithoutSynchronizationsBindsIt() {
		withoutSynchronizations((manager) -> assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> {
				work(manager.getDataSource());
				FencedApplication.loseTerm(shared, server);
			})));
		assertThat(rows()).isZero();
	}

	@Test
	void workThatJoinsTransactionsOfTwoManagersBindsBoth() {
		PlatformTransactionManager first = shared.getBean("transactionManager", PlatformTransactionManager.class);
		PlatformTransactionManager second = shared.getBean("second", PlatformTransactionManager.class);
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> new TransactionTemplate(first).executeWithoutResult((outer) -> {
				new TransactionTemplate(second).executeWithoutResult((inner) -> work(shared.getBean(DataSource.class)));
				FencedApplication.loseTerm(shared, server);
			}));
		assertThat(rows()).isZero();
	}

	@Test
	void transactionAroundOneThatFailsWithLeaderWorkKeepsItsChanges() {
		DataSourceTransactionManager second = shared.getBean("second", DataSourceTransactionManager.class);
		PlatformTransactionManager outer = shared.getBean("transactionManager", PlatformTransactionManager.class);
		JdbcTemplate outerJdbc = shared.getBean(JdbcTemplate.class);
		new TransactionTemplate(outer).executeWithoutResult((status) -> {
			outerJdbc.update("INSERT INTO covered VALUES (1)");
			assertThatIllegalStateException()
				.isThrownBy(() -> new TransactionTemplate(second).executeWithoutResult((inner) -> {
					work(second.getDataSource());
					throw new IllegalStateException("fails");
				}));
			outerJdbc.update("INSERT INTO covered VALUES (3)");
		});
		assertThat(server.query("SELECT id FROM covered ORDER BY id")).containsExactly("1", "3");
	}

	private static void withoutSynchronizations(Consumer<DataSourceTransactionManager> test) {
		DataSourceTransactionManager manager = shared.getBean("second", DataSourceTransactionManager.class);
		manager.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
		try {
			test.accept(manager);
		}
		finally {
			manager.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_ALWAYS);
		}
	}

	private static void work(DataSource dataSource) {
		shared.getBean(LeaderElector.class)
			.runIfLeader(() -> new JdbcTemplate(dataSource).update("INSERT INTO covered VALUES (1)"));
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void driverOfAnotherClassLoaderIsFenced(String store) throws Exception {
		try (ConfigurableApplicationContext context = start(otherClassLoader(true), "leader-election.store=" + store,
				"leader-election.initialize-schema=always")) {
			insert(context, "container");
			assertThat(rows()).isOne();
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "container"));
			assertThat(rows()).isOne();
			awaitCoverage(context, "container", Coverage.FENCED);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void databaseThatCannotBeIdentifiedIsRefused(String store) throws Exception {
		try (ConfigurableApplicationContext context = start(otherClassLoader(false), "leader-election.store=" + store,
				"leader-election.initialize-schema=always")) {
			assertThatExceptionOfType(DataAccessException.class).isThrownBy(() -> insertLate(context, "container"))
				.havingRootCause()
				.withMessage("unidentifiable");
			assertThat(rows()).isZero();
		}
	}

	@Test
	void anotherKindOfDatabaseIsLeftAlone() throws SQLException {
		Connection connection = mock();
		given(connection.getAutoCommit()).willReturn(true, false);
		DataSource dataSource = mock();
		given(dataSource.getConnection()).willReturn(connection);
		try (ConfigurableApplicationContext context = start(manager("otherKind", () -> dataSource))) {
			awaitCoverage(context, "otherKind", Coverage.OTHER_DATABASE);
			DataSourceTransactionManager manager = context.getBean("otherKind", DataSourceTransactionManager.class);
			Runnable work = () -> context.getBean(LeaderElector.class)
				.runIfLeader(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> {
				}));
			work.run();
			for (Throwable unsupported : List.of(new SQLException(), new UnsupportedOperationException(),
					new AbstractMethodError())) {
				willThrow(unsupported).given(connection).isWrapperFor(any());
				work.run();
			}
			for (Throwable unsupported : List.of(new SQLFeatureNotSupportedException(),
					new UnsupportedOperationException(), new AbstractMethodError())) {
				willThrow(unsupported).given(connection).getMetaData();
				work.run();
			}
			then(connection).should(times(7)).commit();
			willThrow(new SQLException()).given(connection).getMetaData();
			assertThatExceptionOfType(DataAccessException.class).as("may be PostgreSQL").isThrownBy(work::run);
			then(connection).should(times(7)).commit();
			then(connection).should(never()).prepareStatement(anyString());
		}
	}

	@Test
	void lazyTransactionManagersStayLazy() {
		try (ConfigurableApplicationContext context = start(secondManager("lazy", () -> dataSource(server.database()),
				(definition) -> definition.setLazyInit(true)))) {
			assertThat(context.getBeanFactory().containsSingleton("lazy")).isFalse();
			assertFenced(context, "lazy");
		}
	}

	@Test
	void listenersThatCannotBeAddedToAreKept() {
		TransactionExecutionListener listener = new TransactionExecutionListener() {

			@Override
			public void beforeCommit(TransactionExecution transaction) {
				throw new TransactionTimedOutException("late");
			}

		};
		DataSourceTransactionManager manager = new DataSourceTransactionManager(dataSource(server.database()));
		manager.setTransactionExecutionListeners(List.of(listener));
		manager.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
		try (ConfigurableApplicationContext context = start(
				(beans) -> beans.registerBean("fixed", DataSourceTransactionManager.class, () -> manager))) {
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "fixed"));
			// Although the cleanup of the connection commits if another listener fails
			assertThat(rows()).isZero();
			assertThat(manager.getTransactionExecutionListeners()).contains(listener);
		}
	}

	@Test
	void listenersThatAreReplacedAreNotReportedAsFencedAndRegisteredAgain(CapturedOutput output) {
		shared.getBean("second", DataSourceTransactionManager.class).setTransactionExecutionListeners(List.of());
		assertThat(coverage(shared)).containsEntry("second", Coverage.NOT_REGISTERED);
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(shared, "second"));
		assertThat(output)
			.containsOnlyOnce("The application has replaced the transaction execution listeners of 'second'");
		assertThat(coverage(shared)).containsEntry("second", Coverage.FENCED);
	}

	@Test
	void transactionWhoseCommitFailsBeforeTheFenceIsRolledBack() {
		assertThatExceptionOfType(TransactionTimedOutException.class).isThrownBy(() -> insert(shared, "second",
				() -> TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

					@Override
					public void beforeCommit(boolean readOnly) {
						throw new TransactionTimedOutException("late");
					}

				})));
		assertThat(rows()).isZero();
	}

	@Test
	void dataSourceThatIsReplacedIsFencedToo() {
		DataSourceTransactionManager manager = shared.getBean("second", DataSourceTransactionManager.class);
		manager.setDataSource(dataSource(server.database()));
		assertFenced(shared, "second");
	}

	@Test
	void failureOfAPoolIsThatOfItsTransactionManagerOnly() throws SQLException {
		DataSource dataSource = mock();
		given(dataSource.getConnection()).willThrow(new IllegalStateException("No tenant"));
		try (ConfigurableApplicationContext context = start(secondManager("failing", () -> dataSource))) {
			awaitCoverage(context, Map.of("failing", Coverage.UNKNOWN, "transactionManager", Coverage.FENCED));
		}
	}

	@Test
	void transactionsWithoutAConnectionAreNotFencedAndSaidSo(CapturedOutput output) {
		try (ConfigurableApplicationContext context = start(withoutConnection())) {
			awaitCoverage(context, "unbound", Coverage.FENCED);
			PlatformTransactionManager manager = context.getBean("unbound", PlatformTransactionManager.class);
			context.getBean(LeaderElector.class)
				.runIfLeader(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> {
				}));
			awaitCoverage(context, "unbound", Coverage.NO_DATA_SOURCE);
			assertThat(output)
				.contains("Transactions of 'unbound' in leader work are not fenced: without a DataSource");
		}
		try (ConfigurableApplicationContext context = start(withoutConnection(), "leader-election.fencing=required")) {
			TransactionTemplate joined = new TransactionTemplate(context.getBean(PlatformTransactionManager.class));
			assertThatIllegalStateException().isThrownBy(() -> joined
				.executeWithoutResult((status) -> context.getBean(LeaderElector.class).runIfLeader(() -> {
				}))).withMessageContaining("'unbound' in leader work must be fenced");
			joined.executeWithoutResult((status) -> {
			});
		}
	}

	@Test
	void unknownValueIsAnErrorThatNamesTheProperty(CapturedOutput output) {
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> start(secondManager(), "leader-election.fencing=maybe").close());
		assertThat(output).contains("leader-election.fencing").contains("maybe");
	}

	@Test
	void contextThatIsStoppedAndStartedStillFences() {
		shared.stop();
		shared.start();
		awaitLeader(shared);
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(shared, "second"));
	}

	@Test
	@Tag("ring2")
	void databaseThatIsAvailableLaterIsInspectedLater() throws Exception {
		try (TcpProxy proxy = new TcpProxy(server)) {
			proxy.refuse();
			try (ConfigurableApplicationContext context = FencedApplication.start(server, with(secondManager()),
					"spring.datasource.url=" + server.jdbcUrl(proxy.port()))) {
				assertThat(coverage(context)).containsEntry("transactionManager", Coverage.UNKNOWN);
				proxy.heal();
				awaitCoverage(context, "transactionManager", Coverage.FENCED);
			}
		}
	}

	@Test
	void nothingIsFencedWhereFencingIsOff() {
		try (ConfigurableApplicationContext context = start(secondManager(), "leader-election.fencing=off")) {
			assertThat(coverage(context)).isEmpty();
			assertThat(health(context)).doesNotContainKey("fencing");
			insertLate(context, "second");
			assertThat(rows()).isOne();
		}
	}

	private static ConfigurableApplicationContext start(Consumer<GenericApplicationContext> beans,
			String... properties) {
		ConfigurableApplicationContext context = FencedApplication.start(server, with(beans), properties);
		awaitLeader(context);
		return context;
	}

	private static UnaryOperator<SpringApplicationBuilder> with(Consumer<GenericApplicationContext> beans) {
		return (application) -> application
			.initializers((context) -> beans.accept((GenericApplicationContext) context));
	}

	private static Consumer<GenericApplicationContext> manager(String name, Supplier<DataSource> dataSource,
			BeanDefinitionCustomizer... customizers) {
		return (context) -> context.registerBean(name, DataSourceTransactionManager.class,
				() -> new DataSourceTransactionManager(dataSource.get()), customizers);
	}

	/** Beside a primary one, for the data source of the elections. */
	private static Consumer<GenericApplicationContext> secondManager(String name, Supplier<DataSource> dataSource,
			BeanDefinitionCustomizer... customizers) {
		Consumer<GenericApplicationContext> first = (context) -> context.registerBean("transactionManager",
				JdbcTransactionManager.class, () -> new JdbcTransactionManager(context.getBean(DataSource.class)),
				(definition) -> definition.setPrimary(true));
		return first.andThen(manager(name, dataSource, customizers));
	}

	private static Consumer<GenericApplicationContext> secondManager() {
		return secondManager("second", () -> new LazyConnectionDataSourceProxy(dataSource(server.database())));
	}

	private static Consumer<GenericApplicationContext> otherDatabase() {
		return secondManager("other", () -> dataSource("other_database"));
	}

	private static Consumer<GenericApplicationContext> routed(AtomicReference<String> database) {
		AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {

			@Override
			protected Object determineCurrentLookupKey() {
				return database.get();
			}

		};
		routing.setTargetDataSources(
				Map.of("own", dataSource(server.database()), "other_database", dataSource("other_database")));
		routing.afterPropertiesSet();
		return manager("routed", () -> routing);
	}

	private static Consumer<GenericApplicationContext> reactive() {
		return (context) -> context.registerBean("reactive", ReactiveTransactionManager.class, () -> mock());
	}

	private static Consumer<GenericApplicationContext> otherClassLoader(boolean identifiable)
			throws ReflectiveOperationException {
		DataSource dataSource = new DelegatingDataSource(server.withOtherClassLoader()) {

			@Override
			public Connection getConnection() throws SQLException {
				Connection connection = super.getConnection();
				return identifiable ? connection : mock(Connection.class, (call) -> {
					if (call.getMethod().getName().equals("createStatement")) {
						throw new SQLException("unidentifiable");
					}
					return call.getMethod().invoke(connection, call.getArguments());
				});
			}

		};
		return manager("container", () -> dataSource);
	}

	private static Consumer<GenericApplicationContext> withoutConnection() {
		return (context) -> context.registerBean("unbound", PlatformTransactionManager.class,
				() -> new Unbound(context.getBean(DataSource.class)));
	}

	private static void assertFenced(ConfigurableApplicationContext context, String manager) {
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, manager));
		assertThat(rows()).isZero();
	}

	private static void awaitLeader(ConfigurableApplicationContext context) {
		Awaitility.await().until(context.getBean(LeaderElector.class)::isLeader);
	}

	private static void awaitCoverage(ConfigurableApplicationContext context, String manager, Coverage expected) {
		Awaitility.await().untilAsserted(() -> assertThat(coverage(context)).containsEntry(manager, expected));
	}

	private static void awaitCoverage(ConfigurableApplicationContext context, Map<String, Coverage> expected) {
		Awaitility.await().untilAsserted(() -> assertThat(coverage(context)).isEqualTo(expected));
	}

	private static Map<String, Coverage> coverage(ConfigurableApplicationContext context) {
		return context.getBean(TransactionFencing.class).coverage();
	}

	private static Map<String, Object> health(ConfigurableApplicationContext context) {
		return context.getBean(LeadershipHealthIndicator.class).health().getDetails();
	}

	private static void insert(ConfigurableApplicationContext context, String manager) {
		insert(context, manager, () -> {
		});
	}

	private static void insertLate(ConfigurableApplicationContext context, String manager) {
		insert(context, manager, () -> FencedApplication.loseTerm(context, server));
	}

	private static void insert(ConfigurableApplicationContext context, String name, Runnable last) {
		PlatformTransactionManager manager = context.getBean(name, PlatformTransactionManager.class);
		DataSource dataSource = ((DataSourceTransactionManager) manager).getDataSource();
		context.getBean(LeaderElector.class)
			.runIfLeader(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> {
				new JdbcTemplate(dataSource).update("INSERT INTO covered VALUES (?)", 1);
				last.run();
			}));
	}

	private static int rows() {
		return rows(server.database());
	}

	private static int rows(String database) {
		return new JdbcTemplate(dataSource(database)).queryForObject("SELECT count(*) FROM covered", Integer.class);
	}

	private static DataSource dataSource(String database) {
		return new DriverManagerDataSource(server.jdbcUrl().replaceFirst("/" + server.database() + "$", "/" + database),
				server.username(), server.password());
	}

	@Configuration(proxyBeanMethods = false)
	static class Replaced {

		@Bean
		static BeanPostProcessor replacing() {
			return new BeanPostProcessor() {

				@Override
				public Object postProcessAfterInitialization(Object bean, String beanName) {
					return (bean instanceof JdbcTransactionManager manager)
							? new JdbcTransactionManager(manager.getDataSource()) : bean;
				}

			};
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class EarlyProduct {

		@Bean
		static FactoryBean<DataSourceTransactionManager> transactionManager() {
			return new AbstractFactoryBean<>() {

				@Override
				public Class<?> getObjectType() {
					return DataSourceTransactionManager.class;
				}

				@Override
				protected DataSourceTransactionManager createInstance() {
					return new DataSourceTransactionManager(dataSource(server.database()));
				}

			};
		}

		@Bean
		static Early early(PlatformTransactionManager manager) {
			return new Early(manager);
		}

		record Early(PlatformTransactionManager manager) implements BeanPostProcessor, PriorityOrdered {

			@Override
			public int getOrder() {
				return 0;
			}

		}

	}

	static class Unbound extends PseudoTransactionManager implements ResourceTransactionManager {

		private final DataSource dataSource;

		Unbound(DataSource dataSource) {
			this.dataSource = dataSource;
		}

		@Override
		public Object getResourceFactory() {
			return this.dataSource;
		}

		@Override
		protected void doBegin(Object transaction, TransactionDefinition definition) {
			TransactionSynchronizationManager.bindResource(this.dataSource, new ResourceHolderSupport() {
			});
		}

		@Override
		protected void doCleanupAfterCompletion(Object transaction) {
			TransactionSynchronizationManager.unbindResource(this.dataSource);
		}

	}

}
