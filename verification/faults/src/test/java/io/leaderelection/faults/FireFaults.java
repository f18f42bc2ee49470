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

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

import io.leaderelection.faults.FireOrder.Fire;

/**
 * Faults that were injected one after the other, and how late they made fires.
 */
final class FireFaults {

	private final List<Injection> injections = new ArrayList<>();

	/**
	 * Add a fault that is injected now.
	 */
	void add(String fault) {
		this.injections.add(new Injection(fault, Instant.now()));
	}

	Map<String, Long> counts() {
		return this.injections.stream()
			.collect(Collectors.groupingBy(Injection::fault, TreeMap::new, Collectors.counting()));
	}

	/**
	 * Return how late the latest fire after each injection was, up to the next one.
	 */
	Map<String, List<Duration>> lateness(List<Fire> fires) {
		Map<String, List<Duration>> lateness = new TreeMap<>();
		for (int i = 0; i < this.injections.size(); i++) {
			Injection injection = this.injections.get(i);
			Instant until = (i + 1 < this.injections.size()) ? this.injections.get(i + 1).time() : Instant.MAX;
			fires.stream()
				.filter((fire) -> fire.time().isAfter(injection.time()) && fire.time().isBefore(until))
				.map(Fire::lateness)
				.max(Duration::compareTo)
				.ifPresent((latest) -> lateness.computeIfAbsent(injection.fault(), (fault) -> new ArrayList<>())
					.add(latest));
		}
		lateness.values().forEach((durations) -> durations.sort(Duration::compareTo));
		return lateness;
	}

	/**
	 * Return the lateness by fault, as a table.
	 */
	String table(List<Fire> fires) {
		StringBuilder table = new StringBuilder("| fault | failovers | latest fire: median, p90, max (ms) |\n");
		lateness(fires).forEach((fault, sorted) -> table
			.append("| %s | %d | %s |\n".formatted(fault, sorted.size(), percentiles(sorted))));
		return table.toString();
	}

	private static String percentiles(List<Duration> sorted) {
		return IntStream.of(50, 90, 100)
			.mapToObj((percent) -> sorted.get((sorted.size() * percent + 99) / 100 - 1).toMillis())
			.map(String::valueOf)
			.collect(Collectors.joining(", "));
	}

	@Override
	public String toString() {
		return this.injections.toString();
	}

	/**
	 * A fault that was injected.
	 *
	 * @param fault which, and what it hit
	 * @param time when
	 */
	private record Injection(String fault, Instant time) {

	}

}
