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

import java.lang.reflect.Method;
import java.sql.Driver;
import java.sql.DriverManager;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariCredentialsProvider;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import com.zaxxer.hikari.util.PropertyElf;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.framework.Advised;
import org.springframework.beans.BeanUtils;
import org.springframework.beans.BeanWrapper;
import org.springframework.beans.DirectFieldAccessor;
import org.springframework.beans.PropertyAccessorFactory;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;
import org.springframework.jdbc.datasource.UserCredentialsDataSourceAdapter;
import org.springframework.jdbc.datasource.lookup.AbstractRoutingDataSource;
import org.springframework.util.Assert;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Determines where a {@link DataSource} connects and what it sets on its connections, so
 * that a separate connection can be opened. Looks behind wrappers. Does not follow what
 * may obtain its connections in another way than its properties say.
 */
final class PooledDataSources {

	private static final ClassLoader CLASS_LOADER = PooledDataSources.class.getClassLoader();

	private static final boolean HIKARI_PRESENT = ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource",
			CLASS_LOADER);

	private static final List<Class<?>> POOLS = present(List.of("com.mchange.v2.c3p0.PooledDataSource",
			"com.zaxxer.hikari.HikariDataSource", "io.agroal.api.AgroalDataSource", "oracle.ucp.jdbc.PoolDataSource",
			"org.apache.commons.dbcp2.BasicDataSource", "org.apache.tomcat.dbcp.dbcp2.BasicDataSource",
			"org.apache.tomcat.jdbc.pool.DataSourceProxy", "org.postgresql.ds.PGPoolingDataSource",
			"org.vibur.dbcp.ViburDBCPDataSource"));

	/**
	 * What is followed besides HikariCP, also of the class loader of a container. Exactly
	 * these classes, since subclasses may obtain their credentials elsewhere.
	 */
	private static final List<String> FOLLOWED = List.of("org.apache.commons.dbcp2.BasicDataSource",
			"org.apache.tomcat.dbcp.dbcp2.BasicDataSource", "org.apache.tomcat.jdbc.pool.DataSource",
			"org.postgresql.ds.PGPoolingDataSource", "org.postgresql.ds.PGSimpleDataSource",
			DriverManagerDataSource.class.getName(), SimpleDriverDataSource.class.getName(),
			SingleConnectionDataSource.class.getName());

	/** Each call decides which target or user they use. */
	private static final List<Class<?>> UNDECIDED = List.of(AbstractRoutingDataSource.class,
			UserCredentialsDataSourceAdapter.class);

	/** Pools come first, since they may be wrappers of what they connect with. */
	private static final List<Class<?>> TARGETS = Stream.of(POOLS, present(FOLLOWED), List.of(DataSource.class))
		.<Class<?>>flatMap(List::stream)
		.toList();

	private PooledDataSources() {
	}

	private static List<Class<?>> present(List<String> names) {
		return names.stream()
			.filter((name) -> ClassUtils.isPresent(name, CLASS_LOADER))
			.<Class<?>>map((name) -> ClassUtils.resolveClassName(name, CLASS_LOADER))
			.toList();
	}

	/**
	 * Return whether connections are opened separately and not by the data source.
	 * @param dataSource the data source
	 * @return whether it is a pool, or only holds URL and credentials
	 */
	static boolean isDerivable(DataSource dataSource) {
		return isFollowed(dataSource) || isPool(dataSource);
	}

	/**
	 * Return whether a data source has open connections to lend.
	 * @param dataSource the data source
	 * @return whether it is a pool
	 */
	static boolean isPool(DataSource dataSource) {
		DataSource root = root(dataSource);
		return POOLS.stream().anyMatch((type) -> type.isInstance(root));
	}

	private static boolean isFollowed(DataSource dataSource) {
		return FOLLOWED.contains(dataSource.getClass().getName()) || (HIKARI_PRESENT && Hikari.isFollowed(dataSource));
	}

	/**
	 * Return whether a pool has been started, as far as known. HikariCP, DBCP and the
	 * pool of Tomcat start with the first connection that is requested.
	 * @param pool the pool
	 * @return {@code false} if a request would start it
	 */
	static boolean isStarted(DataSource pool) {
		try {
			DirectFieldAccessor fields = new DirectFieldAccessor(root(pool));
			return Stream.of("pool", "connectionPool")
				.filter(fields::isReadableProperty)
				.noneMatch((name) -> fields.getPropertyValue(name) == null);
		}
		catch (RuntimeException ex) {
			// Its module is not open
			return true;
		}
	}

	/**
	 * Return the data source behind all wrappers.
	 * @param dataSource the data source
	 * @return the innermost one that can be determined
	 */
	static DataSource root(DataSource dataSource) {
		boolean last = isFollowed(dataSource) && !(dataSource instanceof Advised);
		DataSource target = last ? dataSource : target(dataSource);
		return (target == null || target == dataSource) ? dataSource : root(target);
	}

	private static @Nullable DataSource target(DataSource dataSource) {
		DataSource target = unwrap(dataSource, UNDECIDED);
		if (target == null && dataSource instanceof DelegatingDataSource delegating) {
			target = delegating.getTargetDataSource();
		}
		try {
			if (target == null && dataSource instanceof Advised advised) {
				target = (DataSource) advised.getTargetSource().getTarget();
			}
		}
		catch (Exception ex) {
			// Not outside of its scope
		}
		return (target != null) ? target : unwrap(dataSource, TARGETS);
	}

	private static @Nullable DataSource unwrap(DataSource dataSource, List<Class<?>> types) {
		for (Class<?> type : types) {
			try {
				if (dataSource.isWrapperFor(type) && dataSource.unwrap(type) instanceof DataSource target) {
					return target;
				}
			}
			catch (Exception | AbstractMethodError ex) {
				// Not for this type, or the driver is of an earlier JDBC
			}
		}
		return null;
	}

	/**
	 * Return the target of a data source.
	 * @param dataSource the data source
	 * @return the target
	 * @throws RuntimeException if it is not known how the data source connects
	 */
	static ConnectionTarget derive(DataSource dataSource) {
		DataSource root = root(dataSource);
		Assert.state(isFollowed(root), "its type is not known");
		return (HIKARI_PRESENT && Hikari.isFollowed(root)) ? Hikari.derive(root)
				: derive(PropertyAccessorFactory.forBeanPropertyAccess(root));
	}

	private static ConnectionTarget derive(BeanWrapper root) {
		for (String name : List.of("dataSource", "dataSourceJNDI", "connectionFactoryClassName")) {
			Assert.state(value(root, name) == null, () -> "the property " + name + " is set");
		}
		String url = text(root, "url");
		Assert.state(url != null, "it has no URL");
		Driver driver = (value(root, "driver") instanceof Driver instance) ? instance
				: driver(url, text(root, "driverClassName"));
		Object init = value(root, "initSQL", "connectionInitSqls");
		List<String> initSql = (init instanceof Collection<?> several) ? several.stream().map(String::valueOf).toList()
				: Stream.ofNullable(init).map(Object::toString).toList();
		return new ConnectionTarget(url, text(root, "username", "user"),
				text(root, "poolProperties.password", "password"), driver, driverProperties(root),
				text(root, "schema", "defaultSchema"), initSql);
	}

	private static @Nullable Object value(BeanWrapper root, String... names) {
		for (String name : names) {
			if (root.isReadableProperty(name)) {
				return root.getPropertyValue(name);
			}
		}
		return null;
	}

	private static @Nullable String text(BeanWrapper root, String... names) {
		Object value = value(root, names);
		return (value != null) ? value.toString() : null;
	}

	/** The method of DBCP is not public. */
	private static Properties driverProperties(BeanWrapper root) {
		Object properties = value(root, "dbProperties");
		Method method = ReflectionUtils.findMethod(root.getWrappedClass(), "getConnectionProperties");
		if (properties == null && method != null) {
			ReflectionUtils.makeAccessible(method);
			properties = ReflectionUtils.invokeMethod(method, root.getWrappedInstance());
		}
		return (properties instanceof Properties known) ? known : new Properties();
	}

	/**
	 * The driver of another database may be missing. One that is registered may have a
	 * state, as a pool's has.
	 */
	private static @Nullable Driver driver(String url, @Nullable String className) {
		return (className == null || !JdbcUrl.isPostgreSql(url)) ? null
				: DriverManager.drivers()
					.filter((registered) -> registered.getClass().getName().equals(className))
					.findFirst()
					.orElseGet(() -> (Driver) BeanUtils
						.instantiateClass(ClassUtils.resolveClassName(className, ClassUtils.getDefaultClassLoader())));
	}

	/**
	 * A separate class, since HikariCP may be missing.
	 */
	private static final class Hikari {

		/**
		 * A subclass may override what the pool asks for, but not how it is asked.
		 */
		static boolean isFollowed(DataSource dataSource) {
			Method method = ReflectionUtils.findMethod(ClassUtils.getUserClass(dataSource), "getConnection");
			return method != null && method.getDeclaringClass() == HikariDataSource.class;
		}

		static ConnectionTarget derive(DataSource root) {
			HikariDataSource pool = (HikariDataSource) root;
			ConnectionTarget target = target(pool);
			Credentials credentials;
			try {
				credentials = credentials(pool);
			}
			catch (RuntimeException ex) {
				// A service may be unreachable
				throw new NoCredentialsException(ex);
			}
			return target.with(credentials.getUsername(), credentials.getPassword(), pool.getSchema(),
					pool.getConnectionInitSql());
		}

		private static Credentials credentials(HikariDataSource pool) {
			HikariCredentialsProvider provider = null;
			try {
				provider = pool.getCredentialsProvider();
			}
			catch (NoSuchMethodError ex) {
				// HikariCP 6, the version of Spring Boot 3, has no providers
			}
			return (provider != null) ? provider.getCredentials() : pool.getCredentials();
		}

		private static ConnectionTarget target(HikariDataSource pool) {
			DataSource own = pool.getDataSource();
			if (own == null && pool.getDataSourceClassName() != null) {
				own = (DataSource) BeanUtils
					.instantiateClass(ClassUtils.resolveClassName(pool.getDataSourceClassName(), CLASS_LOADER));
				PropertyElf.setTargetFromProperties(own, pool.getDataSourceProperties());
			}
			if (own != null) {
				return PooledDataSources.derive(own);
			}
			String url = pool.getJdbcUrl();
			Assert.state(url != null, "it has no URL");
			return new ConnectionTarget(url, null, null, driver(url, pool.getDriverClassName()),
					pool.getDataSourceProperties(), null, List.of());
		}

	}

	/**
	 * A pool does not know its credentials for now.
	 */
	static final class NoCredentialsException extends RuntimeException {

		NoCredentialsException(RuntimeException cause) {
			super("The pool has no credentials: " + cause.getMessage(), cause);
		}

	}

}
