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

package io.leaderelection.simulation;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

import io.leaderelection.simulation.Invariants.Violation;
import io.leaderelection.simulation.Simulation.Result;
import org.jspecify.annotations.Nullable;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Runs the histories of one seed after the other until a time has passed or a guarantee
 * is violated, and counts what has happened.
 */
final class Histories {

	private static final Path FOLDER = Path.of("target", "simulation");

	private static final int LAST_LINES = 100;

	private static final int MOST_FAILOVERS = 50_000;

	private static final Duration SEARCH_LIMIT = Duration.ofMinutes(5);

	/** This process among those that run tests, or nothing. */
	private static final String FORK = System.getProperty("simulation.fork", "");

	static {
		int processors = Runtime.getRuntime().availableProcessors();
		if (FORK.startsWith("fork-") && processors > 1) {
			useOneProcessor((Integer.parseInt(FORK.substring("fork-".length())) - 1) % processors);
		}
	}

	private final Store store;

	private final Sentinel sentinel;

	private final AtomicLong nextSeed;

	private final Map<Faults.Kind, Integer> faults = new TreeMap<>();

	private @Nullable Result violation;

	private int histories;

	private long grants;

	private long commits;

	private long refusals;

	private long handOvers;

	private long lossesByLease;

	private long excused;

	private long time;

	private long steps;

	private long switches;

	private Histories(Store store, Sentinel sentinel, long firstSeed) {
		this.store = store;
		this.sentinel = sentinel;
		this.nextSeed = new AtomicLong(firstSeed);
	}

	/**
	 * Pin this process to a processor. A history passes control from thread to thread,
	 * which is slow between processors.
	 */
	private static void useOneProcessor(int processor) {
		try {
			java.lang.Process taskset = new ProcessBuilder("taskset", "--all-tasks", "--cpu-list", "--pid",
					Integer.toString(processor), Long.toString(ProcessHandle.current().pid()))
				.redirectErrorStream(true)
				.start();
			String output = new String(taskset.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
			if (taskset.waitFor() != 0) {
				System.out.println("The simulation uses all processors: " + output);
			}
		}
		catch (IOException ex) {
			System.out.println("The simulation uses all processors: " + ex.getMessage());
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
	}

	/**
	 * Search for a sentinel until its check finds it.
	 */
	static Histories search(Sentinel sentinel) {
		return new Histories(sentinel.store(), sentinel, 1).run(SEARCH_LIMIT, MOST_FAILOVERS);
	}

	/**
	 * Run for a while, and fail if a guarantee is violated.
	 */
	static void assertGuaranteesHold(Store store, Duration duration, long firstSeed) {
		Histories histories = new Histories(store, Sentinel.NONE, firstSeed).run(duration, Long.MAX_VALUE);
		System.out
			.println("Simulation of " + store + " for " + duration + " from seed " + firstSeed + ": " + histories);
		Result violation = histories.violation();
		assertThat(violation).as(() -> (violation != null) ? histories.explain(violation) : "").isNull();
	}

	/**
	 * Run on all processors until a time has passed, a guarantee is violated or there
	 * were enough failovers.
	 */
	private Histories run(Duration duration, long mostGrants) {
		int threads = Runtime.getRuntime().availableProcessors();
		long end = System.nanoTime() + duration.toNanos();
		ExecutorService executor = Executors.newFixedThreadPool(threads);
		try {
			List<Future<?>> running = new ArrayList<>();
			for (int i = 0; i < threads; i++) {
				running.add(executor.submit(() -> runOnThisThread(end, mostGrants)));
			}
			for (Future<?> each : running) {
				each.get();
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
		}
		catch (ExecutionException ex) {
			throw new IllegalStateException(ex.getCause());
		}
		finally {
			executor.shutdown();
		}
		return this;
	}

	private void runOnThisThread(long end, long mostGrants) {
		Simulation simulation = new Simulation(this.store, this.sentinel);
		do {
			add(simulation.run(this.nextSeed.getAndIncrement()));
		}
		while (System.nanoTime() - end < 0 && isUnfinished(mostGrants));
	}

	private synchronized boolean isUnfinished(long mostGrants) {
		return this.violation == null && this.grants < mostGrants;
	}

	private synchronized void add(Result result) {
		this.histories++;
		this.grants += result.grants();
		this.commits += result.commits();
		this.refusals += result.refusals();
		this.handOvers += result.handOvers();
		this.lossesByLease += result.lossesByLease();
		this.excused += result.excused();
		this.time += result.time();
		this.steps += result.steps();
		this.switches += result.switches();
		result.faults().forEach((kind, count) -> this.faults.merge(kind, count, Integer::sum));
		Violation found = result.violation();
		if (this.violation == null && found != null && this.sentinel.checks().contains(found.check())) {
			this.violation = result;
		}
	}

	/**
	 * Return the first history in which a guarantee was violated.
	 */
	@Nullable Result violation() {
		return this.violation;
	}

	/**
	 * Return after how many failovers a violation was found.
	 */
	long grants() {
		return this.grants;
	}

	/**
	 * Run a history again, write down what happens in it, and return the end of that.
	 */
	String explain(Result violated) {
		Result recorded = new Simulation(this.store, this.sentinel).record(violated.seed());
		// Its text may contain identities of objects
		if (recorded.violation() == null || violated.violation().check() != recorded.violation().check()) {
			throw new IllegalStateException("The history of seed " + violated.seed() + " has ended with "
					+ recorded.violation() + " when it was repeated, instead of " + violated.violation());
		}
		List<String> lines = recorded.lines();
		try {
			Files.createDirectories(FOLDER);
			Path file = FOLDER.resolve(this.store + "-seed-" + violated.seed() + ".txt");
			Files.write(file, lines);
			return """
					%s
					...
					%s
					The whole history is in %s. Run it again with -Dsimulation.store=%s -Dsimulation.seed=%d
					""".formatted(violated.violation(),
					String.join("\n", lines.subList(Math.max(0, lines.size() - LAST_LINES), lines.size())), file,
					this.store, violated.seed());
		}
		catch (IOException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public String toString() {
		return """
				%d histories, %d failovers, of which %d after an orderly hand-over and %d after the end of a lease, \
				%d fenced commits, %d refused, %d overlaps that the guarantees leave open, \
				%.0f s of virtual time, %d steps, %d switches of threads, faults %s\
				""".formatted(this.histories, this.grants, this.handOvers, this.lossesByLease, this.commits,
				this.refusals, this.excused, this.time / 1e9, this.steps, this.switches, this.faults);
	}

}
