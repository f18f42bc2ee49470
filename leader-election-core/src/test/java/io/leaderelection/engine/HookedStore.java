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

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

import org.jspecify.annotations.Nullable;

/**
 * Sessions that win at once, in real time, whose calls a test can delay or let fail. A
 * call is named by its method, so that the signatures do not matter.
 */
final class HookedStore implements ElectionStore {

	private static final long LONGEST_HANG_SECONDS = 60;

	/** How late an end of the session is noticed, as with the advisory lock. */
	private static final Duration PROBE_INTERVAL = Duration.ofMillis(10);

	private final ElectionStore store = LocalStore.always();

	private final Map<String, Hook> hooks = new ConcurrentHashMap<>();

	private final AtomicInteger opened = new AtomicInteger();

	private final AtomicInteger aborted = new AtomicInteger();

	private volatile boolean cutOff;

	/**
	 * Run something before each call of a method.
	 */
	void before(String method, Hook hook) {
		this.hooks.put(method, hook);
	}

	/**
	 * Run something before the next call of a method.
	 */
	void beforeNext(String method, Hook hook) {
		this.hooks.put(method, () -> {
			this.hooks.remove(method);
			hook.run();
		});
	}

	/**
	 * Let each call of a method fail.
	 */
	void fail(String method, Throwable failure) {
		before(method, () -> {
			throw failure;
		});
	}

	/**
	 * Let the next call of a method fail.
	 */
	void failNext(String method, Throwable failure) {
		beforeNext(method, () -> {
			throw failure;
		});
	}

	/**
	 * Let calls hang until their session is aborted, and open no session, until
	 * {@link #heal()}.
	 */
	void cutOff() {
		this.cutOff = true;
	}

	void heal() {
		this.cutOff = false;
	}

	int opened() {
		return this.opened.get();
	}

	/**
	 * Return how many sessions were aborted.
	 */
	int aborted() {
		return this.aborted.get();
	}

	@Override
	public StoreSession open() throws SessionException {
		if (this.cutOff) {
			throw new SessionException("Cut off", null);
		}
		StoreSession session = this.store.open();
		CountDownLatch abort = new CountDownLatch(1);
		this.opened.incrementAndGet();
		return (StoreSession) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] { StoreSession.class },
				(proxy, method, arguments) -> invoke(session, abort, method, arguments));
	}

	private @Nullable Object invoke(StoreSession session, CountDownLatch abort, Method method,
			Object @Nullable [] arguments) throws Throwable {
		boolean aborts = method.getName().equals("abort");
		if (aborts && abort.getCount() > 0) {
			abort.countDown();
			this.aborted.incrementAndGet();
		}
		Hook hook = this.hooks.get(method.getName());
		if (hook != null) {
			hook.run();
		}
		if (this.cutOff && (method.getName().equals("confirm") || method.getName().equals("probe"))) {
			abort.await(LONGEST_HANG_SECONDS, TimeUnit.SECONDS);
			throw new SessionException("Aborted", null);
		}
		try {
			Object result = method.invoke(session, arguments);
			return method.getName().equals("probe") ? PROBE_INTERVAL : result;
		}
		catch (InvocationTargetException ex) {
			throw ex.getTargetException();
		}
	}

	/**
	 * What happens before a call.
	 */
	@FunctionalInterface
	interface Hook {

		void run() throws Throwable;

	}

}
