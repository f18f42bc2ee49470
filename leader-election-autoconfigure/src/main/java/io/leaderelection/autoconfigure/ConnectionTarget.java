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
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;

import org.jspecify.annotations.Nullable;

/**
 * The properties that are required to open a connection.
 *
 * @param url the JDBC URL
 * @param username the user
 * @param password the password
 * @param driver the driver, or {@code null} to use the {@link java.sql.DriverManager}
 * @param driverProperties the properties of the application's own connections
 * @param schema the schema that the application's pool sets on its connections
 * @param initSql the statements that it runs on new connections
 */
record ConnectionTarget(String url, @Nullable String username, @Nullable String password, @Nullable Driver driver,
		Properties driverProperties, @Nullable String schema, List<String> initSql) {

	ConnectionTarget with(@Nullable String otherUsername, @Nullable String otherPassword, @Nullable String otherSchema,
			@Nullable String otherInitSql) {
		return new ConnectionTarget(this.url, (otherUsername != null) ? otherUsername : this.username,
				(otherPassword != null) ? otherPassword : this.password, this.driver, this.driverProperties,
				(otherSchema != null) ? otherSchema : this.schema,
				(otherInitSql != null) ? List.of(otherInitSql) : this.initSql);
	}

	/**
	 * Set on a new connection what the application's pool sets on its own.
	 */
	void prepare(Connection connection) throws SQLException {
		if (this.schema != null) {
			connection.setSchema(this.schema);
		}
		for (String sql : this.initSql) {
			try (Statement statement = connection.createStatement()) {
				statement.execute(sql);
			}
		}
	}

	/**
	 * Return the properties for the driver. Properties in the URL take precedence over
	 * all of them. If the URL has several hosts, only the primary can be used, but the
	 * driver does not recognize it if the role has a preset that makes transactions
	 * read-only. A factory of sockets that the application has is the only one.
	 */
	Properties properties(Properties driverSettings) {
		Properties properties = new Properties();
		this.driverProperties.forEach((name, value) -> properties.setProperty(name.toString(), value.toString()));
		if (JdbcUrl.hasSeveralHosts(this.url)) {
			properties.putIfAbsent("targetServerType", "preferPrimary");
		}
		boolean ownSockets = JdbcUrl.hasParameter(this.url, "socketFactory") || properties.containsKey("socketFactory");
		driverSettings.stringPropertyNames()
			.stream()
			.filter((name) -> !ownSockets || !name.startsWith("socketFactory"))
			.forEach((name) -> properties.setProperty(name, driverSettings.getProperty(name)));
		if (this.username != null) {
			properties.setProperty("user", this.username);
		}
		if (this.password != null) {
			properties.setProperty("password", this.password);
		}
		return properties;
	}

	@Override
	public String toString() {
		return JdbcUrl.withoutSecrets(this.url);
	}

}
