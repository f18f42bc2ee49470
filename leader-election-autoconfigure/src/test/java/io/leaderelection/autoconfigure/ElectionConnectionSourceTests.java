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

import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Logger;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Datasource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.assertj.core.api.ThrowableAssertAlternative;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.postgresql.ds.PGSimpleDataSource;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.target.SingletonTargetSource;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Lazy;
import org.springframework.context.annotation.Primary;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.util.Assert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link ElectionConnectionSource}, on a driver that only takes notes.
 */
@Tag("ring1")
class ElectionConnectionSourceTests {

	private static final String URL = "jdbc:notes:postgresql://host/db";

	private static final Duration BORROW_TIMEOUT = Duration.ofSeconds(20);

	private static final Properties NO_SETTINGS = new Properties();

	private final NotesDriver driver = new NotesDriver();

	private @Nullable AnnotationConfigApplicationContext context;

	@BeforeEach
	void register() throws SQLException {
		DriverManager.registerDriver(this.driver);
	}

	@AfterEach
	void deregister() throws SQLException {
		DriverManager.deregisterDriver(this.driver);
		if (this.context != null) {
			this.context.close();
		}
	}

	@Test
	void connectsWhereTheOneDataSourceConnects() throws SQLException {
		ElectionConnectionSource source = source(hikari(URL));
		source.check();
		source.connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo(URL);
		assertThat(this.driver.properties).containsEntry("user", "app").containsEntry("password", "secret");
		assertThat(source.describe()).isEqualTo(URL);
	}

	@Test
	void opensNoConnectionOfThePool() throws SQLException {
		HikariDataSource pool = hikari(URL);
		source(pool).connect(NO_SETTINGS);
		assertThat(pool.getHikariPoolMXBean()).isNull();
	}

	@Test
	void looksThroughProxiesOfTheDataSource() throws SQLException {
		source(new LazyConnectionDataSourceProxy(hikari(URL))).connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo(URL);
	}

	@Test
	void looksBehindDelegatesAndAdviceOfTheDataSource() throws SQLException {
		DataSource advised = (DataSource) new ProxyFactory(DataSource.class, new SingletonTargetSource(hikari(URL)))
			.getProxy();
		source(new DelegatingDataSource(new DelegatingDataSource(advised))).connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo(URL);
	}

	@Test
	void carriesOverDataSourcePropertiesOfHikari() throws SQLException {
		HikariDataSource pool = hikari(URL);
		pool.addDataSourceProperty("sslmode", "verify-full");
		pool.addDataSourceProperty("prepareThreshold", 3);
		pool.addDataSourceProperty("socketTimeout", "1");
		Properties settings = new Properties();
		settings.setProperty("socketTimeout", "7");
		source(pool).connect(settings);
		assertThat(this.driver.properties).containsEntry("sslmode", "verify-full")
			.containsEntry("prepareThreshold", "3")
			.containsEntry("socketTimeout", "7");
	}

	@Test
	void picksUpCredentialsThatWereChangedAtRunTime() throws SQLException {
		HikariDataSource pool = hikari(URL);
		ElectionConnectionSource source = source(pool);
		source.check();
		source.connect(NO_SETTINGS);
		pool.getHikariConfigMXBean().setPassword("rotated");
		source.connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("password", "rotated");
	}

	@Test
	void asksTheCredentialsProviderOfHikariEveryTime() throws SQLException {
		HikariDataSource pool = hikari(URL);
		AtomicReference<String> token = new AtomicReference<>("token-1");
		pool.setCredentialsProvider(() -> Credentials.of("iam", token.get()));
		ElectionConnectionSource source = source(pool);
		source.check();
		token.set("token-2");
		source.connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("user", "iam").containsEntry("password", "token-2");
	}

