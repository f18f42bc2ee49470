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
import java.util.HashMap;
import java.util.Map;

import io.leaderelection.LeaderChangedEvent;
import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.faults.Entry.Kind;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/**
 * A node as a process of its own. Records what it sees; obeys commands on its standard
 * input.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@EnableScheduling
@Import(FireJob.class)
public class NodeApplication {

	public static void main(String[] args) {
		SpringApplication application = new SpringApplication(NodeApplication.class);
		application.setWebApplicationType(WebApplicationType.NONE);
		ConfigurableApplicationContext context = application.run(args);
		LeaderElector elector = context.getBean(LeaderElector.class);
		Recorder.record(Kind.STARTED, "");
		Map<String, Runnable> commands = new HashMap<>(Map.of("resign", elector::resign, "pause", context::stop,
				"continue", context::start, "stop", context::close));
		DefaultLeaderElector engine = context.getBean(DefaultLeaderElectors.class).getDefault();
		commands.put("request", () -> engine.requestResignation(null, "test"));
		commands.put("status", () -> Recorder.record(Kind.STATUS, engine.status().toString()));
		context.getBeanProvider(FencedWriter.class).ifAvailable((writer) -> {
			writer.start();
			commands.putAll(writer.commands());
		});
		context.getBeanProvider(FireJob.Job.class).ifAvailable((job) -> commands.putAll(job.commands()));
		Recorder.obey(commands);
	}

	@Bean
	Jobs jobs(LeaderElector elector, @Value("${faults.work:20ms}") Duration work,
			@Value("${faults.granted-listener:0ms}") Duration grantedListener,
			@Value("${faults.revoked-listener:0ms}") Duration revokedListener,
			@Value("${faults.listeners-throw:false}") boolean listenersThrow) {
		Recorder.sample(elector);
		return new Jobs(elector, work, grantedListener, revokedListener, listenersThrow);
	}

	@Bean
	@ConditionalOnProperty("faults.writes.url")
	JdbcTransactionManager writes(@Value("${faults.writes.url}") String url,
			@Value("${faults.writes.username}") String username, @Value("${faults.writes.password}") String password,
			@Value("${leader-election.node-id}") String node, @Value("${faults.writes.threads:1}") int threads) {
		return FencedWriter.transactions(url, username, password, node, threads);
	}

	@Bean
	@ConditionalOnProperty("faults.writes.url")
	FencedWriter writer(JdbcTransactionManager writes, LeaderElector elector,
			@Value("${leader-election.group}") String group, @Value("${leader-election.node-id}") String node,
			@Value("${faults.writes.threads:1}") int threads,
			@Value("${faults.writes.interval:100ms}") Duration interval,
			@Value("${faults.writes.longest-pause:0ms}") Duration longestPause) {
		return new FencedWriter(writes, elector, group, node, threads, interval, longestPause);
	}

	@Bean
	@ConditionalOnBooleanProperty("faults.scheduler-blocked")
	Blocker blocker() {
		return new Blocker();
	}

	/**
	 * A job that is not leader work and takes its thread away from the other jobs.
	 */
	static class Blocker {

		@Scheduled(initialDelay = 300, fixedDelay = 1)
		void block() {
			Recorder.record(Kind.BLOCKED, "");
			try {
				Thread.sleep(Duration.ofMinutes(10).toMillis());
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

	/**
	 * What happens on a node.
	 */
	static class Jobs {

		private final LeaderElector elector;

		private final Duration work;

		private final Duration grantedListener;

		private final Duration revokedListener;

		private final boolean listenersThrow;

		Jobs(LeaderElector elector, Duration work, Duration grantedListener, Duration revokedListener,
				boolean listenersThrow) {
			this.elector = elector;
			this.work = work;
			this.grantedListener = grantedListener;
			this.revokedListener = revokedListener;
			this.listenersThrow = listenersThrow;
		}

		@EventListener
		void listen(LeadershipEvent event) {
			boolean granted = event instanceof LeadershipGrantedEvent;
			Recorder.listen(event, () -> handle(granted ? this.grantedListener : this.revokedListener));
		}

		@EventListener
		void observe(LeaderChangedEvent event) {
			Recorder.record(Kind.OBSERVED, event.getLeader().nodeId());
		}

		private void handle(Duration duration) {
			try {
				Thread.sleep(duration.toMillis());
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
			if (this.listenersThrow) {
				throw new IllegalStateException("This listener is meant to fail");
			}
		}

		@LeaderOnly
		@Scheduled(fixedRateString = "${faults.rate:50ms}")
		void work() {
			Recorder.work(this.elector, this.work.toNanos());
		}

	}

}
