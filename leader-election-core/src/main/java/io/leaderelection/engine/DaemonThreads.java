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

/**
 * Creates the threads of this library. They are daemon threads and platform threads: a
 * virtual thread could be pinned, or starved by the work that it must interrupt.
 */
public final class DaemonThreads {

	private static final String PREFIX = "leader-election-";

	private DaemonThreads() {
	}

	/**
	 * Create a thread with the context class loader of the current thread, but without
	 * its inheritable thread-locals, which the new thread would retain.
	 * @param name the name, to which a prefix is added
	 * @param task the task of the thread
	 * @return the thread, not started
	 */
	public static Thread create(String name, Runnable task) {
		Thread thread = new Thread(null, task, PREFIX + name, 0, false);
		// Later versions of Java do not inherit the class loader either
		thread.setContextClassLoader(Thread.currentThread().getContextClassLoader());
		thread.setDaemon(true);
		return thread;
	}

}
