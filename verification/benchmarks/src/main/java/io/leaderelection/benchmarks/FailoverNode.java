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

import java.util.concurrent.locks.LockSupport;

import io.leaderelection.LeaderElector;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.benchmarks.NodeProcess.Report;
import io.leaderelection.testsupport.Daemon;
import io.leaderelection.testsupport.NodeJvm;

import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;

/**
 * A node of {@link FailoverBenchmark}: an application with a job and a listener, in a JVM
 * of its own. Reports times of {@link System#nanoTime()}, which on Linux is one clock for
 * all processes, and ends with the process that has started it.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
@EnableScheduling
public class FailoverNode {

	private static final long SAMPLE_INTERVAL = 250_000;

	public static void main(String[] args) {
		NodeJvm.endWithParent();
		SpringApplication application = new SpringApplication(FailoverNode.class);
		application.setWebApplicationType(WebApplicationType.NONE);
		application.setBannerMode(Banner.Mode.OFF);
		LeaderElector elector = application.run(args).getBean(LeaderElector.class);
		// Also links the one expression that makes the text of a report
		report(Report.STARTED, System.nanoTime());
		Daemon.start("sampler", () -> sample(elector));
	}

	/**
	 * Asks again and again whether this node leads. The first time is taken after the
	 * answer and the last one before the question, so that a pause between the two cannot
	 * pass for an overlap.
	 */
	private static void sample(LeaderElector elector) {
		boolean led = false;
		long lastTrue = 0;
		while (true) {
			long asked = System.nanoTime();
			boolean leads = elector.isLeader();
			if (leads && !led) {
				report(Report.FIRST_TRUE, System.nanoTime());
			}
			if (!leads && led) {
				report(Report.LAST_TRUE, lastTrue);
			}
			lastTrue = leads ? asked : lastTrue;
			led = leads;
			LockSupport.parkNanos(SAMPLE_INTERVAL);
		}
	}

	private static void report(Report report, long time) {
		System.out.println(NodeProcess.PREFIX + report + " " + time);
	}

	@Bean
	Jobs jobs() {
		return new Jobs();
	}

	/**
	 * What the application does with leadership.
	 */
	static class Jobs {

		private volatile long runs;

		@LeaderOnly
		@Scheduled(fixedRate = 50)
		void work() {
			this.runs = this.runs + 1;
		}

	}

}
