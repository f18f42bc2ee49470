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

package io.leaderelection.integration;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Flow;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import org.jspecify.annotations.Nullable;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * An application that needs nothing but Spring Boot itself, to be run without one library
 * or another.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
public class TrimmedApplication {

	private static final String[] OPTIONAL_BEANS = { "leadershipEndpoint", "leadershipHealthIndicator",
			"leadershipMetrics", "transactionFencing" };

	/**
	 * Starts, does leader work, and stops. Prints the Java that it ran on, what was done
	 * as leader work, and the beans that need other libraries.
	 */
	public static void main(String... arguments) throws Exception {
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(TrimmedApplication.class)
			.web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.run(arguments)) {
			context.getBean(LeaderElector.class).awaitLeadership(Duration.ofSeconds(30));
			Job job = context.getBean(Job.class);
			job.run();
			System.out.printf("java: %s, run: %s, call: %s, service: %s, beans: %s%n", Runtime.version().feature(),
					job.ran(), job.call().get(30, TimeUnit.SECONDS), context.getBean(Service.class).awaitStart(),
					Stream.of(OPTIONAL_BEANS).filter(context::containsBean).toList());
		}
	}

	@Bean
	Job job(LeaderElector elector) {
		return new Job(elector);
	}

	@Bean
	Service service() {
		return new Service();
	}

	@Bean
	@ConditionalOnProperty("reactive")
	Reactive reactive() {
		return new Reactive();
	}

	static class Job {

		private final @Nullable LeaderElector elector;

		private volatile boolean ran;

		Job(@Nullable LeaderElector elector) {
			this.elector = elector;
		}

		@LeaderOnly
		void run() {
			this.ran = isLeaderWork();
		}

		boolean ran() {
			return this.ran;
		}

		@LeaderOnly
		CompletableFuture<Boolean> call() {
			return CompletableFuture.completedFuture(isLeaderWork());
		}

		private boolean isLeaderWork() {
			return this.elector != null && this.elector.getWorkLeadership() != null;
		}

	}

	@LeaderOnly
	static class Service implements SmartLifecycle {

		private final CountDownLatch started = new CountDownLatch(1);

		private volatile boolean running;

		@Override
		public void start() {
			this.running = true;
			this.started.countDown();
		}

		@Override
		public void stop() {
			this.running = false;
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		boolean awaitStart() throws InterruptedException {
			return this.started.await(30, TimeUnit.SECONDS);
		}

	}

	static class Reactive {

		@LeaderOnly
		Flow.@Nullable Publisher<String> publish() {
			return null;
		}

	}

}
