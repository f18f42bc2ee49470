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

package io.leaderelection.integration;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import io.leaderelection.NotLeaderException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import io.leaderelection.schedule.Claim;
import io.leaderelection.schedule.FireTime;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.MeterRegistry;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.annotation.Transactional;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

/**
 * Compares each counter with what has really run.
 */
@Tag("ring1")
class CountersTests extends AbstractDurableScheduleTests {

	private static final int NOMINAL_FIRES = 6;

	@ParameterizedTest
	@EnumSource(Claim.class)
	void countersOfADurableScheduleAreThoseOfItsRuns(Claim claim) {
		LocalNode node = start(job(claim)).awaitLeader();
		List<FireTime> begun = new CopyOnWriteArrayList<>();
		List<FireTime> completed = new CopyOnWriteArrayList<>();
		List<Instant> failing = new CopyOnWriteArrayList<>();
		hooks.add((fire) -> {
			begun.add(FireTime.current());
			if (failing.remove(fire)) {
				throw new IllegalStateException("as requested");
			}
			completed.add(FireTime.current());
		});
		int calls = 0;
		run(node);
		calls++;
		for (int day : new int[] { 2, 5, 6, 7 }) {
			clock.set("2026-05-0" + day + "T02:00:01Z");
			if (day == 6) {
				failing.add(Instant.parse("2026-05-06T02:00:00Z"));
				assertThatIllegalStateException().isThrownBy(() -> run(node));
				calls++;
			}
			run(node);
			run(node);
			calls += 2;
		}
		long fires = begun.stream().map(FireTime::getNominalTime).distinct().count();
		assertThat(begun).hasSize((claim == Claim.BEFORE) ? 4 : 5);
		assertThat(count(node, "invocations", "outcome", "run")).as("run").isEqualTo(begun.size());
		assertThat(count(node, "invocations", "outcome", "skipped")).as("skipped").isEqualTo(calls - begun.size());
		assertThat(count(node, "invocations", "outcome", "rejected")).isZero();
		assertThat(count(node, "invocations", "outcome", "interrupted")).isZero();
		assertThat(count(node, "schedule.runs", "outcome", "completed")).as("completed").isEqualTo(completed.size());
		assertThat(count(node, "schedule.runs", "outcome", "failed")).as("failed")
			.isEqualTo(begun.size() - completed.size());
		assertThat(count(node, "schedule.fires", "outcome", "missed")).as("missed").isEqualTo(NOMINAL_FIRES - fires);
		assertThat(count(node, "schedule.fires", "outcome", "caught_up")).as("caught up")
			.isEqualTo(completed.stream().filter(FireTime::isCatchUp).count());
	}

	@Test
	void countersOfGuardedMethodsAreThoseOfTheirCalls() throws Exception {
		LocalNode leader = start(Work.class).awaitLeader();
		LocalNode follower = start(Work.class);
		Work work = leader.bean(Work.class);
		work.run();
		work.run();
		assertThatIllegalStateException().isThrownBy(work::fail);
		work.write();
		Work skipped = follower.bean(Work.class);
		skipped.run();
		assertThatExceptionOfType(NotLeaderException.class).isThrownBy(skipped::reject);
		Thread blocked = new Thread(work::block);
		blocked.start();
		assertThat(ran(leader).blocks().await(10, TimeUnit.SECONDS)).isTrue();
		leader.elector().resign().get(30, TimeUnit.SECONDS);
		follower.awaitLeader();
		blocked.join(10_000);
		skipped.run();
		assertThat(count(leader, "invocations", "outcome", "run")).isEqualTo(ran(leader).runs().get());
		assertThat(count(leader, "invocations", "outcome", "interrupted")).isEqualTo(ran(leader).interrupts().get())
			.isOne();
		assertThat(count(leader, "invocations", "outcome", "skipped")).isZero();
		assertThat(count(follower, "invocations", "outcome", "run")).isEqualTo(ran(follower).runs().get()).isOne();
		assertThat(count(follower, "invocations", "outcome", "skipped")).isOne();
		assertThat(count(follower, "invocations", "outcome", "rejected")).isOne();
		assertThat(count(leader, "fence", "result", "passed")).isOne();
		assertThat(count(leader, "fence", "result", "refused")).isZero();
		leader.awaitEvent(1);
		follower.awaitEvent(0);
		assertThat(count(leader, "transitions", "kind", "granted")).isOne();
		assertThat(count(leader, "transitions", "kind", "revoked")).isOne();
		assertThat(count(leader, "transitions", "reason", "resigned")).isOne();
		assertThat(count(follower, "transitions", "kind", "granted")).isOne();
	}

	private static Ran ran(LocalNode node) {
		return node.bean(Work.class).ran();
	}

	private static long count(LocalNode node, String name, String tag, String value) {
		return (long) node.bean(MeterRegistry.class)
			.find("leader.election." + name)
			.tag(tag, value)
			.functionCounters()
			.stream()
			.mapToDouble(FunctionCounter::count)
			.sum();
	}

	/**
	 * What has really run.
	 */
	record Ran(AtomicInteger runs, AtomicInteger interrupts, CountDownLatch blocks) {

	}

	static class Work {

		private final Ran ran = new Ran(new AtomicInteger(), new AtomicInteger(), new CountDownLatch(1));

		@Autowired
		private JdbcClient jdbc;

		Ran ran() {
			return this.ran;
		}

		@LeaderOnly
		void run() {
			this.ran.runs().incrementAndGet();
		}

		@LeaderOnly
		void fail() {
			this.ran.runs().incrementAndGet();
			throw new IllegalStateException("as requested");
		}

		@LeaderOnly
		@Transactional
		void write() {
			this.ran.runs().incrementAndGet();
			this.jdbc.sql("INSERT INTO durable_run (fire) VALUES ('none')").update();
		}

		@LeaderOnly(policy = NotLeaderPolicy.REJECT)
		void reject() {
			this.ran.runs().incrementAndGet();
		}

		@LeaderOnly
		void block() {
			this.ran.blocks().countDown();
			try {
				Thread.sleep(Duration.ofMinutes(1).toMillis());
				this.ran.runs().incrementAndGet();
			}
			catch (InterruptedException ex) {
				this.ran.interrupts().incrementAndGet();
			}
		}

	}

}
