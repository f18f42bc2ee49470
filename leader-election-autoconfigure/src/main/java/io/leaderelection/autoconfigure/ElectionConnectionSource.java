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

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.function.Supplier;

import javax.sql.DataSource;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.autoconfigure.PooledDataSources.NoCredentialsException;
import io.leaderelection.postgresql.ConnectionSource;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.BeansException;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.jdbc.support.JdbcUtils;
import org.springframework.util.StringUtils;

/**
 * Opens the connections of elections, never from a pool, and lends connections of the
 * application's pool for short reads. The target is determined by the first of these that
 * is present:
 * <ol>
 * <li>a {@link LeaderElectionDataSource @LeaderElectionDataSource}
 * <li>the URL of the {@link LeaderElectionConnectionDetails}, by default
 * {@code leader-election.datasource.url}
 * <li>the one or primary {@link DataSource} of the application
 * </ol>
 * Beans are looked up once, on the thread that starts the application. URL and
 * credentials are read again for every connection, since those of a pool may change at
 * runtime.
 */
final class ElectionConnectionSource implements ConnectionSource {

	private static final Log logger = LogFactory.getLog(ElectionConnectionSource.class);

	private static final String DEDICATE = "declare a bean @Bean(defaultCandidate = false) @LeaderElectionDataSource "
			+ "DataSource";

	private static final String WITHOUT_DATABASE = " To run without elections, for instance in tests, set leader-election.mode=always.";

	private final ObjectProvider<DataSource> dedicated;

	private final ObjectProvider<DataSource> dataSources;

	private final LeaderElectionConnectionDetails details;

	private volatile @Nullable Origin origin;

	/** Shown often, while credentials may be asked for elsewhere. */
	private volatile @Nullable String description;

	private volatile @Nullable PoolLender lender;

	private volatile boolean shared;

	/**
	 * Create a new {@code ElectionConnectionSource} instance.
	 * @param dedicated the data source for elections
	 * @param dataSources the data sources of the application
	 * @param details the connection details for elections
	 */
	ElectionConnectionSource(ObjectProvider<DataSource> dedicated, ObjectProvider<DataSource> dataSources,
			LeaderElectionConnectionDetails details) {
		this.dedicated = dedicated;
		this.dataSources = dataSources;
		this.details = details;
	}

	/**
	 * Determine the source of connections.
	 * @throws InvalidUsageException if there is no usable source
	 */
	void check() {
		Origin resolved = resolve();
		resolved.check();
		this.origin = resolved;
		this.shared = this.details.getUsername() == null && !StringUtils.hasText(this.details.getJdbcUrl())
				&& this.dedicated.stream().findAny().isEmpty();
		try {
			DataSource own = this.dataSources.getIfUnique();
			this.lender = (own != null && PooledDataSources.isPool(own)) ? new PoolLender(own) : null;
		}
		catch (BeansException ex) {
			// It is lazy, and elections have another one
			logger.debug("The DataSource of the application is not used to observe elections", ex);
		}
	}

	@Override
	public Connection connect(Properties driverSettings) throws SQLException {
		try {
			Origin resolved = this.origin;
			return ((resolved != null) ? resolved : resolve()).connect(driverSettings);
		}
		catch (InvalidUsageException ex) {
			throw new SQLNonTransientConnectionException(ex.getDescription(), "08001", ex);
		}
		catch (SQLException ex) {
			throw JdbcUrl.withoutSecrets(ex);
		}
		catch (RuntimeException ex) {
			throw JdbcUrl.withoutSecrets(new SQLException(ex.getMessage(), "08001", ex));
		}
	}

	@Override
	public boolean isShared() {
		return this.shared;
	}

	@Override
	public @Nullable Connection borrow(Duration timeout) throws InterruptedException {
		PoolLender pool = this.lender;
		return (pool != null) ? pool.borrow(timeout) : null;
	}

