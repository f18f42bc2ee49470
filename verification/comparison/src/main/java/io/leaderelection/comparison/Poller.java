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

package io.leaderelection.comparison;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

import org.jspecify.annotations.Nullable;

import org.springframework.core.env.Environment;

/**
 * What applications write themselves: a thread that tries to take an advisory lock at
 * intervals, and tests the connection while it has the lock.
 */
final class Poller implements Adapter, AutoCloseable {

	private final String url;

	private final int key;

	private final Duration interval;

	private final Thread thread = new Thread(this::run);

	private volatile boolean leader;

	private @Nullable Connection connection;

	Poller(Environment options) {
		this.url = options.getRequiredProperty("spring.datasource.url");
		this.key = options.getRequiredProperty("election").hashCode();
		this.interval = options.getRequiredProperty("interval", Duration.class);
		this.thread.start();
	}

	private void run() {
		try {
			while (true) {
				try {
					poll();
				}
				catch (SQLException ex) {
					disconnect();
				}
				Thread.sleep(this.interval.toMillis());
			}
		}
		catch (InterruptedException ex) {
			disconnect();
		}
	}

	private void poll() throws SQLException {
		if (this.connection == null) {
			this.connection = DriverManager.getConnection(this.url);
		}
		String query = this.leader ? "SELECT true" : "SELECT pg_try_advisory_lock(" + this.key + ")";
		try (Statement statement = this.connection.createStatement(); ResultSet row = statement.executeQuery(query)) {
			this.leader = row.next() && row.getBoolean(1);
		}
	}

	private void disconnect() {
		this.leader = false;
		// Frees the lock, too
		try (Connection open = this.connection) {
			this.connection = null;
		}
		catch (SQLException ex) {
			// It is of no use any more
		}
	}

	@Override
	public boolean isLeader() {
		return this.leader;
	}

	@Override
	public void close() throws InterruptedException {
		this.thread.interrupt();
		this.thread.join(5000);
	}

}
