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

import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

import org.apache.commons.logging.LogFactory;

/**
 * A {@link Platform.Worker} that ends its thread when it has been idle for a second,
 * unless it is retained.
 */
final class WorkerThread extends ThreadPoolExecutor implements Platform.Worker {

	private static final ElectionLog log = new ElectionLog(LogFactory.getLog(WorkerThread.class));

	/**
	 * Create a new {@code WorkerThread} instance.
	 * @param name the name of the thread, which has the context class loader of the
	 * current thread
	 * @param daemon whether it is a daemon thread: threads that a task creates inherit it
	 */
	WorkerThread(Platform platform, String name, boolean daemon) {
		super(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
		ClassLoader classLoader = Thread.currentThread().getContextClassLoader();
		setThreadFactory((run) -> {
			Thread thread = platform.newThread(name, run);
			thread.setContextClassLoader(classLoader);
			thread.setDaemon(daemon);
			return thread;
		});
		allowCoreThreadTimeOut(true);
	}

	@Override
	public void execute(Runnable task) {
		super.execute(() -> {
			try {
				task.run();
			}
			catch (Throwable ex) {
				failed(ex);
			}
		});
	}

	private static void failed(Throwable failure) {
		try {
			log.error("A task of leader election failed", failure);
		}
		catch (OutOfMemoryError ex) {
			// The thread goes on without a message
		}
	}

	@Override
	public void ensureThread() {
		if (!getQueue().isEmpty()) {
			prestartCoreThread();
		}
	}

	@Override
	public void retain(boolean retained) {
		allowCoreThreadTimeOut(!retained);
		if (retained) {
			prestartCoreThread();
		}
	}

}
