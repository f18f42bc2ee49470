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

package io.leaderelection.autoconfigure.schedule;

import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.engine.Platform;
import io.leaderelection.schedule.DurableSchedules;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.scheduling.annotation.ScheduledAnnotationBeanPostProcessor;

/**
 * Checks at start that the fires of durable schedules can be recorded: after the tables
 * of the application have been created, and before {@code @Scheduled} methods run. On a
 * separate thread, since a pool may block its callers for a long time.
 */
final class DurableSchedulesLifecycle implements SmartLifecycle {

	private static final Log logger = LogFactory.getLog(DurableSchedulesLifecycle.class);

	private static final Duration LONGEST_START = Duration.ofSeconds(10);

	private final DurableSchedules schedules;

	private final ListableBeanFactory beanFactory;

	private volatile boolean running;

	DurableSchedulesLifecycle(DurableSchedules schedules, ListableBeanFactory beanFactory) {
		this.schedules = schedules;
		this.beanFactory = beanFactory;
	}

	@Override
	public int getPhase() {
		return Integer.MAX_VALUE;
	}

	@Override
	public boolean isRunning() {
		return this.running;
	}

	@Override
	public void start() {
		if (!this.schedules.jobs().isEmpty()) {
			if (this.beanFactory.getBeanNamesForType(ScheduledAnnotationBeanPostProcessor.class, true,
					false).length == 0) {
				// Not an error: a test may call the jobs by itself
				logger.warn("No durable schedule runs by itself, since scheduling is not enabled: "
						+ "add @EnableScheduling to a configuration class");
			}
			FutureTask<@Nullable Void> checked = new FutureTask<>(this.schedules::check, null);
			Platform.SYSTEM.newThread("schedules", checked).start();
			await(checked);
		}
		this.running = true;
	}

	private static void await(Future<@Nullable Void> checked) {
		try {
			checked.get(LONGEST_START.toMillis(), TimeUnit.MILLISECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException | TimeoutException ex) {
			if (ex.getCause() instanceof InvalidUsageException invalid) {
				throw invalid;
			}
			logger.warn("Could not determine whether fires of durable schedules can be recorded; "
					+ "as long as they cannot, each claim fails and is repeated", ex);
		}
	}

	@Override
	public void stop() {
		this.running = false;
		this.schedules.stop();
	}

}
