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
 * One look at health, on a thread of its own: a check may hang for ever.
 */
final class HealthProbe implements Runnable {

	private static final Log logger = LogFactory.getLog(HealthProbe.class);

	private final BooleanSupplier well;

	private final Runnable whenAnswered;

	private final long asked = System.nanoTime();

	private volatile @Nullable Answer answer;

	HealthProbe(BooleanSupplier well, Runnable whenAnswered) {
		this.well = well;
		this.whenAnswered = whenAnswered;
	}

	/**
	 * Look, without waiting for the answer.
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
			this.answer = new Answer(this.well.getAsBoolean(), System.nanoTime());
		}
		catch (Throwable ex) {
			failed(ex);
		}
		finally {
			this.whenAnswered.run();
		}
	}

	// First the answer, as what logs may fail too
	private void failed(Throwable ex) {
		this.answer = new Answer(false, System.nanoTime());
		logger.warn("Health could not be looked at, which counts as not well", ex);
	}

	/**
	 * Return when this look began.
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
	 * What health has answered.
	 *
	 * @param well whether it is well
	 * @param time when it answered
	 */
	record Answer(boolean well, long time) {

	}

}
