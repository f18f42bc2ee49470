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
import java.util.Collection;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import java.util.stream.Stream;

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.Invariants.Reign;

/**
 * What several nodes and the server have recorded on one clock.
 */
final class History {

	private final Map<String, List<Entry>> entries = new LinkedHashMap<>();

	private final Map<String, List<Reign>> reigns = new LinkedHashMap<>();

	private final List<LockSample> samples;

	private final boolean serverFaults;

	private final List<TermRow> rows;

	/**
	 * Create a new {@code History} instance.
	 * @param entries the entries of each node in the order in which it wrote them
	 * @param samples the samples of the server
	 * @param serverFaults whether the server itself was made to hang, so that the age of
	 * sessions shows nothing
	 */
	History(Map<String, List<Entry>> entries, List<LockSample> samples, boolean serverFaults) {
		this(entries, samples, serverFaults, List.of());
	}

	private History(Map<String, List<Entry>> entries, List<LockSample> samples, boolean serverFaults,
			List<TermRow> rows) {
		this.entries.putAll(entries);
		this.rows = rows;
		this.samples = samples;
		this.serverFaults = serverFaults;
		entries.forEach((node, all) -> this.reigns.put(node, reigns(node, all)));
	}

	private static List<Reign> reigns(String node, List<Entry> entries) {
		List<Reign> reigns = new ArrayList<>();
		Entry from = null;
		long until = 0;
		for (Entry entry : entries) {
			switch (entry.kind()) {
				case TRUE_FROM -> {
					if (from != null) {
						reigns.add(new Reign(node, from.requiredTerm(), from.time(), until, false));
					}
					from = entry;
					until = entry.time();
				}
				case TRUE_AT -> until = entry.time();
				case TRUE_UNTIL -> {
					if (from == null) {
						throw new IllegalStateException("No beginning of " + entry);
					}
					reigns.add(new Reign(node, from.requiredTerm(), from.time(), entry.time(), true));
					from = null;
				}
				default -> {
				}
			}
		}
		if (from != null) {
			reigns.add(new Reign(node, from.requiredTerm(), from.time(), until, false));
		}
		return reigns;
	}

	/**
	 * Add what the nodes have written to the database.
	 */
	History with(List<TermRow> written) {
		return new History(this.entries, this.samples, this.serverFaults, written);
	}

	List<TermRow> rows() {
		return this.rows;
	}

	Set<String> nodes() {
		return this.entries.keySet();
	}

	boolean serverFaults() {
		return this.serverFaults;
	}

	List<LockSample> samples() {
		return this.samples;
	}

	List<Reign> reigns() {
		return this.reigns.values().stream().flatMap(Collection::stream).toList();
	}

	List<Reign> reigns(String node) {
		return this.reigns.get(node);
	}

	List<Entry> of(Kind... kinds) {
		List<Kind> wanted = List.of(kinds);
		return this.entries.values()
			.stream()
			.flatMap(Collection::stream)
			.filter((entry) -> wanted.contains(entry.kind()))
			.toList();
	}

	List<Entry> of(String node, Kind... kinds) {
		List<Kind> wanted = List.of(kinds);
		return this.entries.getOrDefault(node, List.of())
			.stream()
			.filter((entry) -> wanted.isEmpty() || wanted.contains(entry.kind()))
			.toList();
	}

	/**
	 * Return the time of the last report of a node.
	 */
	long lastTime(String node) {
		return of(node).stream().mapToLong(Entry::time).max().orElse(Long.MIN_VALUE);
	}

	/**
	 * Return for how long, in nanoseconds, a node did not run within the given time.
	 */
	long stalled(String node, long from, long to) {
		return stalls(node, from, to).sum();
	}

	/**
	 * Return for how long at a stretch, in nanoseconds, a node did not run within the
	 * given time.
	 */
	long longestStall(String node, long from, long to) {
		return stalls(node, from, to).max().orElse(0);
	}

	private LongStream stalls(String node, long from, long to) {
		return of(node, Kind.STALL).stream().mapToLong((stall) -> {
			long end = stall.time() + length(stall);
			return Math.max(0, Math.min(end, to) - Math.max(stall.time(), from));
		});
	}

	/**
	 * Return for how long, in nanoseconds, a node did not run within the given time, or
	 * one and the same thread of the library had no processor.
	 */
	long delayed(String node, long from, long to) {
		List<Entry> stalls = of(node, Kind.STALL);
		return of(node, Kind.DELAY).stream()
			.collect(Collectors.groupingBy((delay) -> delay.details().split(" ")[1]))
			.values()
			.stream()
			.mapToLong((delays) -> covered(Stream.concat(stalls.stream(), delays.stream()), from, to))
			.max()
			.orElseGet(() -> covered(stalls.stream(), from, to));
	}

	private static long covered(Stream<Entry> pauses, long from, long to) {
		long covered = 0;
		long last = from;
		for (Entry pause : pauses.sorted(Comparator.comparingLong(Entry::time)).toList()) {
			long end = Math.min(pause.time() + length(pause), to);
			covered += Math.max(0, end - Math.max(pause.time(), last));
			last = Math.max(last, end);
		}
		return covered;
	}

	private static long length(Entry pause) {
		return Long.parseLong(pause.details().split(" ")[0]);
	}

	/**
	 * Return whether a node led at any moment of the given time.
	 */
	boolean led(String node, long from, long to) {
		return this.reigns.getOrDefault(node, List.of())
			.stream()
			.anyMatch((reign) -> reign.from() <= to && reign.until() >= from);
	}

	/**
	 * Return whether a listener or leader work of a node is running at the given time.
	 */
	boolean isBusy(String node, long time) {
		List<Entry> all = of(node).stream().filter((entry) -> entry.time() <= time).toList();
		return count(all, Kind.GRANTED, Kind.REVOKED, Kind.WORK, Kind.WRITE) > count(all, Kind.GRANTED_ENDED,
				Kind.REVOKED_ENDED, Kind.WORK_ENDED, Kind.WRITE_ENDED);
	}

	private static long count(List<Entry> entries, Kind... kinds) {
		return entries.stream().filter((entry) -> List.of(kinds).contains(entry.kind())).count();
	}

}
