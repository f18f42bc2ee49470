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

import io.leaderelection.faults.Entry.Kind;
import io.leaderelection.faults.FireJob.Place;
import io.leaderelection.faults.FireOrder.Fire;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Each fire of a durable schedule is committed exactly once and in order, whatever
 * happens to its leaders and even if their clocks differ.
 * {@code -Dsuite.schedule-failovers=1000} makes the runs longer.
 */
@Tag("ring2")
class DurableScheduleFaultTests {

	private static final Duration SKEW = Duration.ofSeconds(2);

	private static final int FAILOVERS = Integer.getInteger("suite.schedule-failovers", 10);

	/** A restart of the server takes the longest. */
	private static final Duration LATEST = Duration.ofSeconds(30);

	@Test
	void everySecondHasOneFireInOrder() throws InterruptedException {
		try (DurableFires fires = new DurableFires(Duration.ZERO)) {
			assertThat(verify(fires.run(FAILOVERS)).fires()).isNotEmpty()
				.allMatch((fire) -> fire.lateness().compareTo(LATEST) < 0);
		}
	}

	@Test
	@Tag("ring3")
	void everySecondHasOneFireInOrderWithClocksApart() throws InterruptedException {
		try (DurableFires fires = new DurableFires(SKEW)) {
			FireOrder order = verify(fires.run(FAILOVERS));
			assertThat(order.fires()).as("by a clock that is ahead").anyMatch((fire) -> fire.lateness().isNegative());
		}
	}

	private static FireOrder verify(DurableFires fires) {
		FireOrder order = fires.finish();
		System.out.println(fires);
		assertThat(order.violations()).as(fires::describe).isEmpty();
		assertThat(order.fires()).extracting(Fire::second).containsAll(fires.reported());
		return order;
	}

	@Test
	void nextLeaderRepeatsTheRunOfAFrozenOne() {
		try (DurableFires fires = new DurableFires(Duration.ZERO)) {
			Cluster cluster = fires.cluster();
			NodeProcess leader = cluster.awaitLeader();
			Entry held = fires.hold(leader, Place.RUN).orElseThrow();
			long second = DurableFires.secondOf(held);
			leader.signal("STOP");
			Entry next = cluster.awaitNext(held.requiredTerm());
			fires.awaitFire((fire) -> DurableFires.secondOf(fire) >= second && fire.time() > next.time());
			leader.signal("CONT");
			leader.command("release fire");
			assertThat(DurableFires.secondOf(leader.await(Kind.NOT_FIRED, held.time()))).isEqualTo(second);
			assertThat(cluster.server().log().lines())
				.anyMatch((line) -> line.contains("," + held.details().split(" ")[1] + ",")
						&& line.contains("due to idle-in-transaction timeout"));
			FireOrder order = fires.finish();
			assertThat(order.violations()).isEmpty();
			assertThat(order.fires()).filteredOn((fire) -> fire.second() == second)
				.extracting(Fire::node)
				.containsExactly(next.node());
		}
	}

}
