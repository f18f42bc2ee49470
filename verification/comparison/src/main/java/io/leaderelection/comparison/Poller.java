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

import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * What applications write themselves: a thread that tries to take an advisory lock at
 * intervals, and tests the connection while it has the lock.
 */
@Configuration(proxyBeanMethods = false)
class Poller {

	@Bean(initMethod = "start")
	LockThread adapter(@Value("${spring.datasource.url}") String url, @Value("${interval}") Duration interval,
			@Value("${election}") String election) {
		return new LockThread(url, interval, election.hashCode());
	}

	static final class LockThread extends Thread implements Adapter, AutoCloseable {

		private final String url;

		private final Duration interval;

		private final int key;

		private volatile boolean leader;

		private volatile boolean closed;

		private @Nullable Connection connection;

		LockThread(String url, Duration interval, int key) {
			this.url = url;
			this.interval = interval;
			this.key = key;
			setDaemon(true);
		}

		@Override
		public void run() {
			while (!this.closed) {
				try {
					poll();
				}
				catch (SQLException ex) {
					this.leader = false;
					disconnect();
				}
				try {
					Thread.sleep(this.interval.toMillis());
				}
				catch (InterruptedException ex) {
					break;
				}
			}
			this.leader = false;
			disconnect();
		}

		private void poll() throws SQLException {
			if (this.connection == null) {
				this.connection = DriverManager.getConnection(this.url);
			}
			try (Statement statement = this.connection.createStatement();
					ResultSet row = statement
						.executeQuery(this.leader ? "SELECT true" : "SELECT pg_try_advisory_lock(" + this.key + ")")) {
				this.leader = row.next() && row.getBoolean(1);
			}
		}

		/**
		 * Frees the lock, too.
		 */
		private void disconnect() {
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
			this.closed = true;
			interrupt();
			join(5000);
		}

	}

}
