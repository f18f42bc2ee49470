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

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * What is at the other end of a connection.
 *
 * @param version the version in words
 * @param versionNumber the version as a number, for instance 180006
 * @param pid the process id of the session
 * @param inRecovery whether the server is a standby
 * @param role the role of the session
 * @param database the id of the database
 * @param plpgsql whether the role may use PL/pgSQL
 * @param deadlockTimeout the setting in milliseconds
 * @param logMinDuration the setting in milliseconds, -1 if off
 */
record Endpoint(String version, int versionNumber, int pid, boolean inRecovery, String role, long database,
		boolean plpgsql, long deadlockTimeout, long logMinDuration) {

	static Endpoint of(ResultSet row) throws SQLException {
		return new Endpoint(row.getString("version"), row.getInt("version_number"), row.getInt("pid"),
				row.getBoolean("in_recovery"), row.getString("role"), row.getLong("database"),
				row.getBoolean("plpgsql"), row.getLong("deadlock_timeout"), row.getLong("log_min_duration"));
	}

}
