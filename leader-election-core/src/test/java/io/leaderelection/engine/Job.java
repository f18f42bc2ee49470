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

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.testsupport.Daemon;
import org.awaitility.Awaitility;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Leader work on a thread of its own that goes on until the test finishes it, also when
 * it is interrupted.
 */
final class Job {

	private final CountDownLatch entered = new CountDownLatch(1);

	private final CountDownLatch finished = new CountDownLatch(1);

	private final CountDownLatch interrupted = new CountDownLatch(1);

	private final WorkGate gate;

	private final Thread thread;

	private volatile boolean admitted;

	private volatile boolean interruptedAfterwards;

	private Job(WorkGate gate, String description) {
		this.gate = gate;
		this.thread = Daemon.create(description, () -> run(description));
	}

	/**
	 * Start a job, and return when it runs.
	 */
	static Job start(Election election, String description) {
		Job job = new Job(election.gate(), description);
		job.thread.start();
		job.await(job.entered);
		assertThat(job.admitted).isTrue();
		return job;
	}

	private void run(String description) {
		try (Work work = this.gate.enter(description)) {
			this.admitted = (work != null);
			this.entered.countDown();
			if (work != null) {
				awaitFinish();
			}
		}
		this.interruptedAfterwards = Thread.interrupted();
	}

	private void awaitFinish() {
		boolean flag = false;
		while (true) {
			try {
				this.finished.await();
				break;
			}
			catch (InterruptedException ex) {
				flag = true;
				this.interrupted.countDown();
			}
		}
		if (flag) {
			// As code would that passes the interrupt on
			Thread.currentThread().interrupt();
		}
	}

	boolean wasInterrupted() {
		return this.interrupted.getCount() == 0;
	}

	/**
	 * Return whether the thread is still interrupted when the job has ended.
	 */
	boolean leftInterrupted() {
		awaitEnd();
		return this.interruptedAfterwards;
	}

	void awaitInterrupt() {
		await(this.interrupted);
	}

	/**
	 * Let the only job end, and return when the gate knows.
	 */
	void finish() {
		this.finished.countDown();
		Awaitility.await().until(this.gate::isEmpty);
	}

	private void awaitEnd() {
		try {
			this.thread.join(TimeUnit.SECONDS.toMillis(20));
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
		assertThat(this.thread.isAlive()).isFalse();
	}

	private void await(CountDownLatch latch) {
		try {
			assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
		}
		catch (InterruptedException ex) {
			throw new IllegalStateException(ex);
		}
	}

}
