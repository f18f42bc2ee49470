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

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.faults.Mistake;
import org.apache.commons.logging.LogFactory;

/**
 * Electors with a mistake.
 */
public final class MistakenElectors {

	private MistakenElectors() {
	}

	public static DefaultLeaderElector create(Mistake mistake, ElectionSettings settings, ElectionStore store,
			Consumer<ElectionEvent> publisher) {
		return new DefaultLeaderElector(settings, ElectionTimings.DEFAULTS,
				(mistake != Mistake.OPEN_FENCE) ? store : withOpenFence(store), new Watchdog(Platform.SYSTEM),
				Platform.SYSTEM, publisher, new ElectionLog(LogFactory.getLog(Election.class)),
				(known, timings) -> transitions(mistake, known, timings));
	}

	private static Transitions transitions(Mistake mistake, ElectionSettings settings, ElectionTimings timings) {
		return switch (mistake) {
			case ANCHOR_AT_REPLY -> new Transitions(settings, timings) {

				@Override
				ElectionState grant(ElectionState state, Moment now, TermLeadership leadership, long anchor) {
					return super.grant(state, now, leadership, now.nanos());
				}

				@Override
				boolean extend(TermLeadership leadership, long now, long anchor) {
					return super.extend(leadership, now, now);
				}

			};
			case UNLOCK_BEFORE_DRAIN -> new Transitions(settings, timings) {

				@Override
				boolean isDrained(WorkGate gate) {
					return true;
				}

				@Override
				boolean hasEnded(WorkGate gate, SerialWorker relay) {
					return true;
				}

			};
			default -> new Transitions(settings, timings);
		};
	}

	private static ElectionStore withOpenFence(ElectionStore store) {
		return (ElectionStore) Proxy.newProxyInstance(ElectionStore.class.getClassLoader(),
				new Class<?>[] { ElectionStore.class }, (proxy, method, arguments) -> {
					try {
						return (method.getReturnType() == TransactionFence.class) ? TransactionFence.OPEN
								: method.invoke(store, arguments);
					}
					catch (InvocationTargetException ex) {
						throw ex.getCause();
					}
				});
	}

}
