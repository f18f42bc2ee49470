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
import java.util.List;
import java.util.Optional;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;

import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import org.jspecify.annotations.Nullable;

import org.springframework.context.event.EventListener;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.util.ClassUtils;

/**
 * Determines which methods a framework calls and takes their return for success, and
 * which policy is permitted for them. Skipping is for schedules: a message whose call is
 * skipped is acknowledged, and a request is answered. Types are found by name, so that no
 * framework is required.
 */
final class ListenerRules {

	/** Calls by a container that leadership can start and stop. */
	private static final List<String> STARTED = List.of("org.springframework.amqp.rabbit.annotation.RabbitListener",
			"org.springframework.jms.annotation.JmsListener", "org.springframework.kafka.annotation.DltHandler",
			"org.springframework.kafka.annotation.KafkaListener");

	/** Calls by such a container of each method of a class that handles a payload. */
	private static final List<String> STARTED_FOR_CLASS = List.of(
			"org.springframework.amqp.rabbit.annotation.RabbitHandler",
			"org.springframework.kafka.annotation.KafkaHandler");

	private static final String ENDPOINTS = "org.springframework.integration.annotation.";

	private static final String SOURCE = ENDPOINTS + "InboundChannelAdapter";

	private static final String MAPPINGS = "org.springframework.messaging.";

	/** Calls for messages that neither policy is right for. */
	private static final List<String> MESSAGES = List.of("io.awspring.cloud.sqs.", SOURCE, MAPPINGS,
			"org.springframework.cloud.stream.", "org.springframework.pulsar.");

	/** Interfaces of such calls. */
	private static final List<String> MESSAGE_TYPES = List.of("io.awspring.cloud.sqs.", "jakarta.jms.MessageListener",
			"org.springframework.amqp.", "org.springframework.data.redis.stream.", "org.springframework.jms.listener.",
			"org.springframework.kafka.listener.", "org.springframework.pulsar.");

	/** Calls whose caller receives the exception. */
	private static final List<String> REQUESTS = List.of("jakarta.jws.", "jakarta.websocket.", "jakarta.ws.rs.",
			"org.springframework.boot.actuate.endpoint.", "org.springframework.graphql.", ENDPOINTS,
			"org.springframework.jmx.export.annotation.", "org.springframework.transaction.event.",
			"org.springframework.web.", "org.springframework.ws.");

	/** Interfaces of such calls. */
	private static final List<String> REQUEST_TYPES = List.of("jakarta.servlet.", "org.springframework.batch.",
			"org.springframework.integration.", "org.springframework.messaging.",
			"org.springframework.transaction.event.", "org.springframework.web.");

	/** An annotation with such a name tells a framework to call the method. */
	private static final List<String> SUFFIXES = List.of("Handler", "Listener", "Mapping", "Worker");

	private static final List<Class<?>> FUNCTIONS = List.of(BiFunction.class, Consumer.class, Function.class);

	private static final boolean FUNCTIONS_PRESENT = ClassUtils
		.isPresent("org.springframework.cloud.function.context.FunctionCatalog", ListenerRules.class.getClassLoader());

	private ListenerRules() {
	}

