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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

import io.leaderelection.faults.Entry.Kind;
import org.assertj.core.api.SoftAssertions;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Injects faults into a cluster, as often as {@code -Dsuite.runs} says, and checks after
 * each what was recorded.
 */
final class FaultRuns implements AutoCloseable {

	/**
	 * What a machine with too few cores may add to any time.
	 */
	static final Duration SLACK = Duration.ofSeconds(5);

	/**
	 * The longest time between two observations of a node that watches, as documented.
	 */
	static final Duration LONGEST_WATCH = Duration.ofMillis(7500);

	private static final int RUNS = Integer.getInteger("suite.runs", 1);

	private static final int MOST_TRIES = 3;

	private final Cluster cluster;

	private final List<AutoCloseable> resources = new ArrayList<>();

	private final Figures figures = new Figures();

	/**
	 * Create a new {@code FaultRuns} instance.
	 * @param cluster the nodes
	 * @param resources what is closed after them
	 */
	FaultRuns(Cluster cluster, AutoCloseable... resources) {
		this.cluster = cluster;
		this.resources.add(cluster);
		this.resources.addAll(List.of(resources));
	}

	/**
	 * Start the nodes, and close everything if they do not start.
	 */
	FaultRuns start(int nodes) {
		try {
			this.cluster.start(nodes);
			return this;
		}
		catch (AssertionError | RuntimeException ex) {
			for (AutoCloseable resource : this.resources) {
				try {
					resource.close();
				}
				catch (Exception | AssertionError closing) {
					ex.addSuppressed(closing);
				}
			}
			throw ex;
		}
	}

	Cluster cluster() {
		return this.cluster;
	}

	void run(Fault fault) {
		for (int run = 0; run < RUNS; run++) {
			try {
				if (fault.survived < 0) {
					runWithSuccession(fault);
				}
				else {
					runWithoutSuccession(fault);
				}
			}
			catch (RuntimeException | AssertionError ex) {
				ex.addSuppressed(new IllegalStateException(this.cluster.describe()));
				this.cluster.repair();
				throw ex;
			}
		}
	}

	private void runWithSuccession(Fault fault) {
		try (FaultScene scene = new FaultScene(this.cluster)) {
			scene.arrange(fault, this.cluster.awaitSessions().awaitLeader());
			scene.inject(fault);
			scene.awaitNext();
			fault.healing.take(scene);
			fault.expectations.forEach((expectation) -> expectation.take(scene));
			this.figures.add(fault.name, scene.at(), scene.stepDown(), Optional.of(scene.next()));
			this.cluster.awaitLeader();
			scene.verify();
		}
	}

	/**
	 * A machine that stalls for longer than trust lasts, which is a fault of its own,
	 * gets further tries.
	 */
	private void runWithoutSuccession(Fault fault) {
		int tries = 1;
		while (!survives(fault, tries == MOST_TRIES)) {
			tries++;
		}
	}

	private boolean survives(Fault fault, boolean last) {
		try (FaultScene scene = new FaultScene(this.cluster)) {
			scene.arrange(fault, this.cluster.awaitLeader());
			NodeProcess leader = this.cluster.awaitLeader();
			Entry began = leader.last(Kind.TRUE_FROM).orElseThrow();
			scene.inject(fault);
			scene.pause(scene.lease(fault.survived));
			fault.healing.take(scene);
			this.cluster.awaitSampleOfLeader(System.nanoTime() + this.cluster.lease().toNanos());
			boolean survived = leader.leads() && leader.last(Kind.TRUE_FROM).filter(began::equals).isPresent();
			assertThat(survived || !last).as(leader::describe).isTrue();
			if (survived) {
				fault.expectations.forEach((expectation) -> expectation.take(scene));
				this.figures.add(fault.name, scene.at(), Optional.empty(), Optional.empty());
				scene.verify();
			}
			return survived;
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

	@Override
	public void close() {
		// All are closed, and each failure is shown
		SoftAssertions.assertSoftly((all) -> {
			all.assertThatCode(this::stopAndVerify).doesNotThrowAnyException();
			this.resources.forEach((each) -> all.assertThatCode(each::close).doesNotThrowAnyException());
		});
	}

	private void stopAndVerify() throws Exception {
		// Both kinds of rows are written in turn, or nothing was checked of one of them
		Awaitility.await()
			.atMost(SLACK.multipliedBy(10))
			.untilAsserted(() -> assertThat(this.cluster.historyWithRows().rows()).anyMatch(TermRow::fenced)
				.anyMatch((row) -> !row.fenced()));
		this.cluster.stopAndVerify();
		this.figures.write(this.cluster.toString());
	}

}
