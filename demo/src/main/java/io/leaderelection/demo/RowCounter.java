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

package io.leaderelection.demo;

import java.time.Duration;
import java.time.Instant;

import org.springframework.dao.DataAccessException;

/**
 * Counts the rows again and again, on a thread and a connection of its own: it takes
 * longer the more there are.
 */
class RowCounter implements AutoCloseable {

	private static final Duration INTERVAL = Duration.ofSeconds(1);

	private final DemoDatabase database;

	private volatile DemoState.Rows rows = DemoState.Rows.NONE;

	private volatile boolean closed;

	RowCounter(DemoDatabase database) {
		this.database = database;
	}

	void start() {
		Background.start("demo-rows", this::repeat);
	}

	private void repeat() {
		while (!this.closed) {
			Duration pause = INTERVAL;
			try {
				pause = count();
			}
			catch (DataAccessException ex) {
				// The page sees that nothing was counted since
				if (!this.closed) {
					System.err.println("Could not count the rows: " + ex.getMessage());
					this.database.reset();
				}
			}
			Background.pause(pause.toMillis());
		}
	}

	private Duration count() {
		Instant begin = Instant.now();
		DemoDatabase.Counts counts = this.database.count();
		DemoState.Fires durable = this.database.fires(DemoWork.DURABLE);
		DemoState.Fires plain = this.database.fires(DemoWork.PLAIN);
		Duration tenfold = Duration.between(begin, Instant.now()).multipliedBy(10);
		Duration pause = (tenfold.compareTo(INTERVAL) > 0) ? tenfold : INTERVAL;
		this.rows = new DemoState.Rows(begin.toEpochMilli(), Instant.now().plus(pause).toEpochMilli(), counts.rows(),
				counts.duplicates(), counts.outdated(), durable, plain);
		return pause;
	}

	DemoState.Rows rows() {
		return this.rows;
	}

	@Override
	public void close() {
		this.closed = true;
		this.database.close();
	}

}
