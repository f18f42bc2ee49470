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

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.URL;
import java.net.URLClassLoader;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.LeaderElectionProperties.Datasource;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.apache.commons.dbcp2.BasicDataSource;
import org.apache.commons.dbcp2.DriverConnectionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;
import org.postgresql.ds.PGSimpleDataSource;
import org.postgresql.ds.common.BaseDataSource;

import org.springframework.aop.framework.ProxyFactory;
import org.springframework.aop.target.HotSwappableTargetSource;
import org.springframework.aop.target.SingletonTargetSource;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.jdbc.datasource.AbstractDataSource;
import org.springframework.jdbc.datasource.AbstractDriverBasedDataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.LazyConnectionDataSourceProxy;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.datasource.TransactionAwareDataSourceProxy;
import org.springframework.jdbc.datasource.UserCredentialsDataSourceAdapter;
import org.springframework.jdbc.datasource.embedded.ConnectionProperties;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseConfigurer;
import org.springframework.jdbc.datasource.embedded.EmbeddedDatabaseFactory;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.util.ClassUtils;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

/**
 * Tests for which data sources {@link ElectionConnectionSource} follows, on a real
 * server. Each constant is a row of the tables in docs/reference/configuration.md.
 */
@Tag("ring1")
class FollowedDataSourceTests {

	private static final String ROLE = "followed_" + UUID.randomUUID().toString().replace("-", "");

	private static final String SCHEMA = ROLE + "_schema";

	private static final String INIT_SQL = "SET work_mem = '77MB'";

	private static final String OPTIONS = "-c geqo_threshold=7";

	private static final PostgreSqlServer server = PostgreSqlServer.shared();

	@BeforeAll
	static void createRole() {
		server.execute("CREATE ROLE %1$s LOGIN PASSWORD 'secret'; CREATE SCHEMA %2$s AUTHORIZATION %1$s".formatted(ROLE,
				SCHEMA));
	}

	@AfterAll
	static void dropRole() {
		server.execute("DROP OWNED BY %1$s; DROP ROLE %1$s".formatted(ROLE));
	}

	@ParameterizedTest
	@EnumSource
	void followsWhatADataSourceIsConfiguredWith(Configured configured) throws SQLException {
		DataSource dataSource = configured.create();
		ElectionConnectionSource source = source(dataSource);
		source.check();
		assertFollowed(source, configured.settings);
		if (configured.settings.contains(Setting.ROTATION)) {
			rotate(dataSource, source);
		}
	}

	@ParameterizedTest
	@EnumSource(mode = Mode.MATCH_ANY, names = "HIKARI.*")
	void followsAPoolThatRuns(Configured configured) throws SQLException {
		try (HikariDataSource pool = (HikariDataSource) configured.create()) {
			pool.setMinimumIdle(1);
			pool.getConnection().close();
			assertFollowed(source(new Unwrapping(pool, false)), configured.settings);
		}
	}

	@ParameterizedTest
	@EnumSource
	void followsAPoolBehindItsWrappers(Wrapper wrapper) throws SQLException {
		HikariDataSource pool = (HikariDataSource) Configured.HIKARI.create();
		ElectionConnectionSource source = source(wrapper.around.apply(pool));
		source.check();
		assertFollowed(source, Configured.HIKARI.settings);
		rotate(pool, source);
	}

	@ParameterizedTest
	@EnumSource(names = { "DELEGATING", "LAZY", "TRANSACTION_AWARE", "SPRING_JDK_PROXY", "SPRING_CGLIB_PROXY",
			"EXCHANGEABLE_TARGET", "UNWRAPS_ITS_DELEGATE", "SEVERAL" })
	void followsAPoolThatCannotBeUnwrapped(Wrapper wrapper) throws SQLException {
		ElectionConnectionSource source = source(wrapper.around.apply(Configured.TOMCAT.create()));
		source.check();
		assertFollowed(source, Configured.TOMCAT.settings);
	}

