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

import java.net.URL;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Datasource;
import org.apache.commons.dbcp2.BasicDataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.NullSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.support.AbstractBeanDefinition;
import org.springframework.beans.factory.support.AutowireCandidateQualifier;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.util.Assert;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.anyInt;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.times;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link ElectionConnectionSource}, on a driver that only takes notes.
 */
@Tag("ring1")
class ElectionConnectionSourceTests {

	private static final String URL = "jdbc:notes:postgresql://host/db";

	private static final Datasource NONE = new Datasource(null, null, null);

	private static final Datasource OTHER = new Datasource("jdbc:notes:postgresql://other/db", null, null);

	private static final Duration BORROW_TIMEOUT = Duration.ofSeconds(20);

	private static final Properties NO_SETTINGS = new Properties();

	private NotesDriver driver;

	private @Nullable AnnotationConfigApplicationContext context;

	@BeforeEach
	void register() throws SQLException {
		this.driver = new NotesDriver();
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
		assertConnected(URL, "app", "secret");
		assertThat(source.describe()).isEqualTo(URL);
	}

	@Test
	void opensNoConnectionOfThePool() throws SQLException {
		HikariDataSource pool = hikari(URL);
		source(pool).connect(NO_SETTINGS);
		assertThat(pool.getHikariPoolMXBean()).isNull();
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
	void asksTheCredentialsProviderOfHikariEveryTime() throws SQLException {
		HikariDataSource pool = hikari(URL);
		AtomicReference<@Nullable String> token = new AtomicReference<>();
		pool.setCredentialsProvider(() -> {
			Assert.state(token.get() != null, "no token");
			return Credentials.of("iam", token.get());
		});
		ElectionConnectionSource source = source(pool);
		source.check();
		assertThat(source.describe()).isEqualTo("unknown");
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> source.connect(NO_SETTINGS))
			.withMessageContaining("no token")
			.returns("08001", SQLException::getSQLState);
		for (String each : List.of("token-1", "token-2")) {
			token.set(each);
			source.connect(NO_SETTINGS);
			assertConnected(URL, "iam", each);
		}
	}

	@Test
	void ownUrlWinsOverTheDataSource() throws SQLException {
		ElectionConnectionSource source = source(hikari("jdbc:h2:mem:test"),
				new Datasource(OTHER.url(), "elector", "pw"));
		source.check();
		source.connect(NO_SETTINGS);
		assertConnected(OTHER.url(), "elector", "pw");
	}

	@Test
	void ownUrlTakesNoCredentialsFromTheDataSource() throws SQLException {
		source(hikari(URL), new Datasource("jdbc:notes:postgresql://other/db?user=x", null, null)).connect(NO_SETTINGS);
		assertThat(this.driver.properties).doesNotContainKeys("user", "password");
	}

	@Test
	void ownCredentialsReplaceThoseOfTheDataSource() throws SQLException {
		source(hikari(URL), new Datasource(null, "elector", null)).connect(NO_SETTINGS);
		assertConnected(URL, "elector", "secret");
		source(hikari(URL), new Datasource(null, "elector", "pw")).connect(NO_SETTINGS);
		assertConnected(URL, "elector", "pw");
	}

	/**
	 * It keeps its credentials, with and without another URL beside it.
	 */
	@ParameterizedTest
	@NullSource
	@ValueSource(strings = URL)
	void dedicatedPoolIsDerivedFrom(@Nullable String url) throws SQLException {
		ElectionConnectionSource source = source(dedicated(hikari("jdbc:notes:postgresql://dedicated/db")),
				new Datasource(url, "other", "other-secret"));
		source.check();
		source.connect(NO_SETTINGS);
		assertConnected("jdbc:notes:postgresql://dedicated/db", "app", "secret");
	}

	@Test
	void dedicatedDataSourceThatIsNoPoolIsAsked() throws SQLException {
		DataSource dataSource = mock();
		ElectionConnectionSource source = source(dedicated(dataSource), NONE);
		source.check();
		Properties settings = new Properties();
		settings.setProperty("socketTimeout", "7");
		given(dataSource.getConnection()).willReturn(this.driver.connection);
		assertThat(source.connect(settings)).isNotNull();
		source.connect(settings);
		verify(dataSource, times(2)).getConnection();
		verify(this.driver.connection, times(2)).setNetworkTimeout(any(), eq(7000));
	}

