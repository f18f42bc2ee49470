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

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.Statement;
import java.util.concurrent.atomic.LongAdder;

import org.jspecify.annotations.Nullable;

/**
 * A connection of a node whose messages are counted, with their characters.
 */
public final class CountedConnection {

	private CountedConnection() {
	}

	/**
	 * Return a connection that counts.
	 * @param connection the connection that it passes calls to
	 * @param messages the number of messages, for each of which a statement is created
	 * @param characters the number of characters of their statements
	 */
	public static Connection of(Connection connection, LongAdder messages, LongAdder characters) {
		return proxy(Connection.class, connection, (method, arguments, result) -> {
			if (!method.getName().equals("createStatement")) {
				return result;
			}
			messages.increment();
			return proxy(Statement.class, (Statement) result, (executed, texts, answer) -> {
				if (executed.getName().startsWith("execute")) {
					characters.add(((String) texts[0]).length());
				}
				return answer;
			});
		});
	}

	private static <T> T proxy(Class<T> type, T target, Listener listener) {
		return type
			.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] { type }, (proxy, method, arguments) -> {
				try {
					return listener.returned(method, arguments, method.invoke(target, arguments));
				}
				catch (InvocationTargetException ex) {
					throw ex.getTargetException();
				}
			}));
	}

	/**
	 * Listens to calls.
	 */
	@FunctionalInterface
	private interface Listener {

		/**
		 * A method has returned.
		 * @return what to return instead
		 */
		@Nullable Object returned(Method method, Object[] arguments, @Nullable Object result);

	}

}
