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

import java.sql.SQLException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses JDBC URLs.
 */
final class JdbcUrl {

	/**
	 * Also with the prefix of a driver that wraps the PostgreSQL driver, and whatever
	 * only such a driver knows.
	 */
	private static final Pattern POSTGRESQL = Pattern.compile("(?!jdbc:).*|jdbc:(?:[\\w.-]+:)*postgresql:.*",
			Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

	private static final Pattern HOSTS = Pattern.compile("postgresql:(?:[\\d.]+:)?//([^/?]*)",
			Pattern.CASE_INSENSITIVE);

	/** What cannot hold credentials, up to the parameters. */
	private static final Pattern PUBLIC = Pattern.compile("(?iU)jdbc[\\w-]*+:(?:"
			+ "(?:[\\w.-]++:)++//(?:[\\w.,-]|\\[[\\da-f:.]++]|:\\d++(?![^,/;]))*+(?:/[\\w.%-]*+)*+"
			+ "|(?:[\\w-]++:)*?(?:postgresql|h2:[a-z]++|hsqldb:[a-z]++):[\\w.%~/-]*+)(?=$|[?;][^@]*(?:=|$))");

	/** What the driver parses without logging a part of it that may be a password. */
	private static final Pattern WELL_FORMED = Pattern.compile("jdbc:postgresql:(?:"
			+ "//(?:(?:\\[[^]@/?]*+]|[^:@,/?]*+|[\\da-fA-F]*+:[\\da-fA-F]*+:[\\da-fA-F:.]*?)(?::\\d*+)?(?:,|(?=/)))++/"
			+ "|/?(?!/))[^/?;]*+(?:\\?.*+)?", Pattern.DOTALL);

	private static final Pattern DRIVER = Pattern.compile("(?i)^jdbc[\\w-]*:[\\w-]+:");

	private static final Pattern URL = Pattern.compile("(?i)jdbc[\\w-]*:.*", Pattern.DOTALL);

	private JdbcUrl() {
	}

	/**
	 * Return whether the URL is for the PostgreSQL driver itself.
	 * @param url the URL
	 * @return whether the URL does not name another driver
	 */
	static boolean isPlain(String url) {
		return url.startsWith("jdbc:postgresql:");
	}

	/**
	 * Return whether the URL may be for PostgreSQL, which only a connection can tell.
	 */
	static boolean isPostgreSql(String url) {
		return POSTGRESQL.matcher(url).matches();
	}

	/**
	 * Return whether a URL for the PostgreSQL driver has hosts, ports and a database, and
	 * no credentials among them.
	 */
	static boolean isWellFormed(String url) {
		return WELL_FORMED.matcher(url).matches();
	}

	static boolean hasSeveralHosts(String url) {
		Matcher matcher = HOSTS.matcher(url);
		return matcher.find() && matcher.group(1).indexOf(',') >= 0;
	}

	/**
	 * Return whether a URL for the PostgreSQL driver has a parameter of this name.
	 */
	static boolean hasParameter(String url, String name) {
		return url.contains("?" + name + "=") || url.contains("&" + name + "=");
	}

	/**
	 * Return the URL up to its parameters, which may contain a password, or only its
	 * driver if another part may contain one.
	 * @param url the URL
	 * @return the part that may be shown
	 */
	static String withoutSecrets(String url) {
		Matcher shown = PUBLIC.matcher(url);
		if (shown.lookingAt()) {
			return shown.group();
		}
		Matcher driver = DRIVER.matcher(url);
		return (driver.find() ? driver.group() : "") + "(hidden)";
	}

	/**
	 * Return a failure of a driver or pool without the URLs that its messages contain.
	 * @param failure the failure
	 * @return the same failure if there are none, otherwise one without a cause
	 */
	static SQLException withoutSecrets(SQLException failure) {
		for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
			if (URL.matcher(String.valueOf(cause.getMessage())).find()) {
				SQLException replacement = new SQLException(withoutUrls(String.valueOf(failure.getMessage())),
						failure.getSQLState(), failure.getErrorCode());
				replacement.setStackTrace(failure.getStackTrace());
				return replacement;
			}
		}
		return failure;
	}

	/**
	 * Return a message without secrets of the URL at its end.
	 */
	static String withoutUrls(String message) {
		return URL.matcher(message).replaceAll((url) -> Matcher.quoteReplacement(withoutSecrets(url.group().trim())));
	}

}
