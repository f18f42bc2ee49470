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

package io.leaderelection.simulation;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.Function;

import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.ElectionStore.Watch;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import org.jspecify.annotations.Nullable;

/**
 * The store of a node, whose sessions tell the node what they do.
 *
 * @param node the node
 * @param connections returns the connection of a session, if it has one of its own
 */
public record ObservedStore(Node node, Function<StoreSession, @Nullable SimulatedConnection> connections) {

	/**
	 * Observe a store.
	 */
	public ElectionStore observe(ElectionStore store) {
		return proxy(ElectionStore.class, (method, arguments) -> {
			if (method.getName().equals("requestResignation")) {
				this.node.requests();
			}
			Object result = invoke(store, method, arguments);
			if (result instanceof StoreSession session) {
				return observe(session);
			}
			return (result instanceof Watch watch && watch.session() != null)
					? new Watch(watch.view(), watch.open(), observe(watch.session())) : result;
		});
	}

	private StoreSession observe(StoreSession session) {
		SimulatedConnection connection = this.connections.apply(session);
		return proxy(StoreSession.class, (method, arguments) -> {
			before(method.getName(), arguments);
			Object result = invoke(session, method, arguments);
			after(method.getName(), result, connection);
			return result;
		});
	}

	private void before(String method, Object @Nullable [] arguments) {
		switch (method) {
			case "probe" -> this.node.step();
			case "release" -> this.node.releases((Boolean) arguments[0]);
			case "wake" -> this.node.wakes();
			default -> {
			}
		}
	}

	private void after(String method, @Nullable Object result, @Nullable SimulatedConnection connection) {
		switch (method) {
			case "acquire" -> {
				if (result instanceof Acquisition.Won won) {
					this.node.won(won.term(), won.ending(), connection);
				}
				else {
					this.node.held(connection);
				}
			}
			case "confirm" -> this.node.confirmed();
			case "passBarrier" -> {
				if (result == null && connection != null) {
					this.node.passedBarrier(connection);
				}
			}
			default -> {
			}
		}
	}

	private static <T> T proxy(Class<T> type, Call call) {
		return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type },
				(proxy, method, arguments) -> call.call(method, arguments)));
	}

	private static @Nullable Object invoke(Object target, Method method, Object @Nullable [] arguments)
			throws Throwable {
		try {
			return method.invoke(target, arguments);
		}
		catch (InvocationTargetException ex) {
			throw ex.getCause();
		}
	}

	@FunctionalInterface
	private interface Call {

		@Nullable Object call(Method method, Object @Nullable [] arguments) throws Throwable;

	}

}
