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

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;

import io.leaderelection.testsupport.Daemon;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;

/**
 * Tests for {@link ProcessorDelays}.
 */
@EnabledOnOs(OS.LINUX)
class ProcessorDelaysTests {

	@Test
	void threadsThatShareAProcessorAreDelayed() {
		AtomicLong longest = new AtomicLong();
		AtomicBoolean stop = new AtomicBoolean();
		ProcessorDelays.watch((delay) -> longest.accumulateAndGet(delay, Math::max));
		try {
			for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
				Daemon.start("busy", () -> {
					while (!stop.get()) {
						Thread.onSpinWait();
					}
				});
			}
			Awaitility.await().until(() -> longest.get() > 20_000_000);
		}
		finally {
			stop.set(true);
		}
	}

}
