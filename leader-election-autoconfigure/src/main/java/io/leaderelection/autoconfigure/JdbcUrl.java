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

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Parses JDBC URLs.
 */
final class JdbcUrl {

	/** Also with the prefix of a driver that wraps the PostgreSQL driver. */
	private static final Pattern POSTGRESQL = Pattern.compile("jdbc:(?:[\\w.-]+:)*postgresql:.*",
			Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

	private static final Pattern HOSTS = Pattern.compile("postgresql:(?:[\\d.]+:)?//([^/?]*)",
			Pattern.CASE_INSENSITIVE);

	private static final Pattern USER_INFO = Pattern.compile("//[^/@]*@");

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

	static boolean isPostgreSql(String url) {
		return POSTGRESQL.matcher(url).matches();
	}

	static boolean hasSeveralHosts(String url) {
		Matcher matcher = HOSTS.matcher(url);
		return matcher.find() && matcher.group(1).indexOf(',') >= 0;
	}

	/**
	 * Return the URL up to its parameters, which may contain a password.
	 * @param url the URL
	 * @return the part that may be shown
	 */
	static String withoutSecrets(String url) {
		int end = url.length();
		for (char separator : new char[] { '?', ';' }) {
			int index = url.indexOf(separator);
			end = (index >= 0) ? Math.min(end, index) : end;
		}
		return USER_INFO.matcher(url.substring(0, end)).replaceFirst("//");
	}

}
