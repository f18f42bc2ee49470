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

package io.leaderelection.aot;

import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.schedule.DurableSchedule;
import io.leaderelection.schedule.FireTime;
import io.leaderelection.transaction.TransactionFencing;
import io.micrometer.core.instrument.MeterRegistry;
import org.awaitility.Awaitility;
import reactor.core.publisher.Mono;

import org.springframework.aot.AotDetector;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.health.actuate.endpoint.HealthEndpoint;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ConfigurationClassPostProcessor;
import org.springframework.context.annotation.Import;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

/**
 * An application with some of everything, to be processed ahead of time. Prints what it
 * has seen in lines of the form {@code AOT name=value}.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@EnableScheduling
@EnableTransactionManagement
@Import({ AotApplication.Jobs.class, AotApplication.Reports.class, AotApplication.Consumer.class })
public class AotApplication {

	static final String PREFIX = "AOT ";

	public static void main(String[] args) throws Exception {
		Map<String, Object> seen = new TreeMap<>();
		try (ConfigurableApplicationContext context = SpringApplication.run(AotApplication.class, args)) {
			observe(context, seen);
		}
		seen.forEach((name, value) -> System.out.println(PREFIX + name + "=" + value));
	}

	private static void observe(ConfigurableApplicationContext context, Map<String, Object> seen) throws Exception {
		Jobs jobs = context.getBean(Jobs.class);
		Reports reports = context.getBean(Reports.class);
		Consumer consumer = context.getBean(Consumer.class);
		SmartLifecycle pollers = context.getBean("pollers", SmartLifecycle.class);
		Awaitility.await()
			.until(() -> jobs.calls("write") > 1 && jobs.calls("granted") > 0 && jobs.calls("subscribe") > 0
					&& jobs.calls("fire") > 0 && consumer.isRunning() && pollers.isRunning()
					&& reports.elector().isLeader());
		seen.put("aot", AotDetector.useGeneratedArtifacts()
				&& !context.getBeanFactory().containsBeanDefinition(ConfigurationClassPostProcessor.class.getName()));
		seen.put("primary", context.getBean(LeaderElector.class).getElection());
		seen.put("qualified", reports.elector().getElection());
		seen.put("report", reports.create());
		seen.put("fencing", context.getBean(TransactionFencing.class).describe());
		DefaultLeaderElectors electors = context.getBean(DefaultLeaderElectors.class);
		seen.put("fenced", electors.getDefault().statistics().passedFence() > 0);
		seen.put("durable",
				context.getBean(LeadershipEndpoint.class).election("default").schedules().get("every-second").cron());
		seen.put("endpoint", context.getBean(LeadershipEndpoint.class).election("default").role());
		seen.put("health", context.getBean(HealthEndpoint.class).healthForPath("leadership").getStatus());
		seen.put("gauge",
				context.getBean(MeterRegistry.class)
					.get("leader.election.leader")
					.tag("election", "reports")
					.gauge()
					.value());
		electors.getDefault().resign();
		Awaitility.await().until(() -> consumer.stops() > 0);
		Awaitility.await().until(() -> jobs.calls("granted") > 1 && consumer.isRunning());
		context.close();
		seen.put("stopped", !consumer.isRunning() && !pollers.isRunning());
	}

	/**
	 * Known by an interface, as adapters to containers are.
	 */
	@Bean
	@LeaderOnly(election = "reports")
	static SmartLifecycle pollers() {
		return new Poller();
	}

	static class Jobs {

		private final List<String> calls = new CopyOnWriteArrayList<>();

		private final JdbcTemplate jdbc;

		Jobs(JdbcTemplate jdbc) {
			this.jdbc = jdbc;
		}

		@LeaderOnly
		@Scheduled(fixedDelay = 100)
		@Transactional
		void write() {
			this.jdbc.queryForObject("SELECT pg_current_xact_id()::text", String.class);
			this.calls.add("write");
		}

		@LeaderOnly(runOnGrant = true)
		void granted() {
			this.calls.add("granted");
		}

		@LeaderOnly
		@Scheduled(fixedDelay = 100)
		Mono<Void> subscribe() {
			return Mono.just("subscribe").doOnNext(this.calls::add).then();
		}

		@LeaderOnly
		@DurableSchedule(name = "${aot.job}")
		@Scheduled(cron = "* * * * * *")
		void fire() {
			FireTime.current();
			this.calls.add("fire");
		}

		int calls(String method) {
			return Collections.frequency(this.calls, method);
		}

	}

	@LeaderOnly(election = "${aot.election}", policy = NotLeaderPolicy.REJECT)
	static class Reports {

		private final LeaderElector elector;

		private final LeaderElector primary;

		Reports(LeaderElector primary, @Qualifier("reports") ObjectProvider<LeaderElector> elector) {
			this.primary = primary;
			this.elector = elector.getObject();
		}

		String create() {
			return this.elector.getWorkLeadership().getElection() + "/" + this.primary.getElection();
		}

		LeaderElector elector() {
			return this.elector;
		}

	}

	@LeaderOnly
	static class Consumer extends Poller {

	}

	static class Poller implements SmartLifecycle {

		private final AtomicInteger stops = new AtomicInteger();

		private volatile boolean running;

		@Override
		public void start() {
			this.running = true;
		}

		@Override
		public void stop() {
			this.running = false;
			this.stops.incrementAndGet();
		}

		@Override
		public boolean isRunning() {
			return this.running;
		}

		int stops() {
			return this.stops.get();
		}

	}

}
