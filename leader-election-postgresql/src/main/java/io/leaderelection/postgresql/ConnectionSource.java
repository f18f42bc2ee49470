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

package io.leaderelection.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;

import org.jspecify.annotations.Nullable;

/**
 * Opens connections for elections. Called whenever a session is opened, so that a changed
 * password is used.
 */
@FunctionalInterface
public interface ConnectionSource {

	/**
	 * The properties of pgjdbc on which elections depend: one message for each statement,
	 * since no timeout of the server runs between two messages of the extended protocol;
	 * answers of any length; no cancellation; and, if there are several hosts, the
	 * present primary.
	 */
	Map<String, String> REQUIRED = Map.of("preferQueryMode", "simple", "maxResultBuffer", "", "queryTimeout", "0",
			"hostRecheckSeconds", "0");

	/**
	 * Return the properties of pgjdbc for a connection of elections, until it is open.
	 * @param applicationName the name of the session
	 * @param connectSeconds how long connecting to a host may take
	 * @param seconds how long the login, and after that each statement, may take
	 * @return the properties
	 */
	static Properties driverSettings(String applicationName, long connectSeconds, long seconds) {
		Properties properties = new Properties();
		properties.putAll(REQUIRED);
		properties.setProperty("ApplicationName", applicationName);
		properties.setProperty("connectTimeout", Long.toString(connectSeconds));
		properties.setProperty("loginTimeout", Long.toString(seconds));
		properties.setProperty("socketTimeout", Long.toString(seconds));
		properties.setProperty("cancelSignalTimeout", "2");
		properties.setProperty("tcpKeepAlive", "true");
		return properties;
	}

	/**
	 * Return a URL without parameters that would take precedence over {@link #REQUIRED}.
	 * @param url the URL
	 * @return the URL without these parameters
	 */
	static String withoutRequired(String url) {
		return url.replaceAll("(?<=[?&])(?:" + String.join("|", REQUIRED.keySet()) + ")(?:=[^&]*)?(?:&|$)", "");
	}

	/**
	 * Open a connection that is used by the caller only.
	 * @param driverSettings properties of pgjdbc, such as {@code connectTimeout}, that
	 * apply unless the URL overrides them, as it must not for {@link #REQUIRED}
	 * @return the connection
	 * @throws SQLException if the database cannot be reached or rejects the connection
	 */
	Connection connect(Properties driverSettings) throws SQLException;

	/**
	 * Describe the database.
	 * @return its URL without credentials, or another name, or {@code null} if it is not
	 * known yet
	 */
	default @Nullable String describe() {
		return null;
	}

	/**
	 * Return whether the application uses the same database and role, so that a pooler
	 * has one pool for both.
	 * @return whether a pool is known to be shared
	 */
	default boolean isShared() {
		return false;
	}

	/**
	 * Borrow a connection from a pool of the application, for one short read. It may lead
	 * to another database.
	 * @param timeout how long to wait for it
	 * @return the connection, to be closed as it was, or {@code null} if there is no pool
	 * or it has no connection
	 * @throws InterruptedException if the current thread is interrupted
	 */
	default @Nullable Connection borrow(Duration timeout) throws InterruptedException {
		return null;
	}

}