	@Test
	void followsATargetThatIsExchanged() throws SQLException {
		HikariDataSource first = set(new HikariDataSource(), "jdbcUrl", "jdbc:postgresql://localhost:1/db");
		HotSwappableTargetSource target = new HotSwappableTargetSource(first);
		ElectionConnectionSource source = source(ProxyFactory.getProxy(DataSource.class, target));
		source.check();
		target.swap(Configured.HIKARI.create());
		assertFollowed(source, Configured.HIKARI.settings);
	}

	@Test
	void followsAnotherUrlOfThePool() throws SQLException {
		HikariDataSource pool = (HikariDataSource) Configured.HIKARI.create();
		String url = pool.getJdbcUrl();
		pool.setJdbcUrl("jdbc:postgresql://localhost:1/db");
		ElectionConnectionSource source = source(pool);
		source.check();
		pool.setJdbcUrl(url);
		assertFollowed(source, Configured.HIKARI.settings);
	}

	@ParameterizedTest
	@EnumSource
	void refusesWhatItCannotFollow(Refused refused) {
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> source(refused.dataSource).check())
			.satisfies((ex) -> {
				assertThat(ex).hasMessageContaining(refused.found).hasMessageNotContaining("secret");
				assertThat(ex.getAction()).contains("leader-election.datasource.url");
			});
	}

	private static void assertFollowed(ElectionConnectionSource source, List<Setting> settings) throws SQLException {
		try (Connection connection = connect(source)) {
			JdbcClient jdbc = JdbcClient.create(new SingleConnectionDataSource(connection, true));
			assertThat(jdbc.sql("SELECT current_user").query(String.class).single()).isEqualTo(ROLE);
			if (settings.contains(Setting.SCHEMA)) {
				assertThat(jdbc.sql("SELECT current_schema").query(String.class).single()).isEqualTo(SCHEMA);
			}
			if (settings.contains(Setting.INIT_SQL)) {
				assertThat(jdbc.sql("SHOW work_mem").query(String.class).single()).isEqualTo("77MB");
			}
			if (settings.contains(Setting.DRIVER_PROPERTIES)) {
				assertThat(jdbc.sql("SHOW geqo_threshold").query(String.class).single()).isEqualTo("7");
			}
			assertThat(connection.getAutoCommit()).isTrue();
		}
	}

	private static void rotate(DataSource dataSource, ElectionConnectionSource source) throws SQLException {
		server.execute("ALTER ROLE " + ROLE + " PASSWORD 'rotated-secret'");
		try {
			assertThatExceptionOfType(SQLException.class).isThrownBy(() -> connect(source));
			PropertyAccessorFactory.forBeanPropertyAccess(dataSource).setPropertyValue("password", "rotated-secret");
			connect(source).close();
		}
		finally {
			server.execute("ALTER ROLE " + ROLE + " PASSWORD 'secret'");
		}
	}

	private static Connection connect(ElectionConnectionSource source) throws SQLException {
		return source.connect(new Properties());
	}

	private static ElectionConnectionSource source(DataSource dataSource) {
		try (AnnotationConfigApplicationContext context = new AnnotationConfigApplicationContext()) {
			context.registerBean("dataSource", DataSource.class, () -> dataSource,
					(definition) -> definition.setDestroyMethodName(""));
			return ElectionConnectionSourceTests.of(context, new Datasource(null, null, null));
		}
	}

	private static <T extends DataSource> T set(T dataSource, Object... namesAndValues) {
		BeanWrapper wrapper = PropertyAccessorFactory.forBeanPropertyAccess(dataSource);
		for (int i = 0; i < namesAndValues.length; i += 2) {
			wrapper.setPropertyValue((String) namesAndValues[i], namesAndValues[i + 1]);
		}
		return dataSource;
	}

	/**
	 * What an election has in common with the application's connections.
	 */
	enum Setting {

		ROTATION, SCHEMA, INIT_SQL, DRIVER_PROPERTIES

	}

	/**
	 * Data sources and what they set on their connections.
	 */
	enum Configured {

		HIKARI(Configured::hikari, Setting.ROTATION, Setting.SCHEMA, Setting.INIT_SQL, Setting.DRIVER_PROPERTIES),

		HIKARI_THAT_OVERRIDES_GET_CREDENTIALS(() -> set(configure(new HikariDataSource() {

			@Override
			public Credentials getCredentials() {
				return Credentials.of(ROLE, "secret");
			}

		}), "credentials", Credentials.of("nobody", "nothing")), Setting.SCHEMA),

		HIKARI_WITH_CREDENTIALS_PROVIDER(() -> {
			HikariDataSource pool = set(hikari(), "password", "nothing");
			pool.setCredentialsProvider(() -> Credentials.of(ROLE, "secret"));
			return pool;
		}, Setting.SCHEMA),

		HIKARI_WITH_CLASS_NAME(() -> {
			HikariDataSource pool = set(hikari(), "jdbcUrl", null, "dataSourceClassName",
					PGSimpleDataSource.class.getName());
			pool.addDataSourceProperty("serverName", server.host());
			pool.addDataSourceProperty("portNumber", server.port());
			pool.addDataSourceProperty("databaseName", server.database());
			return pool;
		}, Setting.ROTATION, Setting.SCHEMA, Setting.INIT_SQL),

		HIKARI_AROUND_A_DATA_SOURCE(() -> set(hikari(), "dataSource",
				new DelegatingDataSource(new DriverManagerDataSource(server.jdbcUrl())), "jdbcUrl",
				"jdbc:postgresql://ignored/db"), Setting.ROTATION, Setting.SCHEMA, Setting.INIT_SQL),

		HIKARI_WITH_DRIVER_CLASS(
				() -> set(hikari(), "jdbcUrl", server.jdbcUrl().replace("jdbc:", RoleDriver.PREFIX), "driverClassName",
						RoleDriver.class.getName(), "credentials", Credentials.of("nobody", "nothing")),
				Setting.SCHEMA),

		DBCP(() -> set(new BasicDataSource(), "url", server.jdbcUrl(), "username", ROLE, "password", "secret",
				"defaultSchema", SCHEMA, "connectionInitSqls", List.of("SELECT 1", INIT_SQL), "connectionProperties",
				"connectTimeout=9;options=" + OPTIONS), Setting.ROTATION, Setting.SCHEMA, Setting.INIT_SQL,
				Setting.DRIVER_PROPERTIES),

		DBCP_OF_TOMCAT(Configured::dbcpOfTheContainer, Setting.ROTATION, Setting.SCHEMA, Setting.INIT_SQL,
				Setting.DRIVER_PROPERTIES),

		DBCP_WITH_DRIVER(() -> set(new BasicDataSource(), "url", server.jdbcUrl(), "driver", new RoleDriver())),

		TOMCAT(() -> set(new org.apache.tomcat.jdbc.pool.DataSource(), "url", server.jdbcUrl(), "username", ROLE,
				"password", "secret", "initSQL", INIT_SQL, "connectionProperties",
				"connectTimeout=9;options=" + OPTIONS), Setting.ROTATION, Setting.INIT_SQL, Setting.DRIVER_PROPERTIES),

		SIMPLE_DRIVER(() -> spring(new SimpleDriverDataSource(new org.postgresql.Driver(), server.jdbcUrl())),
				Setting.ROTATION, Setting.SCHEMA, Setting.DRIVER_PROPERTIES),

		SIMPLE_DRIVER_INSTANCE(() -> set(spring(new SimpleDriverDataSource(new RoleDriver(), server.jdbcUrl())),
				"password", "nothing"), Setting.SCHEMA),

		DRIVER_MANAGER(() -> spring(new DriverManagerDataSource(server.jdbcUrl())), Setting.ROTATION, Setting.SCHEMA,
				Setting.DRIVER_PROPERTIES),

		SINGLE_CONNECTION(() -> spring(set(new SingleConnectionDataSource(), "url", server.jdbcUrl())),
				Setting.ROTATION, Setting.SCHEMA, Setting.DRIVER_PROPERTIES),

		PG_SIMPLE(() -> pg(new PGSimpleDataSource()), Setting.ROTATION, Setting.SCHEMA, Setting.DRIVER_PROPERTIES),

		@SuppressWarnings("deprecation")
		PG_POOLING(() -> pg(new org.postgresql.ds.PGPoolingDataSource()), Setting.ROTATION, Setting.SCHEMA,
				Setting.DRIVER_PROPERTIES);

		private final Supplier<DataSource> dataSource;

		private final List<Setting> settings;

		Configured(Supplier<DataSource> dataSource, Setting... settings) {
			this.dataSource = dataSource;
			this.settings = List.of(settings);
		}

		DataSource create() {
			return this.dataSource.get();
		}

		private static HikariDataSource hikari() {
			return configure(new HikariDataSource());
		}

		private static HikariDataSource configure(HikariDataSource pool) {
			pool.addDataSourceProperty("options", OPTIONS);
			return set(pool, "jdbcUrl", server.jdbcUrl(), "username", ROLE, "password", "secret", "schema", SCHEMA,
					"connectionInitSql", INIT_SQL);
		}

		private static DataSource dbcpOfTheContainer() {
			// By JNDI, of the class loader of the container
			Class<?> type = org.apache.tomcat.dbcp.dbcp2.BasicDataSource.class;
			URL[] jars = Stream.of(type, org.apache.juli.logging.LogFactory.class)
				.map((each) -> each.getProtectionDomain().getCodeSource().getLocation())
				.toArray(URL[]::new);
			ClassLoader container = new URLClassLoader(jars, ClassLoader.getPlatformClassLoader());
			DataSource pool = (DataSource) BeanUtils
				.instantiateClass(ClassUtils.resolveClassName(type.getName(), container));
			return set(pool, "url", server.jdbcUrl(), "username", ROLE, "password", "secret", "defaultSchema", SCHEMA,
					"connectionInitSqls", List.of(INIT_SQL), "connectionProperties", "options=" + OPTIONS);
		}

		private static <T extends AbstractDriverBasedDataSource> T spring(T dataSource) {
			return set(dataSource, "username", ROLE, "password", "secret", "schema", SCHEMA, "connectionProperties",
					"options=" + OPTIONS);
		}

		private static <T extends BaseDataSource & DataSource> T pg(T dataSource) {
			dataSource.setServerNames(new String[] { server.host() });
			dataSource.setPortNumbers(new int[] { server.port() });
			return set(dataSource, "databaseName", server.database(), "user", ROLE, "password", "secret",
					"currentSchema", SCHEMA, "options", OPTIONS);
		}

	}

	/**
	 * What can be around a pool.
	 */
	enum Wrapper {

		DELEGATING(DelegatingDataSource::new),

		LAZY(LazyConnectionDataSourceProxy::new),

		TRANSACTION_AWARE(TransactionAwareDataSourceProxy::new),

		SPRING_JDK_PROXY(
				(pool) -> (DataSource) new ProxyFactory(DataSource.class, new SingletonTargetSource(pool)).getProxy()),

		SPRING_CGLIB_PROXY((pool) -> proxy(pool, false)),

		SPRING_OPAQUE_PROXY((pool) -> proxy(pool, true)),

		EXCHANGEABLE_TARGET((pool) -> ProxyFactory.getProxy(DataSource.class, new HotSwappableTargetSource(pool))),

		JDK_PROXY(Wrapper::jdkProxy),

		UNWRAPS_ITSELF((pool) -> new Unwrapping(pool, true)),

		UNWRAPS_ITS_DELEGATE((pool) -> new Unwrapping(pool, false)),

		SEVERAL((pool) -> new DelegatingDataSource(new LazyConnectionDataSourceProxy(
				new Unwrapping(proxy(new DelegatingDataSource(pool), false), false))));

		private final UnaryOperator<DataSource> around;

		Wrapper(UnaryOperator<DataSource> around) {
			this.around = around;
		}

		private static DataSource proxy(DataSource dataSource, boolean opaque) {
			ProxyFactory factory = new ProxyFactory(dataSource);
			factory.setProxyTargetClass(true);
			factory.setOpaque(opaque);
			return (DataSource) factory.getProxy();
		}

		private static DataSource jdkProxy(DataSource pool) {
			return (DataSource) Proxy.newProxyInstance(pool.getClass().getClassLoader(),
					new Class<?>[] { DataSource.class }, (proxy, method, arguments) -> {
						if (method.getName().equals("isWrapperFor") && arguments[0] == DataSource.class) {
							return true;
						}
						if (method.getName().equals("unwrap") && arguments[0] == DataSource.class) {
							return proxy;
						}
						try {
							return method.invoke(pool, arguments);
						}
						catch (InvocationTargetException ex) {
							throw ex.getCause();
						}
					});
		}

	}

	/**
	 * What cannot be followed.
	 */
	enum Refused {

		UNKNOWN(new UnknownDataSource(), "UnknownDataSource"),

		OPAQUE_WRAPPER(new OpaqueDataSource(Configured.HIKARI.create()), "OpaqueDataSource"),

		ROUTING(routing(), "RoutingDataSource"),

		ROUTING_BEHIND_A_PROXY(new LazyConnectionDataSourceProxy(Wrapper.proxy(routing(), false)),
				"LazyConnectionDataSourceProxy around "),

		ROUTING_BEHIND_A_WRAPPER(new Unwrapping(routing(), false), "RoutingDataSource"),

		USER_CREDENTIALS(userCredentials(), "UserCredentialsDataSourceAdapter"),

		USER_CREDENTIALS_BEHIND_A_PROXY(new DelegatingDataSource(userCredentials()),
				"UserCredentialsDataSourceAdapter"),

		HIKARI_THAT_OVERRIDES_GET_CONNECTION(set(new OverridingPool(), "jdbcUrl", server.jdbcUrl()), "OverridingPool"),

		HIKARI_AROUND_AN_UNKNOWN_DATA_SOURCE(set(new HikariDataSource(), "dataSource", new UnknownDataSource()),
				"HikariDataSource"),

		HIKARI_AROUND_A_ROUTING_DATA_SOURCE(set(new HikariDataSource(), "dataSource", routing()), "HikariDataSource"),

		HIKARI_OF_JNDI(set(new HikariDataSource(), "dataSourceJNDI", "java:comp/env/shop"), "HikariDataSource"),

		HIKARI_WITHOUT_ITS_CLASS(set(new HikariDataSource(), "dataSourceClassName", "com.example.MissingDataSource"),
				"com.example.MissingDataSource"),

		DBCP_SUBCLASS(set(new BasicDataSource() {
		}, "url", server.jdbcUrl()), "FollowedDataSourceTests$"),

		DBCP_WITH_CONNECTION_FACTORY(
				set(Configured.DBCP.create(), "connectionFactoryClassName", DriverConnectionFactory.class.getName()),
				"the property connectionFactoryClassName is set"),

		TOMCAT_AROUND_A_DATA_SOURCE(set(Configured.TOMCAT.create(), "dataSource", new UnknownDataSource()),
				"the property dataSource is set"),

		TOMCAT_OF_JNDI(set(Configured.TOMCAT.create(), "dataSourceJNDI", "java:comp/env/shop"),
				"the property dataSourceJNDI is set"),

		DRIVER_MANAGER_SUBCLASS(set(new DriverManagerDataSource() {
		}, "url", server.jdbcUrl()), "FollowedDataSourceTests$"),

		EMBEDDED(embedded(), "points to jdbc:h2:mem:test, but elections are held on PostgreSQL only");

		private final DataSource dataSource;

		private final String found;

		Refused(DataSource dataSource, String found) {
			this.dataSource = dataSource;
			this.found = found;
		}

		private static DataSource routing() {
			RoutingDataSource routing = new RoutingDataSource();
			routing.setTargetDataSources(Map.of());
			routing.setDefaultTargetDataSource(Configured.HIKARI.create());
			routing.afterPropertiesSet();
			return routing;
		}

		private static DataSource userCredentials() {
			return set(new UserCredentialsDataSourceAdapter(), "targetDataSource", Configured.PG_SIMPLE.create(),
					"username", "other", "password", "secret");
		}

		private static DataSource embedded() {
			EmbeddedDatabaseFactory factory = new EmbeddedDatabaseFactory();
			factory.setDatabaseConfigurer(new EmbeddedDatabaseConfigurer() {

				@Override
				public void configureConnectionProperties(ConnectionProperties properties, String databaseName) {
					properties.setDriverClass(RoleDriver.class);
					properties.setUrl("jdbc:h2:mem:test;PASSWORD=secret");
				}

				@Override
				public void shutdown(DataSource dataSource, String databaseName) {
				}

			});
			return factory.getDatabase();
		}

	}

	/**
	 * A driver that connects with credentials of its own, as that of AWS Secrets Manager.
	 */
	public static class RoleDriver extends org.postgresql.Driver {

		private static final String PREFIX = "jdbc-secretsmanager:";

		@Override
		public boolean acceptsURL(String url) {
			return super.acceptsURL(url.replace(PREFIX, "jdbc:"));
		}

		@Override
		public Connection connect(String url, Properties properties) throws SQLException {
			Properties own = new Properties();
			own.putAll(properties);
			own.setProperty("user", ROLE);
			own.setProperty("password", "secret");
			return super.connect(url.replace(PREFIX, "jdbc:"), own);
		}

	}

	static class UnknownDataSource extends AbstractDataSource {

		@Override
		public Connection getConnection() throws SQLException {
			throw new SQLException("Not asked");
		}

		@Override
		public Connection getConnection(String username, String password) throws SQLException {
			return getConnection();
		}

	}

	static class RoutingDataSource extends AbstractRoutingDataSource {

		@Override
		protected Object determineCurrentLookupKey() {
			return "none";
		}

	}

	static class OpaqueDataSource extends UnknownDataSource {

		final DataSource delegate;

		OpaqueDataSource(DataSource delegate) {
			this.delegate = delegate;
		}

		@Override
		public Connection getConnection() throws SQLException {
			return this.delegate.getConnection();
		}

	}

	static class OverridingPool extends HikariDataSource {

		@Override
		public Connection getConnection() throws SQLException {
			return super.getConnection();
		}

	}

	/**
	 * A wrapper as that of a library.
	 */
	static class Unwrapping extends OpaqueDataSource {

		private final boolean itself;

		Unwrapping(DataSource delegate, boolean itself) {
			super(delegate);
			this.itself = itself;
		}

		@Override
		public <T> T unwrap(Class<T> type) throws SQLException {
			if (type.isInstance(this) && this.itself) {
				return type.cast(this);
			}
			return type.isInstance(this.delegate) ? type.cast(this.delegate) : this.delegate.unwrap(type);
		}

		@Override
		public boolean isWrapperFor(Class<?> type) throws SQLException {
			return (this.itself && type.isInstance(this)) || type.isInstance(this.delegate)
					|| this.delegate.isWrapperFor(type);
		}

	}

}
