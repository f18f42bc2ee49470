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
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

import org.jspecify.annotations.Nullable;

import org.springframework.core.env.Environment;

/**
 * What applications write themselves: a thread that tries to take an advisory lock at
 * intervals. While it has the lock, it tests the connection, also before each run.
 */
final class Poller implements Adapter, AutoCloseable {

	private final String url;

	private final int key;

	private final ScheduledExecutorService executor = Executors.newSingleThreadScheduledExecutor();

	private volatile boolean leader;

	private @Nullable Connection connection;

	Poller(Environment options) {
		this.url = options.getRequiredProperty("spring.datasource.url");
		this.key = options.getRequiredProperty("election").hashCode();
		long interval = options.getRequiredProperty("interval", Duration.class).toMillis();
		this.executor.scheduleWithFixedDelay(this::poll, 0, interval, TimeUnit.MILLISECONDS);
	}

	private synchronized void poll() {
		String query = this.leader ? "SELECT true" : "SELECT pg_try_advisory_lock(" + this.key + ")";
		try {
			if (this.connection == null) {
				this.connection = DriverManager.getConnection(this.url);
			}
			try (Statement statement = this.connection.createStatement();
					ResultSet row = statement.executeQuery(query)) {
				this.leader = row.next() && row.getBoolean(1);
			}
		}
		catch (SQLException ex) {
			disconnect();
		}
	}

	private synchronized void disconnect() {
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
	public void runIfLeader(Runnable work) {
		if (this.leader) {
			poll();
		}
		Adapter.super.runIfLeader(work);
	}

	@Override
	public void close() throws InterruptedException {
		this.executor.shutdownNow();
		if (this.executor.awaitTermination(5, TimeUnit.SECONDS)) {
			disconnect();
		}
	}

}
