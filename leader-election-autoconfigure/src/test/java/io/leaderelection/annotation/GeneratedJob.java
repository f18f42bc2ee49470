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

import java.lang.annotation.Annotation;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.Stream;

import net.bytebuddy.ByteBuddy;
import net.bytebuddy.description.annotation.AnnotationDescription;
import net.bytebuddy.dynamic.DynamicType;
import net.bytebuddy.dynamic.loading.ClassLoadingStrategy;
import net.bytebuddy.implementation.Implementation;
import net.bytebuddy.implementation.InvocationHandlerAdapter;
import net.bytebuddy.implementation.StubMethod;
import net.bytebuddy.implementation.SuperMethodCall;
import net.bytebuddy.matcher.ElementMatchers;
import org.jspecify.annotations.Nullable;

import org.springframework.core.ResolvableType;

/**
 * Generates the class of a bean with one method, {@code run}, for tests that differ in
 * its annotations, its result or its parameters only.
 */
public final class GeneratedJob {

	private static final AtomicInteger generated = new AtomicInteger();

	private Class<?> parent = Object.class;

	private @Nullable String overridden;

	private int modifiersOfClass = Modifier.PUBLIC;

	private AnnotationDescription[] ofClass = {};

	private int modifiers;

	private Type result = void.class;

	private Class<?>[] parameters = {};

	private Implementation body = StubMethod.INSTANCE;

	public static AnnotationDescription.Builder annotation(Class<? extends Annotation> type) {
		return AnnotationDescription.Builder.ofType(type);
	}

	public static AnnotationDescription.Builder leaderOnly() {
		return annotation(LeaderOnly.class);
	}

	@SafeVarargs
	public final GeneratedJob inClassWith(Class<? extends Annotation>... annotations) {
		this.ofClass = descriptions(annotations);
		return this;
	}

	public GeneratedJob inClassWith(AnnotationDescription.Builder annotation) {
		this.ofClass = new AnnotationDescription[] { annotation.build() };
		return this;
	}

	public GeneratedJob inFinalClass() {
		this.modifiersOfClass |= Modifier.FINAL;
		return this;
	}

	public GeneratedJob extending(Class<?> type) {
		this.parent = type;
		return this;
	}

	/**
	 * Generate a subclass with this method instead of {@code run}. It calls that of the
	 * superclass.
	 */
	public GeneratedJob overriding(Class<?> type, String method) {
		this.overridden = method;
		this.body = type.isInterface() ? StubMethod.INSTANCE : SuperMethodCall.INSTANCE;
		return extending(type);
	}

	public GeneratedJob modifiers(int modifiers) {
		this.modifiers = modifiers;
		return this;
	}

	public GeneratedJob returning(Class<?> result, Class<?>... generics) {
		this.result = (generics.length == 0) ? result : ResolvableType.forClassWithGenerics(result, generics).getType();
		return this;
	}

	public GeneratedJob doing(Callable<?> body) {
		this.body = InvocationHandlerAdapter.of((proxy, method, arguments) -> body.call());
		return this;
	}

	public GeneratedJob taking(Class<?>... parameters) {
		this.parameters = parameters;
		return this;
	}

	/**
	 * Generate the class, with annotations of the method whose attributes have defaults.
	 */
	@SafeVarargs
	public final Class<?> with(Class<? extends Annotation>... annotations) {
		return generate(descriptions(annotations));
	}

	/**
	 * Generate the class, with annotations of the method.
	 */
	public Class<?> with(AnnotationDescription.Builder first, AnnotationDescription.Builder... others) {
		return generate(Stream.concat(Stream.of(first), Arrays.stream(others))
			.map(AnnotationDescription.Builder::build)
			.toArray(AnnotationDescription[]::new));
	}

	/**
	 * Generate the class where those of proxies are generated, with a name that says in
	 * the names of tests which one it is.
	 */
	private Class<?> generate(AnnotationDescription... annotations) {
		String names = Stream.of(this.ofClass, annotations)
			.flatMap(Arrays::stream)
			.map((annotation) -> "_" + annotation.getAnnotationType().getSimpleName())
			.collect(Collectors.joining());
		DynamicType.Builder<?> type = new ByteBuddy().subclass(this.parent)
			.name("io.leaderelection.annotation.Generated" + generated.incrementAndGet() + names)
			.modifiers(this.modifiersOfClass)
			.annotateType(this.ofClass);
		return ((this.overridden != null) ? type.method(ElementMatchers.named(this.overridden))
				: type.defineMethod("run", this.result, this.modifiers).withParameters(this.parameters))
			.intercept(this.body)
			.annotateMethod(annotations)
			.make()
			.load(GeneratedJob.class.getClassLoader(), ClassLoadingStrategy.UsingLookup.of(MethodHandles.lookup()))
			.getLoaded();
	}

	@SafeVarargs
	private static AnnotationDescription[] descriptions(Class<? extends Annotation>... annotations) {
		return Arrays.stream(annotations)
			.map((annotation) -> annotation(annotation).build())
			.toArray(AnnotationDescription[]::new);
	}

}
