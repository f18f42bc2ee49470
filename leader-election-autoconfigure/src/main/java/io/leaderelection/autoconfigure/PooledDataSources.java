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
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Stream;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariConfigMXBean;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;

import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.DirectFieldAccessor;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.jdbc.datasource.AbstractDriverBasedDataSource;
import org.springframework.jdbc.datasource.DelegatingDataSource;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils;

/**
 * Determines the target of a {@link DataSource}, so that a separate connection can be
 * opened. Covers properties of some data sources that
 * {@link DataSourceBuilder#derivedFrom(DataSource)} loses.
 */
final class PooledDataSources {

	private static final boolean HIKARI_PRESENT = ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource",
			PooledDataSources.class.getClassLoader());

	/**
	 * Classes and interfaces of pools by name, since none of them is required on the
	 * class path.
	 */
	private static final Set<String> POOLS = Set.of("com.mchange.v2.c3p0.PooledDataSource",
			"com.zaxxer.hikari.HikariDataSource", "io.agroal.api.AgroalDataSource", "oracle.ucp.jdbc.PoolDataSource",
			"org.apache.commons.dbcp2.BasicDataSource", "org.apache.tomcat.jdbc.pool.DataSourceProxy",
			"org.postgresql.ds.PGPoolingDataSource", "org.vibur.dbcp.ViburDBCPDataSource");

	/**
	 * Exactly these classes, since subclasses may obtain their credentials elsewhere.
	 */
	private static final Set<String> PLAIN = Set.of(SimpleDriverDataSource.class.getName(),
			DriverManagerDataSource.class.getName(), "org.postgresql.ds.PGSimpleDataSource");

	/**
	 * Methods that return the properties for the driver, by classes of pools. That of
	 * DBCP is not public.
	 */
	private static final Map<String, String> DRIVER_PROPERTIES = Map.of("org.apache.commons.dbcp2.BasicDataSource",
			"getConnectionProperties", "org.apache.tomcat.jdbc.pool.DataSourceProxy", "getDbProperties");

	private PooledDataSources() {
	}

	/**
	 * Return whether connections are opened separately and not by the data source.
	 * @param dataSource the data source
	 * @return whether it is a pool, or only holds URL and credentials
	 */
	static boolean isDerivable(DataSource dataSource) {
		return PLAIN.contains(dataSource.getClass().getName()) || isPool(dataSource);
	}

	/**
	 * Return whether a data source has open connections to lend.
	 * @param dataSource the data source
	 * @return whether it is a pool
	 */
	static boolean isPool(DataSource dataSource) {
		return isPool(root(dataSource).getClass());
	}

	/**
	 * Return whether a pool has been started, as far as known. HikariCP, DBCP and the
	 * pool of Tomcat start with the first connection that is requested.
	 * @param pool the pool
	 * @return {@code false} if a request would start it
	 */
	static boolean isStarted(DataSource pool) {
		DirectFieldAccessor fields = new DirectFieldAccessor(root(pool));
		return Stream.of("pool", "connectionPool")
			.filter(fields::isReadableProperty)
			.noneMatch((name) -> fields.getPropertyValue(name) == null);
	}

	/**
	 * As {@code DataSourceUnwrapper.unwrapRoot}, which Spring Boot 4.0 does not have.
	 * There, {@link DataSourceBuilder#derivedFrom(DataSource)} does not look behind a
	 * {@link DelegatingDataSource} or a proxy either.
	 */
	private static DataSource root(DataSource dataSource) {
		DataSource target = target(dataSource);
		return (target == null || target == dataSource) ? dataSource : root(target);
	}

	private static @Nullable DataSource target(DataSource dataSource) {
		if (dataSource instanceof DelegatingDataSource delegating && delegating.getTargetDataSource() != null) {
			return delegating.getTargetDataSource();
		}
		if (AopUtils.isAopProxy(dataSource)
				&& AopProxyUtils.getSingletonTarget(dataSource) instanceof DataSource target) {
			return target;
		}
		try {
			return dataSource.isWrapperFor(DataSource.class) ? dataSource.unwrap(DataSource.class) : null;
		}
		catch (Exception ex) {
			return null;
		}
	}

	private static boolean isPool(Class<?> type) {
		for (Class<?> current = type; current != null; current = current.getSuperclass()) {
			if (POOLS.contains(current.getName())) {
				return true;
			}
		}
		return ClassUtils.getAllInterfacesForClassAsSet(type)
			.stream()
			.anyMatch((implemented) -> POOLS.contains(implemented.getName()));
	}

	/**
	 * Return the target of a data source.
	 * @param dataSource the data source
	 * @return the target, or {@code null} if the data source has no URL
	 * @throws RuntimeException if the target cannot be determined
	 */
	static @Nullable ConnectionTarget derive(DataSource dataSource) {
		// The driver is overridden, since that of another database may be missing
		SimpleDriverDataSource derived = DataSourceBuilder.derivedFrom(root(dataSource))
			.type(SimpleDriverDataSource.class)
			.driverClassName(Driver.class.getName())
			.build();
		String url = derived.getUrl();
		if (url == null) {
			return null;
		}
		ConnectionTarget target = new ConnectionTarget(url, derived.getUsername(), derived.getPassword(),
				JdbcUrl.isPlain(url) ? derived.getDriver() : wrapperDriver(dataSource), driverProperties(dataSource));
		return HIKARI_PRESENT ? Hikari.withProvidedCredentials(dataSource, target) : target;
	}

	private static java.sql.@Nullable Driver wrapperDriver(DataSource dataSource) {
		try {
			return DataSourceBuilder.derivedFrom(root(dataSource))
				.type(SimpleDriverDataSource.class)
				.build()
				.getDriver();
		}
		catch (RuntimeException ex) {
			// Resolved by the DriverManager later
			return null;
		}
	}

	/**
	 * Return the properties that a data source passes to its driver, as far as known.
	 * @param dataSource the data source
	 * @return the properties
	 */
	static Properties driverProperties(DataSource dataSource) {
		AbstractDriverBasedDataSource driverBased = DataSourceUnwrapper.unwrap(dataSource,
				AbstractDriverBasedDataSource.class);
		Properties properties = (driverBased != null) ? driverBased.getConnectionProperties() : null;
		if (properties == null && HIKARI_PRESENT) {
			properties = Hikari.driverProperties(dataSource);
		}
		if (properties == null) {
			properties = driverPropertiesOfPool(root(dataSource));
		}
		return (properties != null) ? properties : new Properties();
	}

	private static @Nullable Properties driverPropertiesOfPool(DataSource pool) {
		for (Class<?> type = pool.getClass(); type != null; type = type.getSuperclass()) {
			String name = DRIVER_PROPERTIES.get(type.getName());
			Method method = (name != null) ? ReflectionUtils.findMethod(type, name) : null;
			if (method != null) {
				ReflectionUtils.makeAccessible(method);
				return (Properties) ReflectionUtils.invokeMethod(method, pool);
			}
		}
		return null;
	}

	/**
	 * A separate class, since HikariCP may be missing.
	 */
	private static final class Hikari {

		static @Nullable Properties driverProperties(DataSource dataSource) {
			HikariDataSource hikari = unwrap(dataSource);
			return (hikari != null) ? hikari.getDataSourceProperties() : null;
		}

		static ConnectionTarget withProvidedCredentials(DataSource dataSource, ConnectionTarget target) {
			HikariDataSource hikari = unwrap(dataSource);
			if (hikari == null || hikari.getCredentialsProvider() == null) {
				return target;
			}
			Credentials credentials = hikari.getCredentialsProvider().getCredentials();
			return target.withCredentials(credentials.getUsername(), credentials.getPassword());
		}

		private static @Nullable HikariDataSource unwrap(DataSource dataSource) {
			return DataSourceUnwrapper.unwrap(dataSource, HikariConfigMXBean.class, HikariDataSource.class);
		}

	}

}