	@Test
	void primaryOfSeveralDataSourcesIsTaken() throws SQLException {
		source(this::registerPrimary, NONE).connect(NO_SETTINGS);
		assertThat(this.driver.url).isEqualTo("jdbc:notes:postgresql://primary/db");
	}

	@Test
	void poolOfTheApplicationLends() throws Exception {
		try (HikariDataSource pool = hikari(URL)) {
			ElectionConnectionSource source = source(pool);
			assertThat(source.borrow(BORROW_TIMEOUT)).isNull();
			source.check();
			pool.getConnection().close();
			assertLends(source, pool);
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
		assertLendsNothing(source(earlier, OTHER));
	}

	@Test
	void poolLendsNextToADedicatedDataSource() throws Exception {
		ElectionConnectionSource source = source(dedicated(hikari("jdbc:notes:postgresql://dedicated/db")), NONE);
		assertLendsNothing(source);
		HikariDataSource pool = this.context.getBean("dataSource", HikariDataSource.class);
		pool.getConnection().close();
		assertLends(source, pool);
		assertThat(this.context.getBean("electionDataSource", HikariDataSource.class).getHikariPoolMXBean()).isNull();
	}

	@ParameterizedTest
	@MethodSource
	void poolLendsNextToAnOwnUrlWhenItHasBeenStarted(DataSource pool) throws Exception {
		ElectionConnectionSource source = source(pool, OTHER);
		assertLendsNothing(source);
		assertThat(this.driver.url).as("not started for this").isNull();
		pool.getConnection().close();
		try (Connection lent = source.borrow(BORROW_TIMEOUT)) {
			assertThat(lent).isNotNull();
		}
	}

	static Stream<DataSource> poolLendsNextToAnOwnUrlWhenItHasBeenStarted() {
		org.apache.tomcat.jdbc.pool.DataSource tomcat = new org.apache.tomcat.jdbc.pool.DataSource();
		tomcat.setUrl(URL);
		tomcat.setInitialSize(1);
		BasicDataSource dbcp = new BasicDataSource();
		dbcp.setUrl(URL);
		return Stream.of(new LazyConnectionDataSourceProxy(hikari(URL)), tomcat, dbcp);
	}

	@Test
	void dataSourceThatCannotBeCreatedIsNotNeededNextToAnOwnUrl() throws Exception {
		assertLendsNothing(source((context) -> context.registerBean(DataSource.class, () -> {
			throw new IllegalStateException("There is no URL");
		}, (definition) -> definition.setLazyInit(true)), OTHER));
	}

	@Test
	void primaryOfSeveralDataSourcesLends() throws Exception {
		ElectionConnectionSource source = source(this::registerPrimary, NONE);
		source.check();
		this.context.getBean("primary", HikariDataSource.class).getConnection().close();
		assertLends(source, this.context.getBean("primary", HikariDataSource.class));
		assertThat(this.context.getBean("one", HikariDataSource.class).getHikariPoolMXBean()).isNull();
	}

	private void assertLendsNothing(ElectionConnectionSource source) throws InterruptedException {
		source.check();
		assertThat(source.borrow(BORROW_TIMEOUT)).isNull();
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
		assertRefused(source((context) -> {
		}, NONE), "the application has no DataSource", "spring.datasource.url", "leader-election.datasource.url",
				"leader-election.mode=always");
	}

	@Test
	void refusesSeveralDataSourcesWithoutPrimary() {
		assertRefused(source(this::registerSeveral, NONE), "cannot determine which of 2 DataSource beans",
				"@LeaderElectionDataSource");
	}

	@Test
	void refusesOtherDatabases() {
		assertRefused(source(hikari("jdbc:mysql://u:p@host/db?password=x")),
				"The application's DataSource points to jdbc:mysql:(hidden), but elections are held on PostgreSQL only.",
				"leader-election.datasource.url", "mode=always");
		assertRefused(source(hikari(URL), new Datasource("jdbc:h2:mem:x", null, null)),
				"leader-election.datasource.url points to jdbc:h2", "mode=always");
	}

	@Test
	void refusesHikariWithoutUrl() {
		assertRefused(source(new HikariDataSource()),
				"The application's DataSource (com.zaxxer.hikari.HikariDataSource) does not expose how it connects",
				"leader-election.datasource.url", "@LeaderElectionDataSource");
	}

	@Test
	void refusesUrlThatNoDriverKnows() {
		Datasource unheard = new Datasource("jdbc:unheard:postgresql://h/db?password=x", null, null);
		assertRefused(source(hikari(URL), unheard), "no JDBC driver", "org.postgresql:postgresql");
		assertRefused(source(hikari(URL), unheard), "jdbc:unheard:postgresql://h/db.", "org.postgresql:postgresql");
	}

	@Test
	void failureAtRunTimeIsAnSqlException() {
		HikariDataSource pool = new HikariDataSource();
		assertThatExceptionOfType(SQLException.class).isThrownBy(() -> source(pool).connect(NO_SETTINGS))
			.withMessageContaining("does not expose how it connects");
	}

	private static void assertRefused(ElectionConnectionSource source, String description, String... actions) {
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(source::check)
			.withMessageContaining(description)
			.satisfies((ex) -> assertThat(ex.getAction()).contains(actions));
	}

	private void assertConnected(String url, String username, String password) {
		assertThat(this.driver.url).isEqualTo(url);
		assertThat(this.driver.properties).containsEntry("user", username).containsEntry("password", password);
	}

	private static void assertLends(ElectionConnectionSource source, HikariDataSource pool) throws Exception {
		try (Connection lent = source.borrow(BORROW_TIMEOUT)) {
			assertThat(lent).isNotNull();
			assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isOne();
		}
	}

	private static HikariDataSource hikari(String url) {
		HikariDataSource dataSource = new HikariDataSource();
		dataSource.setJdbcUrl(url);
		dataSource.setUsername("app");
		dataSource.setPassword("secret");
		return dataSource;
	}

	private void registerSeveral(GenericApplicationContext context) {
		for (String name : List.of("one", "two")) {
			context.registerBean(name, DataSource.class, () -> hikari("jdbc:notes:postgresql://" + name + "/db"));
		}
	}

	private void registerPrimary(GenericApplicationContext context) {
		registerSeveral(context);
		context.registerBean("primary", DataSource.class, () -> hikari("jdbc:notes:postgresql://primary/db"),
				(definition) -> definition.setPrimary(true));
	}

	private ElectionConnectionSource source(DataSource dataSource) {
		return source(dataSource, NONE);
	}

	private ElectionConnectionSource source(DataSource dataSource, Datasource properties) {
		return source((context) -> context.registerBean("dataSource", DataSource.class, () -> dataSource), properties);
	}

	/**
	 * Beside a pool of the application.
	 */
	private static Consumer<AnnotationConfigApplicationContext> dedicated(DataSource dataSource) {
		return (context) -> {
			context.registerBean("dataSource", DataSource.class, () -> hikari("jdbc:notes:postgresql://app/db"));
			context.registerBean("electionDataSource", DataSource.class, () -> dataSource, (definition) -> {
				((AbstractBeanDefinition) definition).setDefaultCandidate(false);
				((AbstractBeanDefinition) definition)
					.addQualifier(new AutowireCandidateQualifier(LeaderElectionDataSource.class));
			});
		};
	}

	private ElectionConnectionSource source(Consumer<AnnotationConfigApplicationContext> beans, Datasource properties) {
		if (this.context != null) {
			this.context.close();
		}
		this.context = new AnnotationConfigApplicationContext();
		beans.accept(this.context);
		return of(this.context, properties);
	}

	static ElectionConnectionSource of(AnnotationConfigApplicationContext context, Datasource properties) {
		context.register(Providers.class);
		context.refresh();
		Providers providers = context.getBean(Providers.class);
		return new ElectionConnectionSource(providers.dedicated, providers.dataSources,
				new PropertiesLeaderElectionConnectionDetails(properties));
	}

	record Providers(@LeaderElectionDataSource ObjectProvider<DataSource> dedicated,
			ObjectProvider<DataSource> dataSources) {
	}

	/**
	 * A driver that takes notes of what it was asked for.
	 */
	static class NotesDriver extends org.postgresql.Driver {

		private final Connection connection = mock(Connection.class);

		private @Nullable String url;

		private @Nullable Properties properties;

		NotesDriver() throws SQLException {
			given(this.connection.isValid(anyInt())).willReturn(true);
			given(this.connection.getAutoCommit()).willReturn(true);
		}

		@Override
		public @Nullable Connection connect(String url, Properties info) {
			if (!acceptsURL(url)) {
				return null;
			}
			this.url = url;
			this.properties = info;
			return this.connection;
		}

		@Override
		public boolean acceptsURL(String url) {
			return url.startsWith("jdbc:notes:");
		}

	}

}
