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

import io.leaderelection.engine.SerialWorker;
import org.junit.jupiter.api.Test;
import org.mockito.ArgumentCaptor;

import org.springframework.context.Lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.eq;
import static org.mockito.BDDMockito.given;
import static org.mockito.BDDMockito.then;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeaderService}.
 */
class LeaderServiceTests {

	private final Lifecycle bean = mock(Lifecycle.class);

	private final SerialWorker worker = mock(SerialWorker.class);

	private final LeaderService service = new LeaderService("service", this.bean, this.worker);

	@Test
	void startForWhichNoThreadCanBeCreatedFailsAndIsNotRunLater() {
		given(this.worker.add(any(), any())).willReturn(false);
		assertFailsWithoutAThread(this.service.submitStart(() -> true));
	}

	@Test
	void stopForWhichNoThreadCanBeCreatedFailsAndIsNotRunLater() {
		given(this.worker.add(any(), any())).willReturn(false);
		given(this.bean.isRunning()).willReturn(true);
		assertFailsWithoutAThread(this.service.submitStop());
	}

	private void assertFailsWithoutAThread(CompletableFuture<?> result) {
		ArgumentCaptor<Runnable> added = ArgumentCaptor.forClass(Runnable.class);
		then(this.worker).should().add(eq(result), added.capture());
		assertThat(result).isCompletedExceptionally();
		added.getValue().run();
		then(this.bean).shouldHaveNoInteractions();
	}

}
