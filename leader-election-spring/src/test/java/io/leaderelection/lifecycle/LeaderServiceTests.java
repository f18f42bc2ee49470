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

package io.leaderelection.lifecycle;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.engine.SerialWorker;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.mockito.ArgumentCaptor;

import org.springframework.context.Lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatNoException;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.BDDMockito.willAnswer;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaderService}.
 */
@Tag("ring1")
class LeaderServiceTests {

	private final Lifecycle bean = mock(Lifecycle.class);

	private final SerialWorker worker = mock(SerialWorker.class);

	private final LeaderService service = new LeaderService("service", this.bean, this.worker);

	@Test
	void startForWhichNoThreadCanBeCreatedFailsAndIsNotRunLater() {
		given(this.worker.add(any(), any(), any())).willReturn(false);
		assertFailsWithoutAThread(this.service.submitStart(() -> true));
	}

	@Test
	void stopForWhichNoThreadCanBeCreatedFailsAndIsNotRunLater() {
		given(this.worker.add(any(), any(), any())).willReturn(false);
		given(this.bean.isRunning()).willReturn(true);
		assertFailsWithoutAThread(this.service.submitStop());
	}

	@Test
	@Timeout(30)
	void interruptDoesNotReachThoseWhoAreNotifiedOfAStop() {
		LeaderService real = new LeaderService("service", this.bean);
		CountDownLatch notified = new CountDownLatch(1);
		CountDownLatch interrupted = new CountDownLatch(1);
		CountDownLatch release = new CountDownLatch(1);
		given(this.bean.isRunning()).willReturn(true, false);
		willAnswer((stop) -> release.await(10, TimeUnit.SECONDS)).given(this.bean).stop();
		CompletableFuture<Boolean> reached = real.submitStop().handle((stopped, failure) -> {
			notified.countDown();
			try {
				interrupted.await();
				return Thread.interrupted();
			}
			catch (InterruptedException ex) {
				return true;
			}
		});
		release.countDown();
		assertThatNoException().isThrownBy(notified::await);
		real.interrupt();
		interrupted.countDown();
		assertThat(reached.join()).isFalse();
	}

	private void assertFailsWithoutAThread(CompletableFuture<?> result) {
		ArgumentCaptor<Runnable> added = ArgumentCaptor.forClass(Runnable.class);
		then(this.worker).should().add(eq(result), added.capture(), any());
		assertThat(result).isCompletedExceptionally();
		added.getValue().run();
		then(this.bean).shouldHaveNoInteractions();
	}

}
