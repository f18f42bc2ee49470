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
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

import org.springframework.aop.support.AopUtils;

/**
 * The methods of a class that a framework declares, such as those of
 * {@code SchedulingConfigurer} and {@code MeterBinder}. The annotation of the class does
 * not cover them: a framework usually calls them to configure something, when no node
 * leads yet. Those that run work of the application, such as {@code Runnable.run}, are
 * covered.
 */
final class FrameworkMethods {

	private static final List<String> PACKAGES = List.of("io.micrometer.", "jakarta.", "java.", "javax.",
			"org.springframework.");

	/** Types and packages whose methods run work of the application. */
	private static final List<String> WORK = List.of("java.lang.Runnable", "java.util.concurrent.Callable",
			"java.util.function.", "org.springframework.batch.", "org.springframework.boot.ApplicationRunner",
			"org.springframework.boot.CommandLineRunner", "org.springframework.data.repository.",
			"org.springframework.integration.core.MessageSource",
			"org.springframework.scheduling.quartz.QuartzJobBean");

	/** What types end with whose methods receive what the application works on. */
	private static final List<String> RECEIVERS = List.of("Handler", "Listener", "Subscriber");

	private FrameworkMethods() {
	}

	/**
	 * Return whether a framework declares a method that is not work of the application.
	 * @param method the method, the most specific one
	 * @param type the class of the bean
	 */
	static boolean contain(Method method, Class<?> type) {
		List<String> declaring = superTypes(type)
			.filter((candidate) -> isIn(candidate.getName(), PACKAGES) && declares(candidate, method, type))
			.map(Class::getName)
			.toList();
		return !declaring.isEmpty() && declaring.stream()
			.noneMatch((name) -> isIn(name, WORK) || RECEIVERS.stream().anyMatch(name::endsWith));
	}

	private static boolean isIn(String name, List<String> typesAndPackages) {
		return typesAndPackages.stream()
			.anyMatch((each) -> each.endsWith(".") ? name.startsWith(each) : name.equals(each));
	}

	private static Stream<Class<?>> superTypes(Class<?> type) {
		return Stream.concat(Stream.ofNullable(type.getSuperclass()), Arrays.stream(type.getInterfaces()))
			.flatMap((superType) -> Stream.concat(Stream.of(superType), superTypes(superType)))
			.distinct();
	}

	private static boolean declares(Class<?> candidate, Method method, Class<?> type) {
		return Arrays.stream(candidate.getDeclaredMethods())
			.filter((declared) -> declared.getName().equals(method.getName())
					&& declared.getParameterCount() == method.getParameterCount()
					&& !Modifier.isStatic(declared.getModifiers()) && !Modifier.isPrivate(declared.getModifiers()))
			.anyMatch((declared) -> declared.equals(method)
					|| AopUtils.getMostSpecificMethod(declared, type).equals(method));
	}

}
