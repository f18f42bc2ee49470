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

import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.annotation.LeaderOnly;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/**
 * A node as a process of its own. Records what it sees on its standard output, with times
 * of the monotonic clock that all processes of the machine share; obeys commands on its
 * standard input.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@EnableScheduling
public class NodeApplication {

	private static final long SAMPLE_INTERVAL = 200_000;

	private static volatile long lastTrue;

	public static void main(String[] args) {
		SpringApplication application = new SpringApplication(NodeApplication.class);
		application.setWebApplicationType(WebApplicationType.NONE);
		ConfigurableApplicationContext context = application.run(args);
		LeaderElector elector = context.getBean(LeaderElector.class);
		Thread sampler = new Thread(() -> sample(elector), "sampler");
		sampler.setDaemon(true);
		sampler.start();
		record("STARTED", "");
		obey(context, elector);
	}

	private static void obey(ConfigurableApplicationContext context, LeaderElector elector) {
		Scanner commands = new Scanner(System.in);
		while (commands.hasNextLine()) {
			String command = commands.nextLine();
			record("COMMAND", command);
			switch (command) {
				case "resign" -> elector.resign();
				case "stop" -> {
					context.close();
					record("STOPPED", "");
					System.exit(0);
				}
				default -> throw new IllegalArgumentException(command);
			}
		}
		// The test that started this node is gone
		System.exit(1);
	}

	/**
	 * Record when leadership was first and last seen: times from before the question, so
	 * that a pause between question and clock cannot make an overlap look smaller.
	 */
	private static void sample(LeaderElector elector) {
		boolean leading = false;
		while (true) {
			long now = System.nanoTime();
			if (elector.isLeader()) {
				lastTrue = now;
				if (!leading) {
					record(now, "FIRST_TRUE", "");
				}
				leading = true;
			}
			else if (leading) {
				record(lastTrue, "LAST_TRUE", "");
				leading = false;
			}
			LockSupport.parkNanos(SAMPLE_INTERVAL);
		}
	}

	static void record(String kind, String details) {
		record(System.nanoTime(), kind, details);
	}

	private static synchronized void record(long time, String kind, String details) {
		System.out.println("@ " + time + " " + kind + " " + details);
		System.out.flush();
	}

	@Bean
	Jobs jobs() {
		return new Jobs();
	}

	/**
	 * What happens on a node.
	 */
	static class Jobs {

		@EventListener
		void granted(LeadershipGrantedEvent event) {
			record("GRANTED", event.getLeadership().getTerm().toString());
		}

		@EventListener
		void revoked(LeadershipRevokedEvent event) {
			record("REVOKED", event.getLeadership().getTerm() + " " + event.getReason());
		}

		@LeaderOnly
		@Scheduled(fixedRate = 50)
		void work() throws InterruptedException {
			record("WORK", "");
			try {
				Thread.sleep(20);
			}
			finally {
				record("WORK_ENDED", "");
			}
		}

	}

}
