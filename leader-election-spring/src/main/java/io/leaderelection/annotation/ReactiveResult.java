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

package io.leaderelection.annotation;

import java.lang.invoke.MethodType;
import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

import org.springframework.core.KotlinDetector;
import org.springframework.core.MethodParameter;
import org.springframework.core.ReactiveAdapter;
import org.springframework.core.ReactiveAdapterRegistry;
import org.springframework.util.Assert;

/**
 * A result type whose work begins on subscription and ends after the method has returned.
 *
 * @param adapter converts results to publishers and back; {@code null} for Kotlin
 * {@code suspend} functions, which Spring's proxies convert
 * @param multiValue whether it may have more than one element
 */
record ReactiveResult(@Nullable ReactiveAdapter adapter, boolean multiValue) {

	/**
	 * Return the reactive result of a method.
	 * @param method the method
	 * @param resultType the type of its result
	 * @return {@code null} if the result is not reactive, or not of a supported type
	 */
	static @Nullable ReactiveResult of(Method method, Class<?> resultType) {
		if (!ReactiveTypes.REACTOR_PRESENT) {
			return null;
		}
		if (ReactiveTypes.isSuspending(method)) {
			return (ReactiveTypes.COROUTINES_PRESENT && KotlinDetector.isSuspendingFunction(method))
					? new ReactiveResult(null, ReactiveTypes.isFlow(suspendedType(method))) : null;
		}
		ReactiveAdapter adapter = adapter(resultType);
		// The adapter may return a supertype
		return (adapter != null && resultType.isAssignableFrom(adapter.getReactiveType()))
				? new ReactiveResult(adapter, adapter.isMultiValue()) : null;
	}

	private static @Nullable ReactiveAdapter adapter(Class<?> resultType) {
		return (resultType == Object.class || resultType.isPrimitive() || Guard.isFuture(resultType)) ? null
				: ReactiveAdapterRegistry.getSharedInstance().getAdapter(resultType);
	}

	/**
	 * Return the result type of a {@code suspend} function in Kotlin: the primitive type
	 * if {@code null} is not a valid value.
	 */
	static Class<?> suspendedType(Method method) {
		MethodParameter result = new MethodParameter(method, -1);
		Class<?> type = result.getParameterType();
		return result.isOptional() ? type : MethodType.methodType(type).unwrap().returnType();
	}

	boolean supportsEmpty() {
		return this.adapter == null || this.adapter.supportsEmpty();
	}

	@SuppressWarnings("unchecked")
	Publisher<Object> toPublisher(@Nullable Object result) {
		if (this.adapter != null) {
			return this.adapter.toPublisher(result);
		}
		Assert.state(result instanceof Publisher, () -> "A suspend function returned " + result);
		return (Publisher<Object>) result;
	}

}
