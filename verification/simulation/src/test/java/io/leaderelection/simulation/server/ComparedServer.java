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

package io.leaderelection.simulation.server;

import io.leaderelection.testsupport.PostgreSqlServer;

/**
 * The PostgreSQL with which the simulated server is compared. All tests of a process
 * share it. Nothing on it takes transaction ids or ends waits but the tests.
 */
public final class ComparedServer {

	/** The server. */
	public static final PostgreSqlServer SERVER = PostgreSqlServer.start("autovacuum=off", "deadlock_timeout=1h",
			"wal_writer_delay=10s");

	/** The settings with which the simulated server is of the same version. */
	public static final ServerSettings SETTINGS = ServerSettings.DEFAULTS.withVersion(SERVER.version());

	private ComparedServer() {
	}

}
