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

package io.leaderelection.faults;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

import javax.sql.DataSource;

import com.zaxxer.hikari.HikariDataSource;
import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.Daemon;

import org.springframework.context.event.EventListener;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * Leader work that writes a {@link TermRow} in a transaction, over and over, and can be
 * stopped in the middle of one. Has threads and a pool of its own, so that the other jobs
 * of its node do not suffer. It takes no notice of interrupts.
 */
final class FencedWriter implements AutoCloseable {

	/** Longer than any lease of the fault tests that it is used with. */
	static final Duration BUSY = Duration.ofSeconds(5);

	private static final int ONE_PAUSE_IN = 30;

	private final LeaderElector elector;

	private final String election;

	private final String node;

	private final long intervalMillis;

	private final long longestPauseMillis;

	private final DataSource pool;

	private final JdbcTemplate jdbc;

	private final TransactionTemplate transaction;

	private final int threads;

	private final ScheduledExecutorService writer;

	private final ExecutorService marker = Executors.newSingleThreadExecutor(FencedWriter::thread);

	private volatile Hold requested = Hold.none();

	private Hold hold = Hold.none();

	private final AtomicLong numbers = new AtomicLong();

	/**
	 * Create a new {@code FencedWriter} instance.
	 * @param manager begins its transactions; the fence is among its listeners already
	 * @param elector the elector of the node
	 * @param election names the election in the table
	 * @param node the name of the node
	 * @param threads how many threads write; of several, none can be stopped
	 * @param interval how long each of them pauses after a transaction
	 * @param longestPause how long a transaction pauses at most, every now and then
	 */
	FencedWriter(JdbcTransactionManager manager, LeaderElector elector, String election, String node, int threads,
			Duration interval, Duration longestPause) {
		this.elector = elector;
		this.election = election;
		this.node = node;
		this.threads = threads;
		this.writer = Executors.newScheduledThreadPool(threads, FencedWriter::thread);
		this.intervalMillis = interval.toMillis();
		this.longestPauseMillis = longestPause.toMillis();
		this.pool = manager.getDataSource();
		this.jdbc = new JdbcTemplate(this.pool);
		this.transaction = new TransactionTemplate(manager);
		manager.addListener(new TransactionExecutionListener() {

			@Override
			public void beforeCommit(TransactionExecution transaction) {
				reached(Place.AFTER_FENCE);
			}

		});
	}

	private static Thread thread(Runnable task) {
		return Daemon.create("fenced writer", task);
	}

	/**
	 * Create a transaction manager with a small pool, of a connection for each thread and
	 * one for grants. Nothing in it waits for long.
	 */
	static JdbcTransactionManager transactions(String url, String username, String password, String node, int threads) {
		HikariDataSource pool = pool(url, username, password, threads + 1);
		pool.addDataSourceProperty("ApplicationName", applicationName(node));
		pool.addDataSourceProperty("connectTimeout", "2");
		pool.addDataSourceProperty("socketTimeout", Long.toString(BUSY.toSeconds() + 2));
		return new JdbcTransactionManager(pool);
	}

	/**
	 * Create a pool that waits for its connections for a second.
	 */
	static HikariDataSource pool(String url, String username, String password, int size) {
		HikariDataSource pool = new HikariDataSource();
		pool.setJdbcUrl(url);
		pool.setUsername(username);
		pool.setPassword(password);
		pool.setMaximumPoolSize(size);
		pool.setMinimumIdle(0);
		pool.setConnectionTimeout(1000);
		pool.setInitializationFailTimeout(-1);
		return pool;
	}

	static String applicationName(String node) {
		return "fenced writer " + node;
	}

	void start() {
		for (int i = 0; i < this.threads; i++) {
			this.writer.scheduleWithFixedDelay(this::work, 0, this.intervalMillis, TimeUnit.MILLISECONDS);
		}
	}

	/**
	 * Leave a row of a term that was granted. Later than the grant, never earlier.
	 */
	@EventListener
	void mark(LeadershipGrantedEvent event) {
		String term = event.getLeadership().getTerm().toString();
		this.marker.execute(() -> {
			try {
				insert(term, 0);
			}
			catch (RuntimeException ex) {
				// The database is out of reach, and the row is missing
			}
		});
	}

