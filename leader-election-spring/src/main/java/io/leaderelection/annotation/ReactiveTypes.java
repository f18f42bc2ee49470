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

import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Set;

import org.jspecify.annotations.Nullable;

import org.springframework.util.ClassUtils;

/**
 * Recognizes result types whose work runs after the method has returned, on unknown
 * threads. By name, since none of these types is required on the class path.
 */
final class ReactiveTypes {

	private static final Set<String> NAMES = Set.of("io.reactivex.rxjava3.core.CompletableSource",
			"io.reactivex.rxjava3.core.MaybeSource", "io.reactivex.rxjava3.core.ObservableSource",
			"io.reactivex.rxjava3.core.SingleSource", "io.smallrye.mutiny.Uni", "java.util.concurrent.Flow$Publisher",
			"kotlinx.coroutines.Job", "kotlinx.coroutines.flow.Flow", "org.reactivestreams.Publisher");

	private static final Set<String> DEFERRED = Set.of("java.util.concurrent.Callable", "java.util.function.Supplier",
			"java.util.stream.Stream", "java.util.stream.IntStream", "java.util.stream.LongStream",
			"java.util.stream.DoubleStream", "kotlin.sequences.Sequence",
			"org.springframework.web.context.request.async.DeferredResult",
			"org.springframework.web.context.request.async.WebAsyncTask",
			"org.springframework.web.servlet.mvc.method.annotation.ResponseBodyEmitter",
			"org.springframework.web.servlet.mvc.method.annotation.SseEmitter",
			"org.springframework.web.servlet.mvc.method.annotation.StreamingResponseBody");

	static final boolean REACTOR_PRESENT = isPresent("reactor.core.publisher.Flux");

	static final boolean COROUTINES_PRESENT = isPresent("kotlinx.coroutines.reactor.MonoKt")
			&& isPresent("kotlin.reflect.full.KClasses");

	private ReactiveTypes() {
	}

	static boolean isReactive(@Nullable Class<?> type) {
		return isA(type, NAMES);
	}

	/**
	 * Return whether it is a type of results that their receiver works on, which cannot
	 * be guarded. Exactly, since an object may implement it by the way.
	 */
	static boolean isDeferred(Class<?> type) {
		return DEFERRED.contains(type.getName());
	}

	/**
	 * Return whether the names of a class and its supertypes are among some names. By
	 * name, since the types may be missing.
	 */
	static boolean isA(@Nullable Class<?> type, Set<String> names) {
		return type != null && (names.contains(type.getName()) || isA(type.getSuperclass(), names)
				|| Arrays.stream(type.getInterfaces()).anyMatch((implemented) -> isA(implemented, names)));
	}

	static boolean isFlow(Class<?> type) {
		return type.getName().equals("kotlinx.coroutines.flow.Flow");
	}

	private static boolean isPresent(String type) {
		return ClassUtils.isPresent(type, ReactiveTypes.class.getClassLoader());
	}

	static boolean isSuspending(Method method) {
		Class<?>[] parameters = method.getParameterTypes();
		return parameters.length > 0
				&& parameters[parameters.length - 1].getName().equals("kotlin.coroutines.Continuation");
	}

}
