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

import java.util.Collection;
import java.util.Locale;

/**
 * A sample of durations, summed up.
 *
 * @param count how many there are
 * @param median the median, in milliseconds
 * @param p90 what nine of ten do not exceed, in milliseconds
 * @param max the longest, in milliseconds
 */
record Milliseconds(int count, double median, double p90, double max) {

	static Milliseconds ofNanos(Collection<Long> nanos) {
		double[] sorted = nanos.stream().mapToDouble((each) -> each / 1e6).sorted().toArray();
		if (sorted.length == 0) {
			return new Milliseconds(0, Double.NaN, Double.NaN, Double.NaN);
		}
		double median = (sorted[(sorted.length - 1) / 2] + sorted[sorted.length / 2]) / 2;
		return new Milliseconds(sorted.length, median, sorted[(int) Math.ceil(sorted.length * 0.9) - 1],
				sorted[sorted.length - 1]);
	}

	/**
	 * The cells of a table: count, median, 90th percentile, maximum.
	 */
	String cells() {
		return String.format(Locale.ROOT, "%d | %.2f | %.2f | %.2f", this.count, this.median, this.p90, this.max);
	}

}
