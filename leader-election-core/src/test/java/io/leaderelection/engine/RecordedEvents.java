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

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

import io.leaderelection.ElectionEvent;
import io.leaderelection.LeadershipEvent;
import io.leaderelection.LeadershipGrantedEvent;

import static org.awaitility.Awaitility.await;

/**
 * The events of an election, in the order in which listeners receive them.
 */
final class RecordedEvents implements Consumer<ElectionEvent> {

	private final List<String> kinds = new CopyOnWriteArrayList<>();

	@Override
	public void accept(ElectionEvent event) {
		if (event instanceof LeadershipEvent) {
			this.kinds.add((event instanceof LeadershipGrantedEvent) ? "granted" : "revoked");
		}
	}

	/**
	 * Return the kinds of the events: "granted" or "revoked".
	 */
	List<String> kinds() {
		return List.copyOf(this.kinds);
	}

	long granted() {
		return this.kinds.stream().filter("granted"::equals).count();
	}

	/**
	 * Wait until leadership has been granted so many times.
	 */
	void awaitGranted(int times) {
		await().until(() -> granted() >= times);
	}

}
