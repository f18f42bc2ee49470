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

import java.util.concurrent.ThreadFactory;

/**
 * Makes the daemon threads of elections. Platform threads, since a virtual thread could
 * be pinned or starved by the work it must outlive.
 */
final class ElectionThreads implements ThreadFactory {

	private final String name;

	ElectionThreads(String name) {
		this.name = "leader-election-" + name;
	}

	@Override
	public Thread newThread(Runnable task) {
		Thread thread = new Thread(task, this.name);
		thread.setDaemon(true);
		return thread;
	}

}
