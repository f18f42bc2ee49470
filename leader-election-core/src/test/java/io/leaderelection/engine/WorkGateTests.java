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

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;

import io.leaderelection.engine.FakeStore.Call;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link WorkGate} and {@link Work}.
 */
@Timeout(60)
@Tag("ring1")
class WorkGateTests extends ElectionFixture {

	private final WorkGate gate = this.election.gate();

	private @Nullable Work work;

	@Test
	void letsWorkInOnlyWhileTheNodeLeads() {
		assertThat(this.gate.enter("job")).isNull();
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.gate.enter("job")) {
				assertThat(entered).isNotNull();
				assertThat(entered.getLeadership()).isSameAs(this.election.leadership());
				assertThat(this.gate.current()).isSameAs(entered);
				assertThat(this.gate.isEmpty()).isFalse();
				assertThat(this.gate.isDrained()).isFalse();
			}
			assertThat(this.gate.current()).isNull();
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.gate.enter("job")).isNull();
		assertThat(this.gate.isEmpty()).isTrue();
	}

	@Test
	void nestedWorkPassesDuringTheDrainAndOtherWorkDoesNot() {
		at(Duration.ofSeconds(1), () -> {
			this.work = this.gate.enter("outer");
			this.election.resign("application");
		});
		at(Duration.ofSeconds(2), () -> {
			try (Work nested = this.gate.enter("nested")) {
				assertThat(nested).isNotNull();
				assertThat(nested.getLeadership()).isSameAs(this.work.getLeadership());
			}
			assertThat(this.gate.current()).isSameAs(this.work);
			assertThat(this.gate.isDrained()).isFalse();
			assertThat(CompletableFuture.supplyAsync(() -> this.gate.enter("other")).join()).isNull();
			this.work.close();
		}).stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.trace).contains("release clean");
	}

	@Test
	void workInsideThatOfAServicePassesUntilTheServiceHasStoppedAndTheDrainDoesNotWaitForIt() {
		at(Duration.ofSeconds(1), () -> {
			Work service = this.gate.enter("service");
			service.continueInService();
			service.close();
			assertThat(this.gate.size()).isZero();
			assertThat(this.gate.isEmpty()).isFalse();
			this.election.resign("application");
			assertThat(this.gate.isDrained()).isTrue();
			assertThat(this.gate.enter("other")).isNull();
			try (Work call = this.gate.enter("call", service)) {
				assertThat(call).isNotNull();
				assertThat(this.gate.size()).isOne();
				assertThat(this.gate.isDrained()).isTrue();
				service.end();
				assertThat(this.gate.isDrained()).isFalse();
			}
			assertThat(this.gate.isDrained()).isTrue();
			assertThat(this.gate.enter("call", service)).isNull();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.trace).contains("release clean");
	}

	@Test
	void asynchronousWorkInsideThatOfAServiceIsWaitedForWhenTheServiceHasStopped() {
		at(Duration.ofSeconds(1), () -> {
			Work service = this.gate.enter("service");
			service.continueInService();
			service.close();
			CompletableFuture<Void> stage = new CompletableFuture<>();
			try (Work call = this.gate.enter("call", service); Work nested = this.gate.enter("nested")) {
				call.continueUntil(CompletableFuture.completedFuture(null));
				nested.continueUntil(stage);
			}
			assertThat(this.gate.isDrained()).isTrue();
			service.end();
			assertThat(this.gate.isDrained()).isFalse();
			stage.complete(null);
			assertThat(this.gate.isDrained()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.trace).contains("release clean");
	}

	@Test
	void nestedWorkIsRefusedAsSoonAsTheTermIsNoLongerTrusted() {
		this.store.skip(Call.CONFIRM, 2);
		this.store.next(Call.CONFIRM, () -> this.time.advance(Duration.ofSeconds(5)));
		at(Duration.ofMillis(500), () -> this.work = this.gate.enter("outer"));
		at(TRUST, () -> assertThat(this.gate.enter("nested")).isNull());
		at(Duration.ofSeconds(7), () -> this.work.close());
		stopAt(Duration.ofSeconds(8)).run();
		assertThat(Thread.interrupted()).isFalse();
	}

	@Test
	void threadWhoseTermIsOverIsRefusedEvenIfTheNodeLeadsAgain() {
		at(Duration.ofSeconds(1), () -> this.work = this.gate.enter("outer"));
		at(Duration.ofSeconds(2), this::loseSession);
		at(Duration.ofSeconds(3).plus(DRAIN_TIMEOUT), () -> {
			assertThat(isLeader()).isTrue();
			assertThat(this.work.getLeadership().isCurrent()).isFalse();
			assertThat(this.gate.enter("nested")).isNull();
			this.work.close();
			try (Work next = this.gate.enter("next")) {
				assertThat(next).isNotNull();
				assertThat(next.getLeadership()).isSameAs(this.election.leadership());
			}
		}).stopAt(Duration.ofSeconds(30)).run();
	}

	@Test
	void lossInterruptsWorkAndTheFlagDoesNotOutliveIt() {
		at(Duration.ofSeconds(1), () -> {
			this.work = this.gate.enter("job");
			loseSession();
		});
		at(Duration.ofMillis(1200), () -> {
			assertThat(Thread.currentThread().isInterrupted()).isTrue();
			this.work.close();
			assertThat(Thread.currentThread().isInterrupted()).isFalse();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void lossInterruptsNoThreadWhoseWorkHasEnded() {
		at(Duration.ofSeconds(1), () -> this.gate.enter("job").close());
		at(Duration.ofSeconds(2), this::loseSession);
		stopAt(Duration.ofSeconds(3)).run();
		assertThat(this.trace).contains("revoked 1 SESSION_LOST");
	}

	@Test
	void interruptOfOthersIsLeftAlone() {
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.gate.enter("job")) {
				Thread.currentThread().interrupt();
			}
			assertThat(Thread.interrupted()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void stageIsWaitedForUntilItCompletesOrFails(boolean completes) {
		CompletableFuture<String> stage = new CompletableFuture<>();
		at(Duration.ofSeconds(1), () -> {
			continueUntil(stage);
			assertThat(this.gate.current()).isNull();
			this.election.resign("application");
		});
		at(Duration.ofSeconds(3), () -> {
			assertThat(tracedEvents()).containsExactly("granted 1");
			assertThat(completes ? stage.complete("done") : stage.completeExceptionally(new IOException("test")))
				.isTrue();
		}).stopAt(Duration.ofSeconds(4)).run();
		assertThat(traceFrom("granted 1")).startsWith("granted 1", "revoked 1 RESIGNED", "release clean");
	}

	@Test
	void stageThatHasCompletedAlreadyHasEnded() {
		at(Duration.ofSeconds(1), () -> {
			continueUntil(CompletableFuture.completedFuture("done"));
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void stageOfNestedWorkIsWaitedForBeyondTheOuterWork() {
		CompletableFuture<String> stage = new CompletableFuture<>();
		at(Duration.ofSeconds(1), () -> {
			try (Work outer = this.gate.enter("outer")) {
				continueUntil(stage);
				assertThat(this.gate.current()).isSameAs(outer);
			}
			assertThat(this.gate.isDrained()).isFalse();
			stage.complete("done");
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void stageIsCancelledOnLoss() {
		CompletableFuture<String> stage = new CompletableFuture<>();
		at(Duration.ofSeconds(1), () -> {
			continueUntil(stage);
			loseSession();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(stage).isCancelled();
		assertThat(this.gate.isEmpty()).isTrue();
	}

	@Test
	void stageThatIsReturnedAfterTheLossIsCancelledAtOnce() {
		CompletableFuture<String> stage = new CompletableFuture<>();
		at(Duration.ofSeconds(1), () -> {
			this.work = this.gate.enter("job");
			loseSession();
		});
		at(Duration.ofMillis(1200), () -> {
			assertThat(this.work.getLeadership().isCurrent()).isFalse();
			this.work.continueUntil(stage);
			this.work.close();
			assertThat(stage).isCancelled();
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	@Test
	void workThatLastsIsWaitedForUntilItHasEnded() {
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.gate.enter("job")) {
				entered.continueUntilEnd(() -> this.trace.add("cancelled"));
				this.work = entered;
			}
			this.election.resign("application");
		});
		at(Duration.ofSeconds(3), () -> {
			assertThat(this.gate.isDrained()).isFalse();
			assertThat(tracedEvents()).containsExactly("granted 1");
			this.work.end();
			this.work.end();
		}).stopAt(Duration.ofSeconds(4)).run();
		assertThat(traceFrom("granted 1")).startsWith("granted 1", "revoked 1 RESIGNED", "release clean");
	}

	@Test
	void workThatHasEndedIsCountedWhileItsThreadMayEnterInnerWork() {
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.gate.enter("job")) {
				entered.continueUntilEnd(() -> this.trace.add("cancelled"));
				entered.end();
				this.election.resign("application");
				try (Work inner = this.gate.enter("inner")) {
					assertThat(inner).isNotNull();
					assertThat(this.gate.isDrained()).isFalse();
				}
			}
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.trace).doesNotContain("cancelled");
	}

	@Test
	void workThatHasEndedIsNotCancelled() {
		at(Duration.ofSeconds(1), () -> {
			this.work = this.gate.enter("job");
			this.work.continueUntilEnd(() -> this.trace.add("cancelled"));
			this.work.end();
			loseSession();
		});
		at(Duration.ofMillis(1200), () -> this.work.close());
		stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.trace).contains("revoked 1 SESSION_LOST").doesNotContain("cancelled");
	}

	@Test
	void failureToCancelEndangersNothing() {
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.gate.enter("job")) {
				entered.continueUntilEnd(() -> {
					entered.end();
					throw new IllegalStateException("test");
				});
			}
			loseSession();
		});
		at(Duration.ofSeconds(2), () -> assertThat(isLeader()).isTrue());
		stopAt(Duration.ofSeconds(3)).run();
	}

	@Test
	void workMayGoOnInsideOfItsOriginOnAnotherThreadDuringTheDrain() {
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.gate.enter("origin")) {
				entered.continueUntilEnd(entered::end);
				this.work = entered;
			}
			this.election.resign("application");
			assertThat(this.gate.enter("other")).isNull();
			try (Work inner = this.gate.enter("inner", this.work)) {
				assertThat(inner).isNotNull();
				assertThat(inner.getLeadership()).isSameAs(this.work.getLeadership());
				assertThat(this.gate.current()).isSameAs(inner);
				this.work.end();
				assertThat(this.gate.isDrained()).isFalse();
			}
			assertThat(this.gate.isEmpty()).isTrue();
			assertThat(this.gate.enter("late", this.work)).isNull();
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
		assertThat(this.trace).contains("release clean");
	}

	@Test
	void originThatHasEndedGoesOnAsLongAsItsTermOnly() {
		at(Duration.ofSeconds(1), () -> {
			this.work = this.gate.enter("origin");
			this.work.close();
			assertThat(this.gate.enter("next", this.work)).isNotNull().satisfies(Work::close);
			loseSession();
		});
		at(Duration.ofSeconds(3), () -> {
			assertThat(isLeader()).isTrue();
			assertThat(this.gate.enter("next", this.work)).isNull();
		}).stopAt(Duration.ofSeconds(4)).run();
	}

	/**
	 * Work that is handed on from one piece to the next during a drain: the gate never
	 * appears empty.
	 */
	@Test
	void drainMissesNoWorkThatIsHandedOn() {
		at(Duration.ofSeconds(1), () -> {
			this.work = lasting(null);
			this.election.resign("application");
			CompletableFuture<Work> handedOn = CompletableFuture.supplyAsync(() -> {
				Work last = this.work;
				for (int i = 0; i < 500_000; i++) {
					Work next = lasting(last);
					last.end();
					last = next;
				}
				return last;
			});
			while (!handedOn.isDone()) {
				assertThat(this.gate.isDrained()).isFalse();
			}
			handedOn.join().end();
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	/**
	 * Each piece of work that is interrupted has others begin inside of those that are
	 * not yet, also where the iteration has been.
	 */
	@Test
	void noWorkThatBeginsWhileAllIsInterruptedGoesOn() {
		at(Duration.ofSeconds(1), () -> {
			TermLeadership leadership = this.election.leadership();
			List<Work> origins = new ArrayList<>();
			for (int i = 0; i < 20; i++) {
				try (Work entered = this.gate.enter("origin")) {
					entered.continueUntilEnd(() -> {
						entered.end();
						origins.forEach(this::beginWithin);
					});
					origins.add(entered);
				}
			}
			this.election.resign("application");
			origins.forEach(this::beginWithin);
			assertThat(this.gate.size()).isEqualTo(2 * origins.size());
			this.gate.interruptAll(leadership);
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	/**
	 * The same on one thread, which enters work inside of its own.
	 */
	@RepeatedTest(5)
	void noNestedWorkThatLastsWhileAllIsInterruptedGoesOn() {
		at(Duration.ofSeconds(1), () -> {
			TermLeadership leadership = this.election.leadership();
			try (Work outer = this.gate.enter("outer")) {
				for (int i = 0; i < 20; i++) {
					Work nested = this.gate.enter("nested");
					nested.continueUntilEnd(() -> {
						nested.end();
						for (int j = 0; j < 10; j++) {
							lasting(null);
						}
					});
					nested.close();
				}
				assertThat(this.gate.size()).isEqualTo(21);
				this.gate.interruptAll(leadership);
				assertThat(outer).isNotNull();
				assertThat(Thread.currentThread().isInterrupted()).isTrue();
			}
			assertThat(this.gate.isEmpty()).isTrue();
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	private void beginWithin(Work origin) {
		try (Work inner = this.gate.enter("inner", origin)) {
			if (inner != null) {
				inner.continueUntilEnd(inner::end);
			}
		}
	}

	/**
	 * Who was to end work that is cancelled may go on, as long as other work may.
	 */
	@ParameterizedTest
	@CsvSource({ "PT20S, PT19S, release", "PT20S, PT20S, release clean", "PT0S, PT1S, release",
			"PT0S, PT2S, release clean" })
	void cancelledWorkIsReckonedWithForAsLongAsOtherWorkIsWaitedFor(Duration drainTimeout, Duration later,
			String release) {
		ElectionFixture other = new ElectionFixture(
				new ElectionSettings("default", "node-1", LEASE, Duration.ZERO, drainTimeout, true));
		Duration cancelled = Duration.ofSeconds(1);
		other.at(cancelled, () -> {
			try (Work entered = other.election.gate().enter("job")) {
				entered.continueUntilEnd(entered::end);
				entered.endCancelled();
			}
			assertThat(other.election.gate().isEmpty()).isTrue();
		});
		other.at(cancelled.plus(later), () -> other.election.resign("application"));
		other.stopAt(cancelled.plus(later).plusSeconds(1)).run();
		assertThat(other.traceFrom("granted 1")).startsWith("granted 1", "revoked 1 RESIGNED", release);
	}

	private Work lasting(@Nullable Work origin) {
		try (Work entered = this.gate.enter("job", origin)) {
			assertThat(entered).isNotNull();
			entered.continueUntilEnd(entered::end);
			return entered;
		}
	}

	@Test
	void describesWorkByWhatAndWhere() {
		at(Duration.ofSeconds(1), () -> {
			try (Work entered = this.gate.enter("refresh of descriptions")) {
				assertThat(this.gate.describe(Work::describe))
					.contains("refresh of descriptions on thread '" + Thread.currentThread().getName() + "'")
					.contains("at " + WorkGateTests.class.getName());
			}
		}).stopAt(Duration.ofSeconds(2)).run();
	}

	private void continueUntil(CompletableFuture<?> stage) {
		try (Work entered = this.gate.enter("job")) {
			assertThat(entered).isNotNull();
			entered.continueUntil(stage);
		}
	}

}