	/**
	 * Return the commands of the writer: to hold the next transaction at some place, and
	 * to release it.
	 */
	Map<String, Runnable> commands() {
		Map<String, Runnable> commands = new LinkedHashMap<>();
		for (Place place : Place.values()) {
			commands.put("hold " + place, () -> this.requested = new Hold(place, new CountDownLatch(1)));
		}
		commands.put("release", () -> this.requested.released.countDown());
		return commands;
	}

	private void work() {
		try {
			this.elector.runIfLeader(this::write);
		}
		catch (RuntimeException ex) {
			// Faults are what this is for
		}
		catch (Error ex) {
			Recorder.record(Kind.DIED, ex.toString());
			throw ex;
		}
		finally {
			Thread.interrupted();
		}
	}

	private void write() {
		Leadership leadership = this.elector.getWorkLeadership();
		long number = this.numbers.incrementAndGet();
		String name = "transaction " + number;
		Recorder.record(Kind.WRITE, leadership.getTerm(), name);
		try {
			write(leadership, number);
		}
		finally {
			Recorder.record(Kind.WRITE_ENDED, leadership.getTerm(), name);
		}
	}

	private void write(Leadership leadership, long number) {
		pause();
		this.hold = (this.requested.released.getCount() > 0) ? this.requested : Hold.none();
		String outcome = "rolled back";
		try {
			this.transaction.executeWithoutResult((status) -> writeInTransaction(leadership, number));
			outcome = "committed";
		}
		catch (RuntimeException ex) {
			outcome = ex.getClass().getSimpleName();
			throw ex;
		}
		finally {
			Recorder.record(Kind.OUTCOME, leadership.getTerm(), number + " " + outcome);
			if (this.hold.reached) {
				Recorder.record(Kind.HELD_ENDED, leadership.getTerm(), number + " " + outcome);
				this.requested = Hold.none();
			}
		}
	}

	private void writeInTransaction(Leadership leadership, long number) {
		int pid = insert(leadership.getTerm().toString(), number);
		this.hold.term = leadership.getTerm();
		this.hold.details = number + " " + pid;
		pause();
		TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

			@Override
			public void beforeCommit(boolean readOnly) {
				reached(Place.BEFORE_FENCE);
			}

		});
	}

	private int insert(String term, long number) {
		return this.jdbc.queryForObject(TermRows.INSERT, Integer.class, this.election, this.node, term, number);
	}

	private void reached(Place place) {
		if (place == Place.AFTER_FENCE) {
			pause();
		}
		if (this.hold.place == null || this.hold.place.position() != place) {
			return;
		}
		this.hold.reached = true;
		Recorder.record(Kind.HELD, this.hold.term, this.hold.details);
		if (this.hold.place == Place.BUSY_AFTER_FENCE) {
			ConnectionHolder holder = (ConnectionHolder) TransactionSynchronizationManager.getResource(this.pool);
			sleep(holder.getConnection());
			return;
		}
		while (this.hold.released.getCount() > 0) {
			LockSupport.parkNanos(1_000_000);
			Thread.interrupted();
		}
	}

	private static void sleep(Connection connection) {
		try (java.sql.Statement statement = connection.createStatement()) {
			statement.execute("SELECT pg_sleep(" + BUSY.toSeconds() + ")");
		}
		catch (SQLException ex) {
			throw new IllegalStateException(ex);
		}
	}

	private void pause() {
		if (this.longestPauseMillis > 0 && ThreadLocalRandom.current().nextInt(ONE_PAUSE_IN) == 0) {
			long end = System.nanoTime()
					+ TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextLong(this.longestPauseMillis));
			while (System.nanoTime() - end < 0) {
				LockSupport.parkNanos(1_000_000);
				Thread.interrupted();
			}
		}
	}

	@Override
	public void close() {
		this.writer.shutdown();
		this.marker.shutdown();
		((HikariDataSource) this.pool).close();
	}

	/**
	 * A transaction that is to be held.
	 */
	private static final class Hold {

		private final Place place;

		private final CountDownLatch released;

		private Term term;

		private String details;

		private boolean reached;

		private Hold(Place place, CountDownLatch released) {
			this.place = place;
			this.released = released;
		}

		private static Hold none() {
			return new Hold(null, new CountDownLatch(0));
		}

	}

	/**
	 * Where a transaction is held.
	 */
	enum Place {

		BEFORE_FENCE,

		AFTER_FENCE,

		/** With a statement that goes on, and ends by itself. */
		BUSY_AFTER_FENCE;

		private Place position() {
			return (this == BEFORE_FENCE) ? BEFORE_FENCE : AFTER_FENCE;
		}

	}

}
