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

package io.leaderelection.engine;

import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

import org.apache.commons.logging.Log;
import org.apache.commons.logging.LogFactory;

/**
 * Loads and links the code of an election in advance: runs one without a store, listeners
 * and log from its start to its end, once per process, beside the start of the
 * application. Without this, the first takeover of a process would spend most of its time
 * on loading and linking classes.
 */
final class WarmUp {

	private static final Log logger = LogFactory.getLog(WarmUp.class);

	private static final Duration LIMIT = Duration.ofSeconds(5);

	private static final AtomicBoolean begun = new AtomicBoolean();

	private WarmUp() {
	}

	/**
	 * Begin on another thread, unless this process has done so.
	 */
	static void begin() {
		if (!begun.getAndSet(true)) {
			try {
				Platform.SYSTEM.newThread("warm-up", WarmUp::run).start();
			}
			catch (OutOfMemoryError ex) {
				failed(ex);
			}
		}
	}

	private static void failed(Throwable failure) {
		logger.debug("The warm-up failed, so the first takeover may take longer", failure);
	}

	static void run() {
		try {
			elect();
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (Exception | OutOfMemoryError ex) {
			failed(ex);
		}
	}

	private static void elect() throws Exception {
		ElectionSettings settings = new ElectionSettings("warm-up", "warm-up", LIMIT, Duration.ZERO, LIMIT, true);
		DefaultLeaderElector elector = new DefaultLeaderElector(settings, ElectionTimings.DEFAULTS,
				() -> new LocalSession(() -> true, null), new Watchdog(Platform.SYSTEM), Platform.SYSTEM, (event) -> {
				}, ElectionLog.NONE, Transitions::new);
		try {
			elector.start().get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
			elector.runIfLeader(elector::status);
		}
		finally {
			elector.stop().get(LIMIT.toMillis(), TimeUnit.MILLISECONDS);
		}
	}

}
