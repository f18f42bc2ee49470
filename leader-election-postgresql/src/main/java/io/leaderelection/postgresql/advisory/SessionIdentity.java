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

package io.leaderelection.postgresql.advisory;

import java.sql.ResultSet;
import java.sql.SQLException;

/**
 * The properties of a session that every confirmation must find unchanged: a proxy or a
 * pooler may have connected another session or another server, or changed settings.
 *
 * @param pid the process id of the session
 * @param token a random value that only this session has
 * @param idleSessionTimeout the setting that implements the lease
 * @param idleInTransactionTimeout the setting that implements it inside a transaction
 */
record SessionIdentity(int pid, String token, String idleSessionTimeout, String idleInTransactionTimeout) {

	void check(ResultSet row) throws SQLException {
		if (row.getBoolean("in_recovery")) {
			throw new SQLException("The server is a standby now");
		}
		if (row.getInt("pid") != this.pid || !this.token.equals(row.getString("token"))) {
			throw new SQLException("The connection now leads to another session");
		}
		if (!this.idleSessionTimeout.equals(row.getString("idle_session_timeout"))
				|| !this.idleInTransactionTimeout.equals(row.getString("idle_in_transaction"))) {
			throw new SQLException("The timeouts of the session have been changed");
		}
	}

}
