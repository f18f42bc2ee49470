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

package io.leaderelection.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.NodeJvm;

import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;

/**
 * The handle of a node of {@link SpreadBenchmark}: an application with several elections,
 * each with leader work, in a JVM of its own.
 */
final class SpreadNode implements AutoCloseable {

	private static final String PREFIX = "@spread ";

	private static final long LIMIT_SECONDS = 120;

	private final String id;

	private final Observer observer;

	private final NodeJvm jvm;

	private final CompletableFuture<Void> started = new CompletableFuture<>();

	/**
	 * Start a node.
	 * @param id its id
	 * @param arguments its command line
	 * @param observer what is called with all that it reports
	 */
	SpreadNode(String id, List<String> arguments, Observer observer) {
		this.id = id;
		this.observer = observer;
		this.jvm = new NodeJvm(id, Application.class, arguments, PREFIX, this::accept);
		this.jvm.ended().thenRun(() -> this.started.completeExceptionally(this.jvm.failure()));
	}

	private void accept(String report) {
		String[] words = report.split(" ");
		switch (words[0]) {
			case "STARTED" -> this.started.complete(null);
			case "GRANTED" -> this.observer.granted(this, words[1], Long.parseLong(words[2]));
			case "REVOKED" -> this.observer.revoked(this, words[1], Reason.valueOf(words[2]));
			case "INTERRUPTED" -> this.observer.interrupted(this, words[1]);
			default -> throw new IllegalStateException("Unknown report " + report);
		}
	}

	void awaitStarted() throws Exception {
		this.started.get(LIMIT_SECONDS, TimeUnit.SECONDS);
	}

	NodeJvm jvm() {
		return this.jvm;
	}

	/**
	 * Sends SIGTERM and waits until the process has ended.
	 */
	void stop() throws Exception {
		this.jvm.terminate();
		this.jvm.ended().get(LIMIT_SECONDS, TimeUnit.SECONDS);
	}

	@Override
	public void close() {
		this.jvm.close();
	}

	@Override
	public String toString() {
		return this.id;
	}

	/**
	 * What is told about all nodes, on a thread per node.
	 */
	interface Observer {

		void granted(SpreadNode node, String election, long term);

		void revoked(SpreadNode node, String election, Reason reason);

		void interrupted(SpreadNode node, String election);

	}

	/**
	 * The application.
	 */
	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	public static class Application {

		public static void main(String[] args) {
			NodeJvm.endWithParent();
			SpringApplication application = new SpringApplication(Application.class);
			application.setWebApplicationType(WebApplicationType.NONE);
			application.setBannerMode(Banner.Mode.OFF);
			application.setKeepAlive(true);
			ApplicationContext context = application.run(args);
			Duration work = context.getEnvironment().getRequiredProperty("work", Duration.class);
			context.getBean(LeaderElectors.class)
				.forEach((elector) -> Daemon.start("work of " + elector.getElection(), () -> work(elector, work)));
			report("STARTED");
		}

		private static void work(LeaderElector elector, Duration work) {
			try {
				while (true) {
					if (!elector.runIfLeader(() -> work(elector.getElection(), work))) {
						elector.awaitLeadership(Duration.ofSeconds(1));
					}
				}
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

		private static void work(String election, Duration work) {
			try {
				Thread.sleep(work.toMillis());
			}
			catch (InterruptedException ex) {
				report("INTERRUPTED " + election);
			}
		}

		private static void report(String report) {
			System.out.println(PREFIX + report);
		}

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			report("GRANTED " + event.getElection() + " " + event.getLeadership().getTerm().toLong());
		}

		@EventListener
		void revoked(LeadershipRevokedEvent event) {
			report("REVOKED " + event.getElection() + " " + event.getReason());
		}

	}

}