	/**
	 * Return the target of connections, without secrets.
	 * @return the target, for messages
	 */
	@Override
	public String describe() {
		Origin resolved = this.origin;
		String known = this.description;
		if (known == null && resolved != null) {
			try {
				known = resolved.describe();
				this.description = known;
			}
			catch (RuntimeException ex) {
				// Without credentials for now
			}
		}
		return (known != null) ? known : "unknown";
	}

	private Origin resolve() {
		DataSource own = this.dedicated.getIfUnique();
		if (own != null) {
			if (!hasPropertiesOnly()) {
				throw new InvalidUsageException(
						"There are a @LeaderElectionDataSource and LeaderElectionConnectionDetails, for instance of a "
								+ "container. Elections use one database.",
						"Remove one of them.");
			}
			String name = "The @LeaderElectionDataSource";
			return PooledDataSources.isDerivable(own) ? new Derived(() -> derive(name, own)) : new Direct(own);
		}
		long count = this.dedicated.stream().count();
		if (count > 0) {
			throw new InvalidUsageException(
					"Leader election cannot determine which of " + count
							+ " @LeaderElectionDataSource beans to use, since none of them is primary.",
					"Annotate only the one whose database holds the elections.");
		}
		String url = this.details.getJdbcUrl();
		if (StringUtils.hasText(url)) {
			String name = hasPropertiesOnly() ? "leader-election.datasource.url"
					: "The LeaderElectionConnectionDetails";
			return new Derived(() -> checked(name, new ConnectionTarget(url, this.details.getUsername(),
					this.details.getPassword(), null, new Properties(), null, List.of())));
		}
		DataSource dataSource = this.dataSources.getIfUnique();
		if (dataSource == null) {
			throw missing();
		}
		return new Derived(() -> derive("The application's DataSource", dataSource).with(this.details.getUsername(),
				this.details.getPassword(), null, null));
	}

	private boolean hasPropertiesOnly() {
		return this.details instanceof PropertiesLeaderElectionConnectionDetails;
	}

	/**
	 * Return what sets the URL of the elections, for messages.
	 */
	private String urlOfElections() {
		return hasPropertiesOnly() ? "leader-election.datasource.url"
				: "the URL of the LeaderElectionConnectionDetails";
	}

	private InvalidUsageException missing() {
		long count = this.dataSources.stream().count();
		if (count == 0) {
			return new InvalidUsageException(
					"Leader election needs a PostgreSQL database, but the application has no DataSource.",
					"Configure one with spring.datasource.url (and add spring-boot-starter-jdbc if it is missing). With "
							+ "R2DBC, Spring Boot ignores that property: set " + urlOfElections()
							+ " to a JDBC URL, with username and password." + WITHOUT_DATABASE);
		}
		return new InvalidUsageException(
				"Leader election cannot determine which of " + count
						+ " DataSource beans to use, since none of them is primary.",
				"Set " + urlOfElections() + ", or mark one of them with @LeaderElectionDataSource.");
	}

	private ConnectionTarget derive(String name, DataSource dataSource) {
		ConnectionTarget target;
		try {
			target = PooledDataSources.derive(dataSource);
		}
		catch (NoCredentialsException ex) {
			throw ex;
		}
		catch (RuntimeException ex) {
			DataSource root = PooledDataSources.root(dataSource);
			throw new InvalidUsageException(name + " (" + dataSource.getClass().getName()
					+ ((root != dataSource) ? " around " + root.getClass().getName() : "")
					+ ") does not expose how it connects: " + JdbcUrl.withoutUrls(String.valueOf(ex.getMessage()))
					+ ". Elections need connections that do not come from a pool, with the same URL, "
					+ "credentials and settings.",
					"Set " + urlOfElections() + " (and username, password), or " + DEDICATE + " that is not a pool.");
		}
		return checked(name, target);
	}

