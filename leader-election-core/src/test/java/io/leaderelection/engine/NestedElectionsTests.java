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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for work of one election inside work of another on one thread, when the terms of
 * both are lost: an interrupt is cleared with the outermost work that it was meant for,
 * and not before.
 */
@Timeout(60)
@Tag("ring1")
class NestedElectionsTests extends TwoElectionsFixture {

	private final CountDownLatch outerCancelled = new CountDownLatch(1);

	private final CountDownLatch innerCancelled = new CountDownLatch(1);

	private Work outer;

	private Work inner;

	NestedElectionsTests() {
		super(Duration.ofSeconds(5));
	}

	@BeforeEach
	void enter() {
		leadBoth();
		this.outer = this.elector.gate().enter("outer");
		this.inner = this.other.gate().enter("inner");
		// Tells that the interrupt has been requested
		this.outer.continueUntilEnd(this.outerCancelled::countDown);
		this.inner.continueUntilEnd(this.innerCancelled::countDown);
	}

	@AfterEach
	void exit() {
		Thread.interrupted();
		this.inner.close();
		this.outer.close();
		this.inner.end();
		this.outer.end();
	}

	@ParameterizedTest
	@ValueSource(strings = { "inner, outer", "outer, inner", "outer" })
	void interruptOfTheOuterWorkOutlivesTheInner(String lost) {
		for (String election : lost.split(", ")) {
			lose(election);
		}
		this.inner.close();
		assertThat(Thread.currentThread().isInterrupted()).isTrue();
		this.outer.close();
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
	}

	@Test
	void interruptOfTheInnerWorkEndsWithIt() {
		lose("inner");
		this.inner.close();
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
		lose("outer");
		assertThat(Thread.currentThread().isInterrupted()).isTrue();
		this.outer.close();
		assertThat(Thread.currentThread().isInterrupted()).isFalse();
	}

	@Test
	void interruptFromElsewhereOutlivesBoth() {
		Thread.currentThread().interrupt();
		lose("inner");
		lose("outer");
		this.inner.close();
		this.outer.close();
		assertThat(Thread.currentThread().isInterrupted()).isTrue();
	}

	private void lose(String election) {
		boolean isOuter = election.equals("outer");
		CountDownLatch cancelled = isOuter ? this.outerCancelled : this.innerCancelled;
		(isOuter ? this.store : this.otherStore).failNext("probe", FakeStore.failure());
		// Not by a wait that would fail on the interrupt, or clear it
		long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
		while ((cancelled.getCount() > 0 || !Thread.currentThread().isInterrupted())
				&& deadline - System.nanoTime() > 0) {
			Thread.onSpinWait();
		}
		assertThat(cancelled.getCount()).isZero();
	}

}
