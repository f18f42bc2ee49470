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
import java.util.function.Consumer;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.health.LeadershipHealthIndicator;
import io.leaderelection.testsupport.PostgreSqlServer;
import io.leaderelection.testsupport.TcpProxy;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.BeanCreationException;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.beans.factory.config.AbstractFactoryBean;
import org.springframework.beans.factory.config.BeanPostProcessor;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Primary;
import org.springframework.core.PriorityOrdered;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.ReactiveTransaction;
import org.springframework.transaction.ReactiveTransactionManager;
import org.springframework.transaction.TransactionDefinition;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionTimedOutException;
import org.springframework.transaction.support.AbstractPlatformTransactionManager;
import org.springframework.transaction.support.DefaultTransactionStatus;
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

	/** With {@link SecondManager}. */
	private static ConfigurableApplicationContext shared;

	@BeforeAll
	static void start() {
		server.execute("DROP TABLE IF EXISTS covered; CREATE TABLE covered (id int)");
		server.execute("DROP DATABASE IF EXISTS other_database");
		server.execute("CREATE DATABASE other_database");
		new JdbcTemplate(dataSource("other_database")).execute("CREATE TABLE covered (id int)");
		shared = start(SecondManager.class);
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
		assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> insertLate(shared, "transactionManager"));
		assertThat(rows(server.database())).isZero();
	}

	@Test
	void anotherDatabaseIsNotFencedAndSaidSo(CapturedOutput output) {
		try (ConfigurableApplicationContext context = start(OtherDatabase.class)) {
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
			.isThrownBy(() -> start(OtherDatabase.class, "leader-election.fencing=required").close());
		assertThat(output).contains("leader-election.fencing")
			.contains("'other' are not fenced: not on the election database")
			.contains("set leader-election.fencing=auto");
	}

	@Test
	void sameDatabaseIsEnoughWhereFencingIsRequired() {
		try (ConfigurableApplicationContext context = start(SecondManager.class, "leader-election.fencing=required")) {
			assertThat(context.getBean(TransactionFencing.class).coverage())
				.containsOnly(Map.entry("transactionManager", Coverage.FENCED), Map.entry("second", Coverage.FENCED));
		}
	}

	@Test
	void routedTransactionsAreInspectedOneByOne() {
		Routed.database = "other_database";
		try (ConfigurableApplicationContext context = start(Routed.class)) {
			awaitCoverage(context, "routed", Coverage.OTHER_DATABASE);
			int before = rows("other_database");
			insertLate(context, "routed");
			assertThat(rows("other_database")).isEqualTo(before + 1);
			awaitLeader(context);
			Routed.database = "own";
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "routed"));
			awaitLeader(context);
			insert(context, "routed");
			awaitCoverage(context, "routed", Coverage.PARTLY);
		}
	}

	@Test
	void routedTransactionElsewhereIsRefusedWhereFencingIsRequired() {
		Routed.database = "own";
		try (ConfigurableApplicationContext context = start(Routed.class, "leader-election.fencing=required")) {
			awaitLeader(context);
			int before = rows("other_database");
			Routed.database = "other_database";
			assertThatIllegalStateException().isThrownBy(() -> insert(context, "routed"))
				.withMessageContaining("leader-election.fencing=required")
				.withMessageContaining("'routed'");
			assertThat(rows("other_database")).isEqualTo(before);
		}
	}

	@Test
	void reactiveTransactionsAreNotFencedAndSaidSo(CapturedOutput output) {
		try (ConfigurableApplicationContext context = start(Reactive.class)) {
			assertThat(context.getBean(TransactionFencing.class).coverage()).containsEntry("reactive",
					Coverage.REACTIVE);
			assertThat(output).contains("Transactions of 'reactive' in leader work are not fenced: reactive");
		}
	}

	@Test
	void reactiveTransactionsAreAnErrorWhereFencingIsRequired(CapturedOutput output) {
		assertThatExceptionOfType(Exception.class)
			.isThrownBy(() -> start(Reactive.class, "leader-election.fencing=required").close());
		assertThat(output).contains("'reactive' are not fenced: reactive");
		assertThat(output.toString().split("Transactions of 'reactive'")[1]).doesNotContain("Acquired leadership");
	}

	@Test
	void lazyTransactionManagerIsAnErrorWhereFencingIsRequired() {
		try (ConfigurableApplicationContext context = start(Reactive.class, "leader-election.fencing=required",
				"spring.main.lazy-initialization=true")) {
			assertThatExceptionOfType(BeanCreationException.class).isThrownBy(() -> context.getBean("reactive"))
				.withMessageContaining("'reactive' are not fenced: reactive");
		}
	}

	@Test
	void transactionManagerOfAParentContextIsNotFencedAndSaidSo() {
		try (AnnotationConfigApplicationContext parent = new AnnotationConfigApplicationContext(ParentContext.class);
				ConfigurableApplicationContext context = FencedApplication.start(server, parent)) {
			assertThat(context.getBean(TransactionFencing.class).coverage()).containsEntry("ofParent",
					Coverage.NOT_REGISTERED);
		}
	}

	@Test
	void transactionManagerOfAChildContextIsFenced() {
		TransactionFencing fencing = shared.getBean(TransactionFencing.class);
		String name = "ofParent of " + child(shared, ParentContext.class, (context) -> {
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "ofParent"));
			assertThat(rows(server.database())).isZero();
			awaitLeader(context);
			insert(context, "ofParent");
			assertThat(fencing.coverage()).containsEntry("ofParent of " + context.getId(), Coverage.FENCED);
		});
		assertThat(fencing.coverage()).doesNotContainKey(name);
		try (ConfigurableApplicationContext context = start(SecondManager.class, "leader-election.fencing=required")) {
			assertThatExceptionOfType(InvalidUsageException.class)
				.isThrownBy(() -> child(context, Reactive.class, (child) -> {
				}))
				.withMessageContaining("'reactive of ")
				.withMessageContaining("are not fenced: reactive");
		}
	}

	@ParameterizedTest
	@ValueSource(classes = { Replaced.class, EarlyProduct.class })
	void transactionManagerWhoseCreationIsNotSeenIsFenced(Class<?> configuration) {
		try (ConfigurableApplicationContext context = start(configuration)) {
			assertThatExceptionOfType(LeadershipLostException.class)
				.isThrownBy(() -> insertLate(context, "transactionManager"));
			assertThat(rows(server.database())).isZero();
			awaitCoverage(context, Map.of("transactionManager", Coverage.FENCED));
		}
	}

	private static String child(ConfigurableApplicationContext parent, Class<?> configuration,
			Consumer<ConfigurableApplicationContext> test) {
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
			context.setParent(parent);
			context.register(configuration);
			context.refresh();
			test.accept(context);
			return context.getId();
		}
	}

	@Test
	void transactionsOfAManagerWithoutSynchronizationsAreFenced() {
		withoutSynchronizations((manager) -> assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> insertLate(shared, "second")));
		assertThat(rows(server.database())).isZero();
	}

	@Test
	void workThatJoinsATransactionWithoutSynchronizationsBindsIt() {
		withoutSynchronizations((manager) -> assertThatExceptionOfType(LeadershipLostException.class)
			.isThrownBy(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> {
				work(manager.getDataSource());
				FencedApplication.loseTerm(shared, server);
			})));
		assertThat(rows(server.database())).isZero();
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
		assertThat(rows(server.database())).isZero();
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
	void driverOfAnotherClassLoaderIsFenced(String store) {
		OtherClassLoader.identifiable = true;
		try (ConfigurableApplicationContext context = start(OtherClassLoader.class, "leader-election.store=" + store,
				"leader-election.initialize-schema=always")) {
			insert(context, "container");
			assertThat(rows(server.database())).isOne();
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "container"));
			assertThat(rows(server.database())).isOne();
			awaitCoverage(context, "container", Coverage.FENCED);
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "advisory-lock", "table" })
	void databaseThatCannotBeIdentifiedIsRefused(String store) {
		OtherClassLoader.identifiable = false;
		try (ConfigurableApplicationContext context = start(OtherClassLoader.class, "leader-election.store=" + store,
				"leader-election.initialize-schema=always")) {
			assertThatExceptionOfType(DataAccessException.class).isThrownBy(() -> insertLate(context, "container"))
				.havingRootCause()
				.withMessage("unidentifiable");
			assertThat(rows(server.database())).isZero();
		}
	}

	@Test
	void anotherKindOfDatabaseIsLeftAlone() throws SQLException {
		try (ConfigurableApplicationContext context = start(OtherKind.class)) {
			awaitCoverage(context, "otherKind", Coverage.OTHER_DATABASE);
			DataSourceTransactionManager manager = context.getBean("otherKind", DataSourceTransactionManager.class);
			Runnable work = () -> context.getBean(LeaderElector.class)
				.runIfLeader(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> {
				}));
			work.run();
			for (Throwable unsupported : List.of(new SQLException(), new UnsupportedOperationException(),
					new AbstractMethodError())) {
				willThrow(unsupported).given(OtherKind.connection).isWrapperFor(any());
				work.run();
			}
			for (Throwable unsupported : List.of(new SQLFeatureNotSupportedException(),
					new UnsupportedOperationException(), new AbstractMethodError())) {
				willThrow(unsupported).given(OtherKind.connection).getMetaData();
				work.run();
			}
			then(OtherKind.connection).should(times(7)).commit();
			willThrow(new SQLException()).given(OtherKind.connection).getMetaData();
			assertThatExceptionOfType(DataAccessException.class).as("may be PostgreSQL").isThrownBy(work::run);
			then(OtherKind.connection).should(times(7)).commit();
			then(OtherKind.connection).should(never()).prepareStatement(anyString());
		}
	}

	@Test
	void lazyTransactionManagersStayLazy() {
		try (ConfigurableApplicationContext context = start(LazyManager.class)) {
			assertThat(context.getBeanFactory().containsSingleton("lazy")).isFalse();
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "lazy"));
			assertThat(rows(server.database())).isZero();
		}
	}

	@Test
	void listenersThatCannotBeAddedToAreKept() {
		try (ConfigurableApplicationContext context = start(FixedListeners.class)) {
			assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(context, "fixed"));
			// Although the cleanup of the connection commits if another listener fails
			assertThat(rows(server.database())).isZero();
			assertThat(context.getBean("fixed", DataSourceTransactionManager.class).getTransactionExecutionListeners())
				.contains(FixedListeners.listener);
		}
	}

	@Test
	void listenersThatAreReplacedAreNotReportedAsFencedAndRegisteredAgain(CapturedOutput output) {
		shared.getBean("second", DataSourceTransactionManager.class).setTransactionExecutionListeners(List.of());
		assertThat(shared.getBean(TransactionFencing.class).coverage()).containsEntry("second",
				Coverage.NOT_REGISTERED);
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(shared, "second"));
		assertThat(output)
			.containsOnlyOnce("The application has replaced the transaction execution listeners of 'second'");
		assertThat(shared.getBean(TransactionFencing.class).coverage()).containsEntry("second", Coverage.FENCED);
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
		assertThat(rows(server.database())).isZero();
	}

	@Test
	void dataSourceThatIsReplacedIsFencedToo() {
		DataSourceTransactionManager manager = shared.getBean("second", DataSourceTransactionManager.class);
		manager.setDataSource(dataSource(server.database()));
		assertThatExceptionOfType(LeadershipLostException.class).isThrownBy(() -> insertLate(shared, "second"));
		assertThat(rows(server.database())).isZero();
	}

	@Test
	void failureOfAPoolIsThatOfItsTransactionManagerOnly() {
		try (ConfigurableApplicationContext context = start(FailingPool.class)) {
			awaitCoverage(context, Map.of("failing", Coverage.UNKNOWN, "transactionManager", Coverage.FENCED));
		}
	}

	@Test
	void transactionsWithoutAConnectionAreNotFencedAndSaidSo(CapturedOutput output) {
		try (ConfigurableApplicationContext context = start(WithoutConnection.class)) {
			awaitCoverage(context, "unbound", Coverage.FENCED);
			PlatformTransactionManager manager = context.getBean("unbound", PlatformTransactionManager.class);
			context.getBean(LeaderElector.class)
				.runIfLeader(() -> new TransactionTemplate(manager).executeWithoutResult((status) -> {
				}));
			awaitCoverage(context, "unbound", Coverage.NO_DATA_SOURCE);
			assertThat(output)
				.contains("Transactions of 'unbound' in leader work are not fenced: without a DataSource");
		}
		try (ConfigurableApplicationContext context = start(WithoutConnection.class,
				"leader-election.fencing=required")) {
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
			.isThrownBy(() -> start(SecondManager.class, "leader-election.fencing=maybe").close());
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
			try (ConfigurableApplicationContext context = FencedApplication.start(server, SecondManager.class,
					"spring.datasource.url=" + server.jdbcUrl(proxy.port()))) {
				assertThat(context.getBean(TransactionFencing.class).coverage()).containsEntry("transactionManager",
						Coverage.UNKNOWN);
				proxy.heal();
				Awaitility.await()
					.untilAsserted(() -> assertThat(context.getBean(TransactionFencing.class).coverage())
						.containsEntry("transactionManager", Coverage.FENCED));
			}
		}
	}

	@Test
	void nothingIsFencedWhereFencingIsOff() {
		try (ConfigurableApplicationContext context = start(SecondManager.class, "leader-election.fencing=off")) {
			assertThat(context.getBean(TransactionFencing.class).coverage()).isEmpty();
			assertThat(health(context)).doesNotContainKey("fencing");
			insertLate(context, "second");
			assertThat(rows(server.database())).isOne();
		}
	}

	private static ConfigurableApplicationContext start(Class<?> configuration, String... properties) {
		ConfigurableApplicationContext context = FencedApplication.start(server, configuration, properties);
		awaitLeader(context);
		return context;
	}

	private static void awaitLeader(ConfigurableApplicationContext context) {
		Awaitility.await().until(context.getBean(LeaderElector.class)::isLeader);
	}

	private static void awaitCoverage(ConfigurableApplicationContext context, String manager, Coverage expected) {
		Awaitility.await()
			.untilAsserted(() -> assertThat(context.getBean(TransactionFencing.class).coverage()).containsEntry(manager,
					expected));
	}

	private static void awaitCoverage(ConfigurableApplicationContext context, Map<String, Coverage> expected) {
		Awaitility.await()
			.untilAsserted(() -> assertThat(context.getBean(TransactionFencing.class).coverage()).isEqualTo(expected));
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

	private static int rows(String database) {
		return new JdbcTemplate(dataSource(database)).queryForObject("SELECT count(*) FROM covered", Integer.class);
	}

	private static DataSource dataSource(String database) {
		return new DriverManagerDataSource(server.jdbcUrl().replaceFirst("/" + server.database() + "$", "/" + database),
				server.username(), server.password());
	}

	@Configuration(proxyBeanMethods = false)
	static class SecondManager {

		@Bean
		@Primary
		JdbcTransactionManager transactionManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		DataSourceTransactionManager second() {
			return new DataSourceTransactionManager(new LazyConnectionDataSourceProxy(dataSource(server.database())));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OtherKind {

		private static final Connection connection = mock(Connection.class);

		@Bean
		DataSourceTransactionManager otherKind() throws SQLException {
			given(connection.getAutoCommit()).willReturn(true, false);
			DataSource dataSource = mock(DataSource.class);
			given(dataSource.getConnection()).willReturn(connection);
			return new DataSourceTransactionManager(dataSource);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OtherClassLoader {

		private static volatile boolean identifiable;

		@Bean
		DataSourceTransactionManager container() throws ReflectiveOperationException {
			return new DataSourceTransactionManager(new DelegatingDataSource(server.withOtherClassLoader()) {

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

			});
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class LazyManager {

		@Bean
		@Primary
		JdbcTransactionManager transactionManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		@Lazy
		DataSourceTransactionManager lazy() {
			return new DataSourceTransactionManager(dataSource(server.database()));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class FixedListeners {

		private static final TransactionExecutionListener listener = new TransactionExecutionListener() {

			@Override
			public void beforeCommit(TransactionExecution transaction) {
				throw new TransactionTimedOutException("late");
			}

		};

		@Bean
		DataSourceTransactionManager fixed() {
			DataSourceTransactionManager manager = new DataSourceTransactionManager(dataSource(server.database()));
			manager.setTransactionExecutionListeners(List.of(listener));
			manager.setTransactionSynchronization(AbstractPlatformTransactionManager.SYNCHRONIZATION_NEVER);
			return manager;
		}

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

	@Configuration(proxyBeanMethods = false)
	static class FailingPool {

		@Bean
		DataSourceTransactionManager failing() throws SQLException {
			DataSource dataSource = mock(DataSource.class);
			given(dataSource.getConnection()).willThrow(new IllegalStateException("No tenant"));
			return new DataSourceTransactionManager(dataSource);
		}

		@Bean
		@Primary
		JdbcTransactionManager transactionManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class WithoutConnection {

		@Bean
		PlatformTransactionManager unbound(DataSource dataSource) {
			class Unbound extends AbstractPlatformTransactionManager implements ResourceTransactionManager {

				@Override
				public Object getResourceFactory() {
					return dataSource;
				}

				@Override
				protected Object doGetTransaction() {
					return this;
				}

				@Override
				protected void doBegin(Object transaction, TransactionDefinition definition) {
					TransactionSynchronizationManager.bindResource(dataSource, new ResourceHolderSupport() {
					});
				}

				@Override
				protected void doCleanupAfterCompletion(Object transaction) {
					TransactionSynchronizationManager.unbindResource(dataSource);
				}

				@Override
				protected void doCommit(DefaultTransactionStatus status) {
				}

				@Override
				protected void doRollback(DefaultTransactionStatus status) {
				}

			}
			return new Unbound();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class ParentContext {

		@Bean
		DataSourceTransactionManager ofParent() {
			return new DataSourceTransactionManager(dataSource(server.database()));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class OtherDatabase {

		@Bean
		@Primary
		JdbcTransactionManager transactionManager(DataSource dataSource) {
			return new JdbcTransactionManager(dataSource);
		}

		@Bean
		DataSourceTransactionManager other() {
			return new DataSourceTransactionManager(dataSource("other_database"));
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Routed {

		private static volatile String database = "own";

		@Bean
		DataSourceTransactionManager routed() {
			AbstractRoutingDataSource routing = new AbstractRoutingDataSource() {

				@Override
				protected Object determineCurrentLookupKey() {
					return database;
				}

			};
			routing.setTargetDataSources(
					Map.of("own", dataSource(server.database()), "other_database", dataSource("other_database")));
			routing.afterPropertiesSet();
			return new DataSourceTransactionManager(routing);
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class Reactive {

		@Bean
		ReactiveTransactionManager reactive() {
			return new ReactiveTransactionManager() {

				@Override
				public Mono<ReactiveTransaction> getReactiveTransaction(TransactionDefinition definition) {
					return Mono.empty();
				}

				@Override
				public Mono<Void> commit(ReactiveTransaction transaction) {
					return Mono.empty();
				}

				@Override
				public Mono<Void> rollback(ReactiveTransaction transaction) {
					return Mono.empty();
				}

			};
		}

	}

}
