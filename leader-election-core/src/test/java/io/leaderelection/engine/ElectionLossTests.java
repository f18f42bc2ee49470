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

package io.leaderelection.engine;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;
import io.leaderelection.LeadershipRevokedEvent;
import io.leaderelection.engine.FakeStore.Call;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link Election}: loss of leadership, and what it does when the store fails.
 */
@Timeout(60)
@Tag("ring1")
class ElectionLossTests extends ElectionFixture {

	private @Nullable Job job;

	@Test
	void workOfALostTermIsInterruptedAndNoNewTermBeginsBeforeItHasEnded() {
		at(Duration.ofSeconds(1), () -> this.job = Job.start(this.election, "job"));
		at(Duration.ofSeconds(2), this::loseSession);
		at(Duration.ofMillis(2100), () -> this.job.awaitInterrupt());
		at(Duration.ofSeconds(10), () -> {
			assertThat(this.trace).endsWith("revoked 1 SESSION_LOST", "abort");
			this.job.finish();
		}).stopAt(Duration.ofSeconds(20)).run();
		assertThat(traceFrom("abort")).startsWith("abort", "open", "won 2", "barrier", "granted 2");
		assertThat(this.job.leftInterrupted()).isFalse();
	}

	@Test
	void workOfALostTermHoldsTheNodeBackNoLongerThanTheDrainTimeout() {
		at(Duration.ofSeconds(1), () -> this.job = Job.start(this.election, "job"));
		at(Duration.ofSeconds(2), this::loseSession);
		at(Duration.ofSeconds(2).plus(DRAIN_TIMEOUT), () -> assertThat(this.store.openings).hasSize(1));
		at(Duration.ofSeconds(3).plus(DRAIN_TIMEOUT), () -> assertThat(isLeader()).isTrue());
		at(Duration.ofSeconds(30), () -> this.job.finish());
		stopAt(Duration.ofSeconds(31)).run();
	}

	@Test
	void pausesBetweenAttemptsDoubleUpToFiveSecondsWithJitter() {
		this.store.fail(Call.OPEN, 12);
		stopAt(Duration.ofSeconds(100)).run();
		List<Duration> pauses = new ArrayList<>();
		for (int i = 1; i < this.store.openings.size(); i++) {
			pauses.add(this.store.openings.get(i).minus(this.store.openings.get(i - 1)));
		}
		assertThat(pauses).hasSize(12);
		for (int i = 0; i < pauses.size(); i++) {
			long base = Math.min(5000, 100L << i);
			assertThat(pauses.get(i)).isBetween(Duration.ofMillis(base / 2), Duration.ofMillis(base));
		}
	}

	@Test
	void pausesAreShortAgainAfterASessionWasHad() {
		this.store.fail(Call.OPEN, 8);
		at(Duration.ofSeconds(30), () -> {
			assertThat(isLeader()).isTrue();
			loseSession();
		});
		at(Duration.ofMillis(30200), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(31)).run();
	}

	@ParameterizedTest
	@EnumSource(names = { "OPEN", "ACQUIRE", "CONFIRM", "BARRIER", "PROBE", "RELEASE", "CLOSE" })
	void unexpectedExceptionDoesNotEndTheCampaign(Call call) {
		this.store.next(call, () -> {
			throw new IllegalStateException("bug");
		});
		leadsAgainAfterAResignation();
	}

	@ParameterizedTest
	@EnumSource(names = { "OPEN", "ACQUIRE", "CONFIRM", "BARRIER", "PROBE", "RELEASE", "CLOSE", "OBSERVE" })
	void unexpectedErrorDoesNotEndTheCampaign(Call call) {
		this.store.next(call, () -> {
			throw new StackOverflowError("bug");
		});
		leadsAgainAfterAResignation();
	}

	private void leadsAgainAfterAResignation() {
		at(Duration.ofSeconds(2), () -> {
			assertThat(isLeader()).isTrue();
			this.election.resign("application");
		});
		at(Duration.ofSeconds(10), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(11)).run();
		assertThatEventsAlternate(this.events);
		assertThat(this.trace).endsWith("revoked " + this.store.terms + " STOPPED", "release clean", "close");
	}

	/**
	 * Many campaigns in which anything happens at any time.
	 */
	@Test
	@Tag("ring2")
	void eventsAlternateWithEqualTermsInEverySequence() {
		for (int seed = 0; seed < 100; seed++) {
			ElectionFixture random = new ElectionFixture();
			playRandomly(random, new Random(seed));
			random.stopAt(Duration.ofSeconds(100)).run();
			assertThat(random.events).as("seed %d: %s", seed, random.trace).hasSizeGreaterThan(1);
			assertThatEventsAlternate(random.events);
			assertThatTheLockIsFreedLast(random.trace);
		}
	}

	private void playRandomly(ElectionFixture random, Random dice) {
		for (int i = 0; i < 40; i++) {
			Call call = Call.values()[dice.nextInt(Call.ABORT.ordinal())];
			Duration moment = Duration.ofMillis(dice.nextInt(90_000));
			Duration hang = Duration.ofMillis(dice.nextInt(7000));
			Runnable action = switch (dice.nextInt(6)) {
				case 0, 1 -> () -> random.election.resign("application");
				case 2 -> () -> random.store.fail(call);
				case 3 -> () -> random.store.next(call, () -> random.hang(hang));
				case 4 -> () -> random.store.next(call, () -> random.time.advance(hang));
				default -> () -> {
					Work work = random.election.gate().enter("job");
					if (work != null) {
						random.time.at(random.time.elapsed().plus(hang), work::close);
					}
				};
			};
			random.at(moment, action);
		}
		random.store.ending = dice.nextBoolean() ? Ending.CLEAN : Ending.UNKNOWN;
	}

	private static void assertThatEventsAlternate(List<LeadershipEvent> events) {
		for (int i = 0; i < events.size(); i++) {
			LeadershipEvent event = events.get(i);
			if (i % 2 == 0) {
				assertThat(event).isInstanceOf(LeadershipGrantedEvent.class);
				if (i > 0) {
					assertThat(event.getLeadership().getTerm())
						.isGreaterThan(events.get(i - 1).getLeadership().getTerm());
				}
			}
			else {
				assertThat(event).isInstanceOf(LeadershipRevokedEvent.class);
				assertThat(event.getLeadership()).isSameAs(events.get(i - 1).getLeadership());
			}
		}
		assertThat(events.size() % 2).isZero();
	}

	private static void assertThatTheLockIsFreedLast(List<String> trace) {
		boolean leads = false;
		for (String entry : trace) {
			if (entry.startsWith("granted")) {
				leads = true;
			}
			else if (entry.startsWith("revoked")) {
				leads = false;
			}
			else if (entry.startsWith("release")) {
				assertThat(leads).as("%s", trace).isFalse();
			}
		}
	}

}