	/**
	 * Return what calls a method.
	 * @param method the method
	 * @param type the class of the bean
	 * @return the caller, or {@code null} if none is known that takes a return for
	 * success
	 */
	private static @Nullable Caller callerOf(Method method, Class<?> type) {
		MergedAnnotations annotations = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY);
		return Stream
			.of(caller(annotations, Kind.CONTAINER, STARTED::contains),
					caller(annotations, Kind.CONTAINER_OF_CLASS, STARTED_FOR_CLASS::contains),
					caller(annotations, Kind.REQUEST,
							(name) -> startsWith(name, REQUESTS) && !startsWith(name, MESSAGES)),
					caller(annotations, Kind.MESSAGES, (name) -> startsWith(name, MESSAGES)),
					caller(annotations, Kind.REQUEST, ListenerRules::isListener), interfaceOf(method, type))
			.flatMap(Optional::stream)
			.findFirst()
			.orElse(null);
	}

	private static Optional<Caller> caller(MergedAnnotations annotations, Kind kind, Predicate<String> condition) {
		return annotations.stream()
			.filter((annotation) -> condition.test(annotation.getType().getName()))
			.findFirst()
			.map((annotation) -> new Caller(kind, annotation.getType().getName(),
					"@" + annotation.getRoot().getType().getSimpleName()));
	}

	/**
	 * Return whether a framework calls a method and takes its return for success.
	 * @param method the method
	 * @param type the class of the bean
	 */
	static boolean isCalled(Method method, Class<?> type) {
		return callerOf(method, type) != null;
	}

	/**
	 * Return whether a container of messages calls a method: it must never take a call
	 * for one that has succeeded unless the method has run.
	 * @param method the method
	 * @param type the class of the bean
	 */
	static boolean isCalledByContainer(Method method, Class<?> type) {
		Caller caller = callerOf(method, type);
		return caller != null && (caller.kind() == Kind.CONTAINER || caller.kind() == Kind.CONTAINER_OF_CLASS);
	}

	private static boolean isListener(String annotation) {
		return SUFFIXES.stream().anyMatch(annotation::endsWith) && !annotation.equals(EventListener.class.getName());
	}

	private static Optional<Caller> interfaceOf(Method method, Class<?> type) {
		for (Class<?> implemented : ClassUtils.getAllInterfacesForClass(type)) {
			Kind kind = kindOf(implemented);
			if (kind != null && declares(implemented, method)) {
				return Optional.of(new Caller(kind, implemented.getName(), implemented.getSimpleName()));
			}
		}
		return Optional.empty();
	}

	private static @Nullable Kind kindOf(Class<?> implemented) {
		if (startsWith(implemented.getName(), MESSAGE_TYPES) || isFunction(implemented)) {
			return Kind.MESSAGES;
		}
		return startsWith(implemented.getName(), REQUEST_TYPES) ? Kind.REQUEST : null;
	}

	private static boolean declares(Class<?> implemented, Method method) {
		// The types of the parameters may be variables
		return Arrays.stream(implemented.getMethods())
			.anyMatch((declared) -> declared.getName().equals(method.getName())
					&& declared.getParameterCount() == method.getParameterCount());
	}

	/**
	 * Return whether an interface is one of those that Spring Cloud Function finds.
	 */
	private static boolean isFunction(Class<?> implemented) {
		return FUNCTIONS_PRESENT && FUNCTIONS.contains(implemented);
	}

	private static boolean startsWith(String name, List<String> prefixes) {
		return prefixes.stream().anyMatch(name::startsWith);
	}

	/**
	 * Fail if a guarded method is called by a framework in a way that its policy is wrong
	 * for.
	 * @param method the method
	 * @param type the class of the bean
	 * @param annotation the annotation in force
	 * @param alternative what else to do, or an empty text if the method is annotated
	 * itself
	 */
	static void check(Method method, Class<?> type, LeaderOnly annotation, String alternative) {
		Caller caller = callerOf(method, type);
		if (caller == null) {
			return;
		}
		String description = Guard.describe(method, type);
		switch (caller.kind()) {
			case CONTAINER -> checkContainer(description, caller, method);
			case CONTAINER_OF_CLASS -> {
				if (GuardRules.annotationOf(method) != null) {
					throw new InvalidLeaderOnlyException(
							"%s is annotated with @LeaderOnly, but %s is only one of the methods that the container of the class calls."
								.formatted(description, caller),
							"Annotate the class with @LeaderOnly instead. Leadership then starts and stops the container.");
				}
			}
			case MESSAGES -> throw new InvalidLeaderOnlyException(
					"%s is guarded by @LeaderOnly, but called for messages (%s): a message whose call is skipped counts as processed and is lost, and one whose call is rejected is repeated at once or discarded."
						.formatted(description, caller),
					recipe(caller) + alternative);
			case REQUEST -> {
				if (annotation.policy() == NotLeaderPolicy.SKIP) {
					throw new InvalidLeaderOnlyException(
							"%s is guarded by @LeaderOnly, but its caller (%s) takes a call that is skipped for one that has succeeded."
								.formatted(description, caller),
							"Use @LeaderOnly(policy = REJECT): the caller receives a NotLeaderException."
									+ alternative);
				}
			}
		}
	}

	private static void checkContainer(String description, Caller caller, Method method) {
		LeaderOnly annotation = GuardRules.annotationOf(method);
		if (annotation == null) {
			return;
		}
		String attribute = (annotation.policy() != NotLeaderPolicy.SKIP) ? "policy = REJECT"
				: annotation.runOnGrant() ? "runOnGrant = true" : null;
		if (attribute != null) {
			throw new InvalidLeaderOnlyException(
					"%s is called by a container (%s) that leadership starts and stops, but annotated with @LeaderOnly(%s): the container makes no calls on a follower."
						.formatted(description, caller, attribute),
					"Remove '%s'.".formatted(attribute.substring(0, attribute.indexOf(' '))));
		}
	}

	private static String recipe(Caller caller) {
		if (caller.name().equals(SOURCE)) {
			return "Remove @LeaderOnly, and give the endpoint a role (@Role) that follows the election.";
		}
		if (caller.name().startsWith(MAPPINGS)) {
			return "Remove @LeaderOnly, call a separate method with @LeaderOnly(policy = REJECT), and answer the sender when it throws a NotLeaderException.";
		}
		return "Remove @LeaderOnly, and have leadership start and stop what receives the messages: let it not start automatically, and call its start() and stop() from a bean that is a SmartLifecycle and @LeaderOnly.";
	}

	/** How a method is called. */
	private enum Kind {

		CONTAINER, CONTAINER_OF_CLASS, MESSAGES, REQUEST

	}

	/**
	 * What calls a method.
	 *
	 * @param kind how it calls the method
	 * @param name the full name of the annotation or interface that says so
	 * @param description the name under which the method has it
	 */
	private record Caller(Kind kind, String name, String description) {

		@Override
		public String toString() {
			return this.description;
		}

	}

}
