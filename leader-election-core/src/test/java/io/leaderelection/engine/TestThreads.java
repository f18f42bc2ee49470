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

import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import org.apache.commons.logging.LogFactory;
import org.jspecify.annotations.Nullable;

/**
 * The threads of elections that share a watchdog, counted, and refused on demand as the
 * JVM refuses them. The only place that knows where the engine gets its threads from.
 */
final class TestThreads {

	private final AtomicInteger started = new AtomicInteger();

	private final AtomicInteger refusals = new AtomicInteger();

	private volatile @Nullable String refused;

	private final Platform platform = new TestPlatform() {

		@Override
		public Thread newThread(String name, Runnable task) {
			return new CountedThread(task, name);
		}

	};

	private final Watchdog watchdog = new Watchdog(this.platform);

	DefaultLeaderElector elector(ElectionSettings settings, ElectionStore store, Consumer<ElectionEvent> publisher) {
		return new DefaultLeaderElector(settings, ElectionTimings.DEFAULTS, store, this.watchdog, this.platform,
				publisher, new ElectionLog(LogFactory.getLog(Election.class)), Transitions::new);
	}

	/**
	 * Start no thread from now on.
	 */
	void refuse() {
		refuse("");
	}

	/**
	 * Start no thread from now on whose name has this part.
	 */
	void refuse(String part) {
		this.refused = part;
	}

	void allow() {
		this.refused = null;
	}

	int started() {
		return this.started.get();
	}

	int refusals() {
		return this.refusals.get();
	}

	private final class CountedThread extends Thread {

		CountedThread(Runnable task, String name) {
			super(null, task, "leader-election-" + name, 0, false);
			setDaemon(true);
		}

		@Override
		public synchronized void start() {
			String part = TestThreads.this.refused;
			if (part != null && getName().contains(part)) {
				TestThreads.this.refusals.incrementAndGet();
				throw new OutOfMemoryError("unable to create native thread");
			}
			TestThreads.this.started.incrementAndGet();
			super.start();
		}

	}

}
