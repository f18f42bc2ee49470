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

import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.Position.Elected;
import io.leaderelection.engine.Position.HandOver;
import io.leaderelection.engine.Position.HandingOver;
import io.leaderelection.simulation.Process;
import io.leaderelection.simulation.Scheduler;
import io.leaderelection.simulation.Sentinel;

/**
 * The sentinels in the transitions of the engine and in its platform.
 */
final class SentinelEngines {

	private static final long NO_LIMIT = TimeUnit.MINUTES.toNanos(1);

	private SentinelEngines() {
	}

	static ObservedTransitions transitions(Sentinel sentinel, ElectionSettings settings, ElectionTimings timings) {
		return switch (sentinel) {
			case ANCHOR_AT_REPLY -> new ObservedTransitions(settings, timings) {

				@Override
				ElectionState grant(ElectionState state, Moment now, TermLeadership leadership, long anchor) {
					return super.grant(state, now, leadership, now.nanos());
				}

				@Override
				boolean extend(TermLeadership leadership, long now, long anchor) {
					return super.extend(leadership, now, now);
				}

			};
			case ENDED_WITHOUT_EVENT -> new ObservedTransitions(settings, timings) {

				@Override
				ElectionState notifyListeners(ElectionState state, Moment now) {
					return (state.position() instanceof HandingOver handingOver)
							? state.at(handingOver.afterNotification()) : state;
				}

			};
			case EXPIRES_EARLY -> new ObservedTransitions(settings, timings) {

				@Override
				long trustRemaining(ElectionState state, long now) {
					return super.trustRemaining(state, now) - settings.trustNanos() / 2;
				}

			};
			case TRUST_REVIVED -> new ObservedTransitions(settings, timings) {

				@Override
				boolean extend(TermLeadership leadership, long now, long anchor) {
					leadership.trust(anchor + settings.trustNanos());
					return true;
				}

				@Override
				ElectionState expire(ElectionState state, Moment now) {
					return state;
				}

			};
			case LISTENERS_NOT_AWAITED -> new ObservedTransitions(settings, timings) {

				@Override
				boolean hasEnded(WorkGate gate, SerialWorker relay) {
					return gate.isDrained();
				}

			};
			case STOP_WITHOUT_LIMIT -> new ObservedTransitions(settings, timings) {

				@Override
				ElectionState stop(ElectionState state, Moment now, CompletableFuture<Boolean> completion) {
					ElectionState stopping = super.stop(state, now, completion);
					return (stopping != state && stopping.position() instanceof HandingOver draining)
							? stopping
								.at(new HandingOver(draining.leadership(), withoutLimit(draining.handOver()), false))
							: stopping;
				}

				private HandOver withoutLimit(HandOver limited) {
					return new HandOver(limited.reason(), limited.cause(), limited.interruptAt() + NO_LIMIT, false,
							limited.completion());
				}

				@Override
				long stopRemaining(ElectionState state, long now) {
					return Watchdog.NO_DEADLINE;
				}

			};
			case STOP_WITHOUT_TIME -> new ObservedTransitions(settings, timings) {

				@Override
				ElectionState stop(ElectionState state, Moment now, CompletableFuture<Boolean> completion) {
					ElectionState stopping = super.stop(state, now, completion);
					return (stopping != state) ? stopping.stoppingBy(now.nanos()) : state;
				}

			};
			case SUSPENSION_IGNORED -> new ObservedTransitions(settings, timings) {

				@Override
				ElectionState grant(ElectionState state, Moment now, TermLeadership leadership, long anchor) {
					ElectionState wanted = new ElectionState(new Elected(leadership.getTerm(), null, null),
							state.stopBy(), Map.of(), state.request(), state.view(), state.contact(), state.history());
					ElectionState granted = super.grant(wanted, now, leadership, anchor);
					return (granted != wanted) ? granted : state;
				}

			};
			case UNLOCK_BEFORE_DRAIN -> new ObservedTransitions(settings, timings) {

				@Override
				boolean isDrained(WorkGate gate) {
					return true;
				}

				@Override
				boolean hasEnded(WorkGate gate, SerialWorker relay) {
					return true;
				}

			};
			default -> new ObservedTransitions(settings, timings);
		};
	}

	static Platform platform(Sentinel sentinel, Scheduler scheduler, Process process, SplittableRandom random) {
		return switch (sentinel) {
			case BUSY_WAIT -> new SimulatedPlatform(scheduler, process, random) {

				@Override
				public void park(Object blocker, long nanos) {
					super.park(blocker, Math.min(nanos, 1000));
				}

			};
			// The last guard around the loop of the election thread fails like what it
			// guards
			case THREAD_DIES -> new SimulatedPlatform(scheduler, process, random) {

				@Override
				public void park(Object blocker, long nanos) {
					if (blocker instanceof ElectionLoop && nanos == PAUSE_AFTER_FAILURE) {
						process.allocate();
					}
					super.park(blocker, nanos);
				}

			};
			default -> new SimulatedPlatform(scheduler, process, random);
		};
	}

}
