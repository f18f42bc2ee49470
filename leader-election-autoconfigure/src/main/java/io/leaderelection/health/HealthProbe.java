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

package io.leaderelection.health;

import java.util.function.BooleanSupplier;

import io.leaderelection.engine.DaemonThreads;
import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * One health check, on a separate thread, since a check may never return.
 */
final class HealthProbe implements Runnable {

	private static final Log logger = LogFactory.getLog(HealthProbe.class);

	private final BooleanSupplier healthCheck;

	private final Runnable whenAnswered;

	private final long asked = System.nanoTime();

	private volatile @Nullable Answer answer;

	HealthProbe(BooleanSupplier healthCheck, Runnable whenAnswered) {
		this.healthCheck = healthCheck;
		this.whenAnswered = whenAnswered;
	}

	/**
	 * Start the check without waiting for its answer.
	 */
	void start() {
		try {
			DaemonThreads.create("health-check", this).start();
		}
		catch (Throwable ex) {
			failed(ex);
		}
	}

	@Override
	public void run() {
		try {
			this.answer = new Answer(this.healthCheck.getAsBoolean(), System.nanoTime());
		}
		catch (Throwable ex) {
			failed(ex);
		}
		finally {
			this.whenAnswered.run();
		}
	}

	// Set the answer first, since logging may fail too
	private void failed(Throwable ex) {
		this.answer = new Answer(false, System.nanoTime());
		logger.warn("Health check failed, which counts as unhealthy", ex);
	}

	/**
	 * Return when this check began.
	 */
	long asked() {
		return this.asked;
	}

	/**
	 * Return the answer, or {@code null} if there is none yet.
	 */
	@Nullable Answer answer() {
		return this.answer;
	}

	/**
	 * The answer of a health check.
	 *
	 * @param healthy whether the application is healthy
	 * @param time when it answered
	 */
	record Answer(boolean healthy, long time) {

	}

}
