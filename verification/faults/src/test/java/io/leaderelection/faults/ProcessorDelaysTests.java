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

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

import io.leaderelection.testsupport.Daemon;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;

/**
 * Tests for {@link ProcessorDelays}.
 */
@EnabledIf(value = "io.leaderelection.faults.ProcessorDelays#isMeasured", disabledReason = "Not measured here")
@Tag("ring3")
class ProcessorDelaysTests {

	@Test
	void threadsThatShareAProcessorAreDelayed() {
		Map<String, Long> delays = new ConcurrentHashMap<>();
		List<Thread> threads = new ArrayList<>();
		threads.add(ProcessorDelays.watch("busy", (thread, delay) -> delays.merge(thread, delay, Long::sum)));
		try {
			for (int i = 0; i < 3 * Runtime.getRuntime().availableProcessors(); i++) {
				threads.add(Daemon.start("busy", ProcessorDelaysTests::spin));
				threads.add(Daemon.start("other", ProcessorDelaysTests::spin));
			}
			Awaitility.await().until(() -> delays.size() == 3 * Runtime.getRuntime().availableProcessors());
		}
		finally {
			threads.forEach(Thread::interrupt);
		}
	}

	private static void spin() {
		while (!Thread.currentThread().isInterrupted()) {
			Thread.onSpinWait();
		}
	}

}