	private ConnectionTarget checked(String name, ConnectionTarget target) {
		if (!JdbcUrl.isPostgreSql(target.url())) {
			throw new InvalidUsageException(
					name + " points to " + JdbcUrl.withoutSecrets(target.url())
							+ ", but elections are held on PostgreSQL only.",
					"Use a URL of the form jdbc:postgresql://host/database, for instance by " + urlOfElections() + "."
							+ WITHOUT_DATABASE);
		}
		// The driver would log a part of a URL that it cannot parse
		if (JdbcUrl.isPlain(target.url()) && (!JdbcUrl.isWellFormed(target.url())
				|| org.postgresql.Driver.parseURL(target.url(), null) == null)) {
			throw new InvalidUsageException(
					name + " has a URL that the PostgreSQL driver cannot parse: " + JdbcUrl.withoutSecrets(target.url())
							+ ".",
					"Use the form jdbc:postgresql://host:5432/database, and encode special characters of parameters "
							+ "as in '%25' for '%'. User and password are properties of their own.");
		}
		return target;
	}

	/** The source of connections. */
	private sealed interface Origin {

		void check();

		Connection connect(Properties driverSettings) throws SQLException;

		String describe();

	}

	/**
	 * A data source that opens the connections itself.
	 *
	 * @param dataSource the data source
	 */
	private record Direct(DataSource dataSource) implements Origin {

		@Override
		public void check() {
		}

		@Override
		public Connection connect(Properties driverSettings) throws SQLException {
			Connection connection = this.dataSource.getConnection();
			String socketTimeout = driverSettings.getProperty("socketTimeout");
			if (socketTimeout != null) {
				try {
					if (connection.getNetworkTimeout() == 0) {
						connection.setNetworkTimeout(Runnable::run, Integer.parseInt(socketTimeout) * 1000);
					}
				}
				catch (SQLException | UnsupportedOperationException | AbstractMethodError ex) {
					logger.debug("Could not set a network timeout on " + connection, ex);
				}
			}
			return connection;
		}

		@Override
		public String describe() {
			return this.dataSource.getClass().getName();
		}

	}

	/**
	 * A driver that opens connections with the current URL and credentials.
	 *
	 * @param target provides URL and credentials
	 */
	private record Derived(Supplier<ConnectionTarget> target) implements Origin {

		@Override
		public void check() {
			try {
				driver(this.target.get());
			}
			catch (InvalidUsageException ex) {
				throw ex;
			}
			catch (RuntimeException ex) {
				logger.debug("No credentials for now, the first connection asks again", ex);
			}
		}

		@Override
		public Connection connect(Properties driverSettings) throws SQLException {
			ConnectionTarget current = this.target.get();
			Connection connection = driver(current).connect(ConnectionSource.withoutRequired(current.url()),
					current.properties(driverSettings));
			if (connection == null) {
				throw noDriver(current, null);
			}
			try {
				current.prepare(connection);
				return connection;
			}
			catch (SQLException | RuntimeException ex) {
				JdbcUtils.closeConnection(connection);
				throw ex;
			}
		}

		private static Driver driver(ConnectionTarget target) {
			Driver driver = target.driver();
			if (driver == null && JdbcUrl.isPlain(target.url())) {
				driver = new org.postgresql.Driver();
			}
			try {
				return (driver != null) ? driver : DriverManager.getDriver(target.url());
			}
			catch (SQLException ex) {
				throw noDriver(target, ex);
			}
		}

		private static InvalidUsageException noDriver(ConnectionTarget target, @Nullable SQLException cause) {
			return new InvalidUsageException(
					"There is no JDBC driver on the class path for the URL of the elections, "
							+ JdbcUrl.withoutSecrets(target.url()) + ".",
					"Add the dependency org.postgresql:postgresql, or use a URL of the form "
							+ "jdbc:postgresql://host/database.",
					cause);
		}

		@Override
		public String describe() {
			return JdbcUrl.withoutSecrets(this.target.get().url());
		}

	}

}