	@Test
	void credentialsThatFailForAMomentAreAskedForAgain() throws SQLException {
		AtomicBoolean fails = new AtomicBoolean(true);
		HikariDataSource pool = new HikariDataSource() {

			@Override
			public Credentials getCredentials() {
				Assert.state(!fails.get(), "no token");
				return Credentials.of("app", "token");
			}

		};
		pool.setJdbcUrl(URL);
		ElectionConnectionSource source = source(pool);
		source.check();
		assertThat(source.describe()).isEqualTo("unknown");
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> source.connect(NO_SETTINGS))
			.withMessageContaining("no token")
			.returns("08001", SQLException::getSQLState);
		fails.set(false);
		source.connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("password", "token");
	}

	@Test
	void carriesOverConnectionPropertiesOfDriverBasedDataSource() throws SQLException {
		DriverManagerDataSource dataSource = new DriverManagerDataSource(URL, "app", "secret");
		Properties properties = new Properties();
		properties.setProperty("sslmode", "require");
		dataSource.setConnectionProperties(properties);
		source(dataSource).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("sslmode", "require").containsEntry("user", "app");
	}

	@Test
	void carriesOverConnectionPropertiesOfDbcp() throws SQLException {
		BasicDataSource pool = new BasicDataSource();
		pool.setUrl(URL);
		pool.setUsername("app");
		pool.setPassword("secret");
		pool.setConnectionProperties("sslmode=verify-full;sslrootcert=ca.crt");
		source(pool).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("sslmode", "verify-full")
			.containsEntry("sslrootcert", "ca.crt")
			.containsEntry("user", "app")
			.containsEntry("password", "secret");
	}

	@Test
	void carriesOverConnectionPropertiesOfTomcat() throws SQLException {
		org.apache.tomcat.jdbc.pool.DataSource pool = new org.apache.tomcat.jdbc.pool.DataSource();
		pool.setUrl(URL);
		pool.setUsername("app");
		pool.setConnectionProperties("sslmode=verify-full;sslrootcert=ca.crt");
		source(pool).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("sslmode", "verify-full")
			.containsEntry("sslrootcert", "ca.crt")
			.containsEntry("user", "app");
	}

	@Test
	void ownUrlWinsOverTheDataSource() throws SQLException {
		ElectionConnectionSource source = source(hikari("jdbc:h2:mem:test"),
				new Datasource("jdbc:notes:postgresql://other/db", "elector", "pw"));
		source.check();
		source.connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo("jdbc:notes:postgresql://other/db");
		assertThat(this.driver.properties).containsEntry("user", "elector").containsEntry("password", "pw");
	}

	@Test
	void ownUrlTakesNoCredentialsFromTheDataSource() throws SQLException {
		source(hikari(URL), new Datasource("jdbc:notes:postgresql://other/db?user=x", null, null)).connect(NO_SETTINGS);
		assertThat(this.driver.properties).doesNotContainKeys("user", "password");
	}

	@Test
	void ownCredentialsReplaceThoseOfTheDataSource() throws SQLException {
		source(hikari(URL), new Datasource(null, "elector", null)).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("user", "elector").containsEntry("password", "secret");
		source(hikari(URL), new Datasource(null, "elector", "pw")).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("user", "elector").containsEntry("password", "pw");
	}

	@Test
	void dedicatedPoolIsDerivedFrom() throws SQLException {
		ElectionConnectionSource source = source(DedicatedPoolConfiguration.class, new Datasource(URL, null, null));
		source.check();
		source.connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo("jdbc:notes:postgresql://dedicated/db");
	}

	@Test
	void dedicatedPoolKeepsItsCredentialsBesideAnotherUrl() throws SQLException {
		source(DedicatedPoolConfiguration.class, new Datasource(URL, "other", "other-secret")).connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo("jdbc:notes:postgresql://dedicated/db");
		assertThat(this.driver.properties).containsEntry("user", "app").containsEntry("password", "secret");
	}

	@Test
	void dedicatedPoolKeepsItsCredentials() throws SQLException {
		source(DedicatedPoolConfiguration.class, new Datasource(null, "other", "other-secret")).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("user", "app").containsEntry("password", "secret");
	}

	@Test
	void dedicatedDataSourceThatIsNoPoolIsAsked() throws SQLException {
		ElectionConnectionSource source = source(DedicatedTokenConfiguration.class, none());
		source.check();
		Properties settings = new Properties();
		settings.setProperty("socketTimeout", "7");
		assertThat(source.connect(settings)).isNotNull();
		source.connect(settings);
		TokenDataSource dataSource = this.context.getBean(TokenDataSource.class);
		assertThat(dataSource.connections).isEqualTo(2);
		assertThat(dataSource.networkTimeout).isEqualTo(7000);
	}

	@Test
	void primaryOfSeveralDataSourcesIsTaken() throws SQLException {
		source(PrimaryConfiguration.class, none()).connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo("jdbc:notes:postgresql://primary/db");
	}

	@Test
	void poolOfTheApplicationLends() throws Exception {
		try (HikariDataSource pool = hikari(URL)) {
			ElectionConnectionSource source = source(pool);
			assertThat(source.borrow(BORROW_TIMEOUT)).isNull();
			source.check();
			start(pool);
			try (Connection lent = source.borrow(BORROW_TIMEOUT)) {
				assertThat(lent).isNotNull();
				assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isOne();
			}
			assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
		}
	}

	@Test
	void nothingIsLentByWhatIsNoPool() throws Exception {
		assertLendsNothing(source(new DriverManagerDataSource(URL)));
	}

	@Test
	void nothingIsLentByADriverOfAnEarlierJdbc() throws Exception {
		DataSource earlier = mock(DataSource.class);
		given(earlier.isWrapperFor(any())).willThrow(new AbstractMethodError());
		assertLendsNothing(source(earlier, new Datasource("jdbc:notes:postgresql://other/db", null, null)));
	}

	@Test
	void poolLendsNextToAnOwnUrl() throws Exception {
		try (HikariDataSource pool = hikari(URL)) {
			ElectionConnectionSource source = source(new LazyConnectionDataSourceProxy(pool),
					new Datasource("jdbc:notes:postgresql://other/db", null, null));
			assertLendsNothing(source);
			assertThat(pool.getHikariPoolMXBean()).as("not started for this").isNull();
			start(pool);
			try (Connection lent = source.borrow(BORROW_TIMEOUT)) {
				assertThat(lent).isNotNull();
				assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isOne();
			}
		}
	}

	@Test
	void poolLendsNextToADedicatedDataSource() throws Exception {
		ElectionConnectionSource source = source(DedicatedPoolConfiguration.class, none());
		assertLendsNothing(source);
		HikariDataSource pool = this.context.getBean("dataSource", HikariDataSource.class);
		start(pool);
		try (Connection lent = source.borrow(BORROW_TIMEOUT)) {
			assertThat(lent).isNotNull();
			assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isOne();
		}
		assertThat(this.context.getBean("electionDataSource", HikariDataSource.class).getHikariPoolMXBean()).isNull();
	}

	@Test
	void poolOfTomcatLendsWhenItHasBeenStarted() throws Exception {
		org.apache.tomcat.jdbc.pool.DataSource pool = new org.apache.tomcat.jdbc.pool.DataSource();
		pool.setUrl(URL);
		pool.setInitialSize(1);
		assertLendsWhenStarted(pool);
		pool.close();
	}

	@Test
	void poolOfDbcpLendsWhenItHasBeenStarted() throws Exception {
		try (BasicDataSource pool = new BasicDataSource()) {
			pool.setUrl(URL);
			assertLendsWhenStarted(pool);
		}
	}

	private void assertLendsWhenStarted(DataSource pool) throws Exception {
		ElectionConnectionSource source = source(pool, new Datasource("jdbc:notes:postgresql://other/db", null, null));
		assertLendsNothing(source);
		assertThat(this.driver.url).isNull();
		start(pool);
		try (Connection lent = source.borrow(BORROW_TIMEOUT)) {
			assertThat(lent).isNotNull();
		}
	}

	@Test
	void dataSourceThatCannotBeCreatedIsNotNeededNextToAnOwnUrl() throws Exception {
		assertLendsNothing(source(BrokenConfiguration.class, new Datasource(URL, null, null)));
	}

	/**
	 * Request a connection, as an application does.
	 */
	private void start(DataSource pool) throws SQLException {
		this.driver.connection = mock(Connection.class);
		given(this.driver.connection.isValid(anyInt())).willReturn(true);
		given(this.driver.connection.getAutoCommit()).willReturn(true);
		pool.getConnection().close();
	}

	@Test
	void primaryOfSeveralDataSourcesLends() throws Exception {
		ElectionConnectionSource source = source(PrimaryConfiguration.class, none());
		source.check();
		start(this.context.getBean("primary", HikariDataSource.class));
		try (Connection lent = source.borrow(BORROW_TIMEOUT)) {
			assertThat(lent).isNotNull();
		}
		assertThat(this.context.getBean("one", HikariDataSource.class).getHikariPoolMXBean()).isNull();
		assertThat(this.context.getBean("primary", HikariDataSource.class).getHikariPoolMXBean()).isNotNull();
	}

	private void assertLendsNothing(ElectionConnectionSource source) throws InterruptedException {
		source.check();
		assertThat(source.borrow(BORROW_TIMEOUT)).isNull();
	}

	@Test
	void pgSimpleDataSourceIsDerivedFrom() {
		PGSimpleDataSource dataSource = new PGSimpleDataSource();
		dataSource.setServerNames(new String[] { "pghost" });
		dataSource.setDatabaseName("db");
		dataSource.setUser("app");
		dataSource.setSslMode("require");
		ElectionConnectionSource source = source(dataSource);
		source.check();
		assertThat(source.describe()).startsWith("jdbc:postgresql://pghost").endsWith("/db");
	}

	@Test
	void looksForThePrimaryAmongSeveralHosts() throws SQLException {
		source(hikari("jdbc:notes:postgresql://a,b/db")).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("targetServerType", "preferPrimary");
	}

	@Test
	void leavesTheChoiceAmongSeveralHostsThatWasMade() throws SQLException {
		HikariDataSource pool = hikari("jdbc:notes:postgresql://a,b/db");
		pool.addDataSourceProperty("targetServerType", "any");
		source(pool).connect(NO_SETTINGS);
		assertThat(this.driver.properties).containsEntry("targetServerType", "any");
		source(hikari(URL)).connect(NO_SETTINGS);
		assertThat(this.driver.properties).doesNotContainKey("targetServerType");
	}

	@Test
	void refusesWithoutDataSource() {
		refused(source(EmptyConfiguration.class, none())).satisfies((ex) -> {
			assertThat(ex).hasMessageContaining("the application has no DataSource");
			assertThat(ex.getAction()).contains("spring.datasource.url", "leader-election.datasource.url",
					"leader-election.mode=always");
		});
	}

	@Test
	void refusesSeveralDataSourcesWithoutPrimary() {
		refused(source(SeveralConfiguration.class, none())).satisfies((ex) -> {
			assertThat(ex).hasMessageContaining("cannot determine which of 2 DataSource beans");
			assertThat(ex.getAction()).contains("@LeaderElectionDataSource");
		});
	}

	@Test
	void refusesOtherDatabases() {
		refused(source(hikari("jdbc:mysql://u:p@host/db?password=x"))).satisfies((ex) -> {
			assertThat(ex.getDescription())
				.isEqualTo("The application's DataSource points to jdbc:mysql:(hidden), but elections are held on "
						+ "PostgreSQL only.");
			assertThat(ex.getAction()).contains("leader-election.datasource.url").contains("mode=always");
		});
		refused(source(hikari(URL), new Datasource("jdbc:h2:mem:x", null, null))).satisfies(
				(ex) -> assertThat(ex).hasMessageStartingWith("leader-election.datasource.url points to jdbc:h2"));
	}

	@Test
	void refusesHikariWithoutUrl() {
		refused(source(new HikariDataSource())).satisfies((ex) -> {
			assertThat(ex).hasMessageContaining("The application's DataSource (com.zaxxer.hikari.HikariDataSource)")
				.hasMessageContaining("does not expose how it connects");
			assertThat(ex.getAction()).contains("leader-election.datasource.url", "@LeaderElectionDataSource");
		});
	}

	@Test
	void refusesWhatNothingCanBeDerivedFrom() {
		refused(source(new TokenDataSource()))
			.satisfies((ex) -> assertThat(ex).hasMessageContaining("TokenDataSource) does not expose how it connects"));
	}

	@Test
	void refusesUrlThatNoDriverKnows() {
		refused(source(EmptyConfiguration.class,
				new Datasource("jdbc:unheard:postgresql://h/db?password=x", null, null)))
			.satisfies((ex) -> {
				assertThat(ex).hasMessageContaining("no JDBC driver")
					.hasMessageContaining("jdbc:unheard:postgresql://h/db.");
				assertThat(ex.getAction()).contains("org.postgresql:postgresql");
			});
	}

	@Test
	void failureAtRunTimeIsAnSqlException() {
		HikariDataSource pool = new HikariDataSource();
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> source(pool).connect(NO_SETTINGS))
			.withMessageContaining("does not expose how it connects");
	}

	private static ThrowableAssertAlternative<InvalidUsageException> refused(ElectionConnectionSource source) {
		return assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(source::check);
	}

	static Datasource none() {
		return new Datasource(null, null, null);
	}

	static HikariDataSource hikari(String url) {
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setJdbcUrl(url);
		dataSource.setUsername("app");
		dataSource.setPassword("secret");
		return dataSource;
	}

	private ElectionConnectionSource source(DataSource dataSource) {
		return source(dataSource, none());
	}

	private ElectionConnectionSource source(DataSource dataSource, Datasource properties) {
		AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
		context.registerBean("dataSource", DataSource.class, () -> dataSource);
		return source(context, properties);
	}

	private ElectionConnectionSource source(Class<?> configuration, Datasource properties) {
		AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext();
		context.register(configuration);
		return source(context, properties);
	}

	private ElectionConnectionSource source(AnnotationConfigApplicationContext context, Datasource properties) {
		if (this.context != null) {
			this.context.close();
		}
		this.context = context;
		return of(context, properties);
	}

	static ElectionConnectionSource of(AnnotationConfigApplicationContext context, Datasource properties) {
		context.register(Providers.class);
		context.refresh();
		Providers providers = context.getBean(Providers.class);
		return new ElectionConnectionSource(providers.dedicated, providers.dataSources,
				new PropertiesLeaderElectionConnectionDetails(properties));
	}

	static class Providers {

		private final ObjectProvider<DataSource> dedicated;

		private final ObjectProvider<DataSource> dataSources;

		Providers(@LeaderElectionDataSource ObjectProvider<DataSource> dedicated,
				ObjectProvider<DataSource> dataSources) {
			this.dedicated = dedicated;
			this.dataSources = dataSources;
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class EmptyConfiguration {

	}

	@Configuration(proxyBeanMethods = false)
	static class DedicatedPoolConfiguration {

		@Bean
		DataSource dataSource() {
			return hikari("jdbc:notes:postgresql://app/db");
		}

		@Bean(defaultCandidate = false)
		@LeaderElectionDataSource
		DataSource electionDataSource() {
			return hikari("jdbc:notes:postgresql://dedicated/db");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class DedicatedTokenConfiguration {

		@Bean
		DataSource dataSource() {
			return hikari("jdbc:notes:postgresql://app/db");
		}

		@Bean(defaultCandidate = false)
		@LeaderElectionDataSource
		TokenDataSource electionDataSource() {
			return new TokenDataSource();
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class BrokenConfiguration {

		@Bean
		@Lazy
		DataSource dataSource() {
			throw new IllegalStateException("There is no URL");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class SeveralConfiguration {

		@Bean
		DataSource one() {
			return hikari("jdbc:notes:postgresql://one/db");
		}

		@Bean
		DataSource two() {
			return hikari("jdbc:notes:postgresql://two/db");
		}

	}

	@Configuration(proxyBeanMethods = false)
	static class PrimaryConfiguration extends SeveralConfiguration {

		@Bean
		@Primary
		DataSource primary() {
			return hikari("jdbc:notes:postgresql://primary/db");
		}

	}

	/**
	 * A data source that gets credentials of its own for each connection.
	 */
	static class TokenDataSource extends AbstractDataSource {

		private int connections;

		private int networkTimeout;

		@Override
		public Connection getConnection() {
			this.connections++;
			return (Connection) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { Connection.class },
					(proxy, method, args) -> {
						if (method.getName().equals("getNetworkTimeout")) {
							return 0;
						}
						if (method.getName().equals("setNetworkTimeout")) {
							this.networkTimeout = (int) args[1];
						}
						return method.getName().equals("toString") ? "connection" : null;
					});
		}

		@Override
		public Connection getConnection(String username, String password) {
			return getConnection();
		}

	}

	/**
	 * A driver that takes notes of what it was asked for.
	 */
	static class NotesDriver implements Driver {

		private @Nullable String url;

		@Nullable Properties properties;

		private @Nullable Connection connection;

		@Override
		public @Nullable Connection connect(String url, Properties info) {
			if (!acceptsURL(url)) {
				return null;
			}
			this.url = url;
			this.properties = info;
			return (this.connection != null) ? this.connection : new TokenDataSource().getConnection();
		}

		@Override
		public boolean acceptsURL(String url) {
			return url.startsWith("jdbc:notes:");
		}

		@Override
		public DriverPropertyInfo[] getPropertyInfo(String url, Properties info) {
			return new DriverPropertyInfo[0];
		}

		@Override
		public int getMajorVersion() {
			return 1;
		}

		@Override
		public int getMinorVersion() {
			return 0;
		}

		@Override
		public boolean jdbcCompliant() {
			return false;
		}

		@Override
		public Logger getParentLogger() {
			return Logger.getGlobal();
		}

	}

}
