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

package io.leaderelection.cli;

import java.time.Duration;
import java.util.Arrays;
import java.util.Locale;

/**
 * Measured times.
 */
final class Milliseconds {

	private Milliseconds() {
	}

	static String print(Duration duration) {
		return print(duration.toNanos());
	}

	static String print(long nanos) {
		double millis = nanos / 1_000_000.0;
		return String.format(Locale.ROOT, (millis < 10) ? "%.1f ms" : "%,.0f ms", millis);
	}

	/**
	 * Return median, 99th percentile and number of the given times.
	 */
	static String summary(long[] nanos) {
		return "median %s, p99 %s of %d".formatted(print(percentile(nanos, 50)), print(percentile(nanos, 99)),
				nanos.length);
	}

	static long percentile(long[] nanos, int percent) {
		long[] sorted = nanos.clone();
		Arrays.sort(sorted);
		return sorted[Math.max(0, (int) Math.ceil(sorted.length * percent / 100.0) - 1)];
	}

}
