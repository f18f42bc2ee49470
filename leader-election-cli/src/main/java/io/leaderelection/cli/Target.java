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

package io.leaderelection.cli;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.regex.Pattern;

import io.leaderelection.postgresql.ConnectionSource;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGProperty;
import org.postgresql.jdbc.SslMode;

/**
 * The database to verify.
 *
 * @param url the URL, as in the configuration of an application
 * @param username the user, or {@code null} if the URL contains it
 * @param password the password, if one is needed and the URL does not contain it
 */
record Target(String url, @Nullable String username, @Nullable String password) {

	/**
	 * Return whether the driver understands the URL.
	 */
	boolean isValid() {
		return this.url.startsWith("jdbc:postgresql:") && Driver.parseURL(this.url, null) != null;
	}

	/**
	 * Return whether the URL names a class that creates the sockets, which is not on the
	 * class path here.
	 */
	boolean hasSocketFactory() {
		return this.url.contains(PGProperty.SOCKET_FACTORY.getName() + "=");
	}

	/**
	 * Open a connection as an application does.
	 * @param name the name that other sessions see
	 */
	Connection connect(String name) throws SQLException {
		return connect(name, new Properties());
	}

	/**
	 * Open a connection as an election does, whose sessions send a request as one
	 * message.
	 * @param driverSettings settings of the driver
	 */
	Connection connect(Properties driverSettings) throws SQLException {
		return open(ConnectionSource.withoutRequired(this.url), driverSettings);
	}

	private Connection connect(String name, Properties properties) throws SQLException {
		properties.setProperty(PGProperty.APPLICATION_NAME.getName(), name);
		properties.setProperty(PGProperty.CONNECT_TIMEOUT.getName(), "5");
		properties.setProperty(PGProperty.LOGIN_TIMEOUT.getName(), "10");
		properties.setProperty(PGProperty.SOCKET_TIMEOUT.getName(), "10");
		properties.setProperty(PGProperty.PREPARE_THRESHOLD.getName(), "0");
		return open(this.url, properties);
	}

	private Connection open(String url, Properties properties) throws SQLException {
		if (hosts().size() > 1) {
			properties.putIfAbsent(PGProperty.TARGET_SERVER_TYPE.getName(), "preferPrimary");
			properties.putIfAbsent(PGProperty.HOST_RECHECK_SECONDS.getName(), "0");
		}
		if (this.username != null) {
			properties.setProperty(PGProperty.USER.getName(), this.username);
		}
		if (this.password != null) {
			properties.setProperty(PGProperty.PASSWORD.getName(), this.password);
		}
		return DriverManager.getConnection(url, properties);
	}

	private List<String> hosts() {
		return Arrays.asList(parsed(PGProperty.PG_HOST, "localhost").split(","));
	}

	private String parsed(PGProperty property, String fallback) {
		Properties properties = Driver.parseURL(this.url, null);
		String value = (properties != null) ? property.getOrDefault(properties) : null;
		return (value != null) ? value : fallback;
	}

	/**
	 * Return how strictly the URL demands encryption.
	 */
	String sslMode() throws SQLException {
		Properties properties = Driver.parseURL(this.url, null);
		return SslMode.of((properties != null) ? properties : new Properties()).value;
	}

	/**
	 * Return the hosts and the database, without ports and parameters.
	 */
	String describe() {
		return "jdbc:postgresql://" + String.join(",", hosts()) + "/" + parsed(PGProperty.PG_DBNAME, "");
	}

	/**
	 * Return a text without the names of the hosts.
	 */
	String mask(String text) {
		String masked = text;
		for (String host : hosts()) {
			masked = masked.replaceAll("(?<![\\w.-])" + Pattern.quote(host) + "(?![\\w-])", "(host)");
		}
		return masked;
	}

	@Override
	public String toString() {
		return describe();
	}

}
