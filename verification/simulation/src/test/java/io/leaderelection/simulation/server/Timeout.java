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

/**
 * The settings by which the server limits what a session does.
 */
public enum Timeout {

	LOCK("lock_timeout"),

	STATEMENT("statement_timeout"),

	IDLE_SESSION("idle_session_timeout"),

	IDLE_IN_TRANSACTION("idle_in_transaction_session_timeout"),

	CLIENT_CHECK("client_connection_check_interval");

	private final String setting;

	Timeout(String setting) {
		this.setting = setting;
	}

	/**
	 * Return the name of the setting.
	 */
	public String setting() {
		return this.setting;
	}

}
