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

import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;

/**
 * Two elections of a node on threads, for tests of what one must not do to the other.
 */
abstract class TwoElectionsFixture {

	final TestThreads threads = new TestThreads();

	final HookedStore store = new HookedStore();

	final RecordedEvents events = new RecordedEvents();

	final DefaultLeaderElector elector;

	final HookedStore otherStore = new HookedStore();

	final RecordedEvents otherEvents = new RecordedEvents();

	final DefaultLeaderElector other;

	TwoElectionsFixture(Duration lease) {
		this.elector = elector("first", lease, this.store, this.events);
		this.other = elector("second", lease, this.otherStore, this.otherEvents);
	}

	private DefaultLeaderElector elector(String election, Duration lease, HookedStore store, RecordedEvents events) {
		return this.threads.elector(
				new ElectionSettings(election, "node-1", lease, Duration.ZERO, Duration.ofSeconds(1), true), store,
				events);
	}

	@BeforeEach
	void leaveUncaughtErrorsToTheirThreads() {
		// JUnit would take an OutOfMemoryError for one of its own
		Awaitility.doNotCatchUncaughtExceptionsByDefault();
	}

	@AfterEach
	void stop() {
		Awaitility.reset();
		this.threads.allow();
		this.elector.stop();
		this.other.stop();
	}

	void leadBoth() {
		this.elector.start();
		this.other.start();
		this.events.awaitGranted(1);
		this.otherEvents.awaitGranted(1);
	}

}
