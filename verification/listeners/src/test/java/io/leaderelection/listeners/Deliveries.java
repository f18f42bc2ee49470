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

package io.leaderelection.listeners;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import io.leaderelection.LeaderElector;
import io.leaderelection.Leadership;
import io.leaderelection.LeadershipGrantedEvent;
import org.awaitility.Awaitility;

import org.springframework.context.event.EventListener;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * What the listeners of all nodes do, in order. The message {@code slow} is processed
 * until it is released.
 */
class Deliveries {

	static final String SLOW = "slow";

	private final List<String> events = new CopyOnWriteArrayList<>();

	private final CountDownLatch released = new CountDownLatch(1);

	void process(LeaderElector elector, String message) {
		Leadership leadership = elector.getWorkLeadership();
		if (leadership == null) {
			this.events.add(elector.getNodeId() + " has processed " + message + " without leadership");
			return;
		}
		if (message.equals(SLOW)) {
			this.events.add(elector.getNodeId() + " begins " + message);
			awaitRelease();
		}
		this.events.add(elector.getNodeId() + " has processed " + message);
	}

	void add(String event) {
		this.events.add(event);
	}

	/**
	 * Wait as a job that reacts to the end of its term.
	 */
	void awaitRelease() {
		try {
			if (!this.released.await(30, TimeUnit.SECONDS)) {
				throw new IllegalStateException("Not released");
			}
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	void release() {
		this.released.countDown();
	}

	@EventListener
	void granted(LeadershipGrantedEvent event) {
		this.events.add(event.getLeadership().getNodeId() + " leads");
	}

	List<String> events() {
		return this.events;
	}

	List<String> processed() {
		return this.events.stream().filter((event) -> event.contains(" has processed ")).toList();
	}

	void await(String event) {
		Awaitility.await().untilAsserted(() -> assertThat(this.events).contains(event));
	}

}
