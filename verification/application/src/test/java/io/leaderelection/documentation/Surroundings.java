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

package io.leaderelection.documentation;

import java.time.Duration;
import java.time.Instant;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;

import javax.sql.DataSource;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.NotLeaderException;
import io.leaderelection.Term;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.schedule.DurableSchedule;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import reactor.core.publisher.Mono;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.annotation.Lazy;
import org.springframework.http.HttpStatus;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/**
 * What the examples of the documents take for granted: fields and methods of the classes
 * that they are cut from, and a domain.
 */
public abstract class Surroundings {

	@Autowired
	@Lazy
	protected LeaderElector elector;

	@Autowired
	@Lazy
	protected DataSource dataSource;

	@Autowired
	@Lazy
	protected JdbcClient mysql;

	@Autowired
	protected Catalog catalog;

	protected final Client client = new Client();

	protected final String body = "report";

	protected final long id = 1;

	/**
	 * Do what the example says, if it is one of statements.
	 */
	public void run() throws Exception {
	}

	protected void load() {
		this.catalog.calls.add("load");
	}

	protected void load(Term term) {
		this.catalog.calls.add("load in a term");
	}

	protected void alert(String text) {
		this.catalog.calls.add(text);
	}

	protected int count() {
		return this.catalog.size();
	}

	protected void book(ConsumerRecord<String, String> order) {
	}

	/**
	 * A service that is called.
	 */
	public static class Client {

		public Mono<String> fetch() {
			return Mono.just("fetched");
		}

	}

	/**
	 * A third-party client.
	 */
	public static class FeedClient {

		private volatile boolean connected;

		public void connect() {
			this.connected = true;
		}

		public void close() {
			this.connected = false;
		}

		public boolean isConnected() {
			return this.connected;
		}

	}

	/**
	 * A repository that remembers what was asked of it.
	 */
	public static class Catalog {

		final Set<String> calls = ConcurrentHashMap.newKeySet();

		public Duration age() {
			return Duration.ofHours(2);
		}

		public void rebuild() {
			this.calls.add("rebuild");
		}

		public void close(Reason reason) {
			this.calls.add("close " + reason);
		}

		public void refresh() {
			this.calls.add("refresh");
		}

		public Mono<Void> save(String content) {
			return Mono.fromRunnable(() -> this.calls.add("save " + content));
		}

		public Optional<String> newest() {
			return Optional.of("newest");
		}

		public int size() {
			return 42;
		}

		public void export(Instant hour) {
			this.calls.add("export " + hour);
		}

		public CompletableFuture<Void> export() {
			return CompletableFuture.runAsync(() -> this.calls.add("export"));
		}

	}

	/**
	 * A bean whose work is the leader's.
	 */
	public static class Invoices {

		@LeaderOnly
		public String send() {
			return "sent";
		}

	}

	/**
	 * A controller with a handler for the leader.
	 */
	@RestController
	public static class InvoiceController {

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		@PostMapping("/invoices")
		public String send() {
			return "sent";
		}

		@ExceptionHandler(NotLeaderException.class)
		@ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
		public void notLeader() {
		}

	}

	/**
	 * A bean with a durable schedule.
	 */
	public static class Reports {

		@LeaderOnly
		@DurableSchedule(name = "reports")
		@Scheduled(cron = "0 0 2 * * *", zone = "UTC")
		public void create() {
		}

	}

}
