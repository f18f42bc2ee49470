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

import org.jspecify.annotations.Nullable;

import org.springframework.boot.autoconfigure.service.connection.ConnectionDetails;

/**
 * Details required to connect to the election database. Replaces
 * {@code leader-election.datasource}.
 *
 * @since 0.1.0
 */
public interface LeaderElectionConnectionDetails extends ConnectionDetails {

	/**
	 * Return the JDBC URL of the election database.
	 * @return the JDBC URL, or {@code null} to use that of the application's
	 * {@code DataSource}
	 */
	@Nullable String getJdbcUrl();

	/**
	 * Return the user for the election database.
	 * @return the user, or {@code null} if there is none or the URL contains it; without
	 * a URL, {@code null} to use that of the application's {@code DataSource}
	 */
	@Nullable String getUsername();

	/**
	 * Return the password for the election database.
	 * @return the password, or {@code null} as for the user
	 */
	@Nullable String getPassword();

}
