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
import java.util.stream.Stream;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.UnsynchronizedAppenderBase;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

/**
 * Tests for two elections on real threads, with one watchdog, whose failures cannot be
 * described or logged.
 */
@Timeout(60)
@Tag("ring3")
class UnreportableFailureTests extends TwoElectionsFixture {

	private static final Logger engine = (Logger) LoggerFactory.getLogger("io.leaderelection.engine");

	private static final Thread test = Thread.currentThread();

	private final FailingAppender appender = new FailingAppender();

	UnreportableFailureTests() {
		super(Duration.ofSeconds(1));
	}

	@AfterEach
	void detach() {
		engine.detachAppender(this.appender);
		this.appender.released.countDown();
	}

	static Stream<Named<Throwable>> failures() {
		return Stream.of(Named.of("OutOfMemoryError", new UnreportableError()),
				Named.of("RuntimeException", new UnreportableException()),
				Named.of("SessionException", new UnreportableSessionException()));
	}

	@ParameterizedTest
	@MethodSource("failures")
	void electionGoesOnAfterAFailureWithoutAMessage(Throwable failure) {
		leadBoth();
		this.store.failNext("confirm", failure);
		this.events.awaitGranted(2);
		assertThat(this.events.kinds()).containsExactly("granted", "revoked", "granted");
		assertThat(this.elector.stop()).succeedsWithin(Duration.ofSeconds(10));
	}

	@ParameterizedTest
	@MethodSource("failures")
	void electionGoesOnAfterAnOpeningWithoutAMessage(Throwable failure) {
		this.store.fail("acquire", failure);
		this.elector.start();
		await().until(() -> this.store.opened() > 1);
		this.store.before("acquire", () -> {
		});
		this.events.awaitGranted(1);
	}

	@Test
	void electionGoesOnAlthoughItsFailureCannotBeLogged() {
		leadBoth();
		this.appender.fail();
		this.store.failNext("confirm", new IllegalStateException("test"));
		this.events.awaitGranted(2);
		assertThat(this.events.kinds()).containsExactly("granted", "revoked", "granted");
	}

	@ParameterizedTest
	@MethodSource("failures")
	void watchdogGoesOnAfterAFailureWithoutAMessage(Throwable failure) {
		leadBoth();
		this.store.fail("abort", failure);
		revokesTheOtherAfterwards();
	}

	@Test
	void watchdogGoesOnAlthoughItsFailureCannotBeLogged() {
		leadBoth();
		this.appender.fail();
		this.store.fail("abort", new IllegalStateException("test"));
		revokesTheOtherAfterwards();
	}

	@Test
	void watchdogGoesOnAlthoughALossCannotBeLogged() {
		leadBoth();
		this.appender.fail();
		revokesTheOtherAfterwards();
		assertThat(this.store.aborted()).isPositive();
	}

	@Test
	void watchdogDoesNotWaitForALogThatBlocks() {
		leadBoth();
		this.appender.block();
		revokesTheOtherAfterwards();
		assertThat(this.store.aborted()).isPositive();
	}

	/**
	 * The watchdog checks the two in turn: first the one that fails.
	 */
	private void revokesTheOtherAfterwards() {
		this.store.cutOff();
		await().until(() -> !this.elector.isLeader());
		this.otherStore.cutOff();
		await().until(() -> this.otherStore.aborted() > 0);
		await().until(() -> this.otherEvents.kinds().size() == 2);
		assertThat(this.otherEvents.kinds()).containsExactly("granted", "revoked");
		await().until(() -> this.events.kinds().size() == 2);
	}

	/**
	 * Fail with another of the kind, except on the thread of the test, which reports what
	 * the test has caught.
	 */
	private static String refuse() {
		if (Thread.currentThread() == test) {
			return "test";
		}
		throw new UnreportableError();
	}

	/**
	 * An appender as of an application whose memory or disk is full.
	 */
	private static final class FailingAppender extends UnsynchronizedAppenderBase<ILoggingEvent> {

		private final CountDownLatch released = new CountDownLatch(1);

		private volatile boolean blocks;

		void fail() {
			start();
			engine.addAppender(this);
		}

		void block() {
			this.blocks = true;
			fail();
		}

		@Override
		public void doAppend(ILoggingEvent event) {
			append(event);
		}

		@Override
		protected void append(ILoggingEvent event) {
			if (!this.blocks) {
				throw new OutOfMemoryError("test");
			}
			try {
				this.released.await(60, TimeUnit.SECONDS);
			}
			catch (InterruptedException ex) {
				Thread.currentThread().interrupt();
			}
		}

	}

	private static final class UnreportableError extends OutOfMemoryError {

		@Override
		public String getMessage() {
			return refuse();
		}

	}

	private static final class UnreportableException extends RuntimeException {

		@Override
		public String getMessage() {
			return refuse();
		}

	}

	private static final class UnreportableSessionException extends SessionException {

		UnreportableSessionException() {
			super("test", null);
		}

		@Override
		public String getMessage() {
			return refuse();
		}

	}

}
