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

import java.util.concurrent.CountDownLatch;

import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;

import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * An application without a web server. Its context is closed some time after its main
 * method has returned, if the JVM is still there.
 */
@Configuration(proxyBeanMethods = false)
@ImportAutoConfiguration(LeaderElectionAutoConfiguration.class)
public class WorkerApplication {

	private static final long PAUSE_MILLIS = 1500;

	public static void main(String[] arguments) {
		Thread main = Thread.currentThread();
		ConfigurableApplicationContext context = new SpringApplicationBuilder(WorkerApplication.class)
			.web(WebApplicationType.NONE)
			.run(arguments);
		Thread close = new Thread(() -> close(context, main));
		close.setDaemon(true);
		close.start();
		System.out.println("main has ended");
	}

	private static void close(ConfigurableApplicationContext context, Thread main) {
		try {
			main.join();
			// The JVM ends at once if there is nothing that it waits for
			Thread.sleep(PAUSE_MILLIS);
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		System.out.println("still running, and then closed");
		context.close();
	}

	@Bean
	@LeaderOnly
	@ConditionalOnBooleanProperty("worker.service")
	Service service() {
		return new Service();
	}

	/** A service whose thread keeps the JVM of the leader alive. */
	static class Service implements SmartLifecycle {

		private final CountDownLatch stopped = new CountDownLatch(1);

		private Thread thread;

		@Override
		public void start() {
			this.thread = new Thread(() -> {
				try {
					this.stopped.await();
				}
				catch (InterruptedException ex) {
					Thread.currentThread().interrupt();
				}
			});
			this.thread.start();
			System.out.println("service has started with daemon=" + this.thread.isDaemon());
		}

		@Override
		public void stop() {
			this.stopped.countDown();
			this.thread = null;
		}

		@Override
		public boolean isRunning() {
			return this.thread != null;
		}

	}

}
