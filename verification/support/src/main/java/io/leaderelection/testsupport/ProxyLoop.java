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

package io.leaderelection.testsupport;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.SelectableChannel;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.util.Queue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.LongSupplier;

/**
 * The one thread of a {@link TcpProxy}: all that happens to its connections happens here.
 */
final class ProxyLoop {

	private static final long PATIENCE_SECONDS = 30;

	private final Selector selector;

	private final Queue<Runnable> commands = new ConcurrentLinkedQueue<>();

	private final LongSupplier work;

	private final Thread thread;

	private boolean ended;

	/**
	 * Create a loop.
	 * @param work what to do after each event; returns the nanoseconds after which to do
	 * it again at the latest
	 */
	ProxyLoop(LongSupplier work) throws IOException {
		this.selector = Selector.open();
		this.work = work;
		this.thread = Daemon.create("tcp-proxy", this::run);
	}

	void start() {
		this.thread.start();
	}

	SelectionKey register(SelectableChannel channel, int operations, Handler handler) throws IOException {
		channel.configureBlocking(false);
		return channel.register(this.selector, operations, handler);
	}

	/**
	 * Do something in the thread of the loop and return when it is done. Without effect
	 * after the end of the loop.
	 */
	synchronized void execute(Command command) {
		if (!this.thread.isAlive()) {
			return;
		}
		FutureTask<Void> task = new FutureTask<>((Callable<Void>) () -> {
			command.run();
			return null;
		});
		this.commands.add(task);
		this.selector.wakeup();
		try {
			task.get(PATIENCE_SECONDS, TimeUnit.SECONDS);
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
		catch (ExecutionException | TimeoutException ex) {
			throw new IllegalStateException(ex);
		}
	}

	synchronized void end(Command last) {
		execute(() -> {
			this.ended = true;
			last.run();
		});
		try {
			this.thread.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
		}
		catch (InterruptedException ex) {
			Thread.currentThread().interrupt();
			throw new IllegalStateException(ex);
		}
	}

	private void run() {
		try (this.selector) {
			long wait = Long.MAX_VALUE;
			while (!this.ended) {
				this.selector.select(ProxyLoop::handle, toMillis(wait));
				for (Runnable command = this.commands.poll(); command != null; command = this.commands.poll()) {
					command.run();
				}
				wait = this.work.getAsLong();
			}
			// Channels that were closed let go of their sockets now
			this.selector.selectNow();
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	private static long toMillis(long nanos) {
		if (nanos == Long.MAX_VALUE) {
			return 0;
		}
		return Math.max(1, TimeUnit.NANOSECONDS.toMillis(nanos + 999_999));
	}

	private static void handle(SelectionKey key) {
		try {
			if (key.isValid()) {
				((Handler) key.attachment()).ready(key);
			}
		}
		catch (IOException ex) {
			throw new UncheckedIOException(ex);
		}
	}

	/**
	 * What to do in the thread of the loop.
	 */
	interface Command {

		void run() throws IOException;

	}

	/**
	 * What to do when a channel is ready.
	 */
	interface Handler {

		void ready(SelectionKey key) throws IOException;

	}

}
