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

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipLostException;
import io.leaderelection.Term;
import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.testsupport.Daemon;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.transaction.support.TransactionTemplate;

/**
 * A node as a process of its own whose leader work is to write in transactions, on
 * several threads, with pauses wherever they hurt.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class WriterApplication {

	static final String TABLES = """
			CREATE TABLE grants (epoch int, timeline bigint, transaction_id bigint, node text);
			CREATE TABLE writes (id text PRIMARY KEY, epoch int, timeline bigint, transaction_id bigint);
			""";

	public static void main(String[] args) {
		SpringApplication application = new SpringApplication(WriterApplication.class);
		application.setWebApplicationType(WebApplicationType.NONE);
		ConfigurableApplicationContext context = application.run(args);
		LeaderElector elector = context.getBean(LeaderElector.class);
		Writers writers = context.getBean(Writers.class);
		writers.start();
		Recorder.record(Kind.STARTED, "");
		Recorder.obey(Map.of("resign", elector::resign, "stop", () -> {
			writers.stop();
			context.close();
		}));
	}

	@Bean
	Grants grants(JdbcTemplate jdbc) {
		return new Grants(jdbc);
	}

	@Bean
	Writers writers(LeaderElector elector, JdbcTemplate jdbc, DataSourceTransactionManager transactions,
			@Value("${leader-election.lease-duration}") Duration lease, @Value("${faults.writers}") int count) {
		return new Writers(elector, jdbc, transactions, lease, count);
	}

	/**
	 * Records every grant in the database, before anything else and unfenced.
	 */
	static class Grants {

		private final JdbcTemplate jdbc;

		Grants(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@EventListener
		void listen(LeadershipEvent event) {
			if (event instanceof LeadershipGrantedEvent) {
				record(event.getLeadership());
			}
			Recorder.listen(event, () -> {
			});
		}

		private void record(Leadership leadership) {
			Term term = leadership.getTerm();
			try {
				this.jdbc.update("INSERT INTO grants VALUES (?, ?, ?, ?)", term.epoch(), term.timeline(),
						term.transactionId(), leadership.getNodeId());
			}
			catch (DataAccessException ex) {
				// The writes of the term record it
				System.out.println("No row for the grant of " + term + ": " + ex);
			}
		}

	}

	/**
	 * The threads that write.
	 */
	static class Writers {

		private final LeaderElector elector;

		private final JdbcTemplate jdbc;

		private final TransactionTemplate template;

		private final Pauses pauses;

		private final List<Thread> threads;

		private final Map<String, LongAdder> counts = new ConcurrentSkipListMap<>();

		private volatile boolean stopped;

		Writers(LeaderElector elector, JdbcTemplate jdbc, DataSourceTransactionManager transactions, Duration lease,
				int count) {
			this.elector = elector;
			this.jdbc = jdbc;
			this.template = new TransactionTemplate(transactions);
			this.pauses = new Pauses(lease);
			// After the fence, whose listener is there from the start
			transactions.addListener(this.pauses);
			this.threads = IntStream.range(0, count).mapToObj((number) -> new Thread(() -> run(number))).toList();
		}

		void start() {
			for (Thread thread : this.threads) {
				thread.setUncaughtExceptionHandler((dead, ex) -> Recorder.record(Kind.DIED, ex.toString()));
				thread.start();
			}
			Daemon.start("counter", this::report);
		}

		private void run(int writer) {
			for (int sequence = 0; !this.stopped; sequence++) {
				String id = this.elector.getNodeId() + "/" + writer + "/" + sequence;
				try {
					if (this.elector.runIfLeader(() -> write(id))) {
						count("committed");
					}
					else {
						this.elector.awaitLeadership(Duration.ofMillis(100));
					}
				}
				catch (LeadershipLostException ex) {
					count("refused");
					Recorder.record(Kind.REFUSED, id);
				}
				catch (InterruptedException | RuntimeException ex) {
					count(ex.getClass().getSimpleName());
					Thread.interrupted();
				}
			}
		}

		private void write(String id) {
			Term term = this.elector.getWorkLeadership().getTerm();
			this.pauses.beforeTransaction();
			this.template.executeWithoutResult((status) -> {
				TransactionSynchronizationManager.registerSynchronization(this.pauses);
				this.jdbc.update("INSERT INTO writes VALUES (?, ?, ?, ?)", id, term.epoch(), term.timeline(),
						term.transactionId());
			});
		}

		private void count(String outcome) {
			this.counts.computeIfAbsent(outcome, (key) -> new LongAdder()).increment();
		}

		private void report() {
			while (!this.stopped) {
				Recorder.record(Kind.COUNTS, describe());
				LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
			}
		}

		private String describe() {
			return new TreeMap<>(this.counts).entrySet()
				.stream()
				.map((entry) -> entry.getKey() + "=" + entry.getValue())
				.collect(Collectors.joining(" "));
		}

		/**
		 * Let the threads end, and wait until they have.
		 */
		void stop() {
			this.stopped = true;
			try {
				for (Thread thread : this.threads) {
					thread.join();
				}
			}
			catch (InterruptedException ex) {
				throw new IllegalStateException(ex);
			}
			Recorder.record(Kind.COUNTS, describe());
		}

	}

	/**
	 * Pauses that ignore interrupts, as those of a frozen process. Most are short. Some
	 * last as long as a hand-over, so that it often coincides with a transaction between
	 * fence and commit; few last longer than the lease, where the server ends such a
	 * transaction.
	 */
	static class Pauses implements TransactionSynchronization, TransactionExecutionListener {

		private static final double SHORT = 1e6;

		private static final double MEDIUM = 100e6;

		private final ThreadLocal<SplittableRandom> random = ThreadLocal.withInitial(SplittableRandom::new);

		private final Duration lease;

		Pauses(Duration lease) {
			this.lease = lease;
		}

		void beforeTransaction() {
			pause(0.02, 0.003);
		}

		@Override
		public void beforeCommit(boolean readOnly) {
			// Of a synchronization: before the fence
			pause(0.02, 0.003);
		}

		@Override
		public void beforeCommit(TransactionExecution transaction) {
			// Of a listener: after the fence. Long ones are rarer, as they hold up grants
			pause(0.2, 0.0015);
		}

		private void pause(double mediumOnes, double longOnes) {
			SplittableRandom own = this.random.get();
			double draw = own.nextDouble();
			double part = own.nextDouble();
			if (draw < longOnes) {
				pauseFor((long) ((0.5 + 2 * part) * this.lease.toNanos()));
			}
			else {
				pauseFor((long) (part * ((draw < longOnes + mediumOnes) ? MEDIUM : SHORT)));
			}
		}

		private static void pauseFor(long nanos) {
			long start = System.nanoTime();
			boolean interrupted = false;
			while (System.nanoTime() - start < nanos) {
				// An interrupt that is pending would keep the thread from parking
				interrupted |= Thread.interrupted();
				LockSupport.parkNanos(nanos - (System.nanoTime() - start));
			}
			if (interrupted) {
				Thread.currentThread().interrupt();
			}
		}

	}

}
