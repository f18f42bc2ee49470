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
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

import io.leaderelection.annotation.LeaderOnly.NotLeaderPolicy;
import org.jspecify.annotations.Nullable;

import org.springframework.aop.support.AopUtils;
import org.springframework.context.event.EventListener;
import org.springframework.core.MethodClassKey;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;
import org.springframework.util.ClassUtils;
import org.springframework.util.ConcurrentReferenceHashMap;

/**
 * Determines what calls a method, by the annotation that it has or the type that declares
 * it, and which policy is permitted for it. Skipping is for schedules: a message whose
 * call is skipped is acknowledged, and a request is answered. Types are found by name, so
 * that no framework is required.
 */
final class ListenerRules {

	/** An annotation with such a name tells a framework to call the method. */
	private static final List<String> SUFFIXES = List.of("Handler", "Listener", "Mapping", "Worker");

	/** Meta-annotations that tell what an annotation is for, whatever its name. */
	private static final List<Class<? extends Annotation>> MEANINGS = List.of(Component.class, EventListener.class,
			LeaderOnly.class, Scheduled.class);

	/** What types end with whose methods receive what the application works on. */
	private static final List<String> RECEIVERS = List.of("Handler", "Listener", "Subscriber");

	private static final boolean FUNCTIONS_PRESENT = ClassUtils
		.isPresent("org.springframework.cloud.function.context.FunctionCatalog", ListenerRules.class.getClassLoader());

	private static final Caller APPLICATION = new Caller(Kind.WORK, true, "");

	private static final Map<MethodClassKey, Caller> callers = new ConcurrentReferenceHashMap<>(256);

	private ListenerRules() {
	}

	/**
	 * Return what calls a method.
	 * @param method the method, the most specific one
	 * @param type the class of the bean
	 */
	static Caller callerOf(Method method, Class<?> type) {
		return callers.computeIfAbsent(new MethodClassKey(method, type), (key) -> find(method, type));
	}

	private static Caller find(Method method, Class<?> type) {
		List<Caller> candidates = Stream
			.concat(MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY).stream().map(ListenerRules::caller),
					superTypes(type).filter((superType) -> declares(superType, method, type))
						.map(ListenerRules::caller))
			.flatMap(Optional::stream)
			.toList();
		Caller caller = candidates.stream().min(Comparator.comparing(Caller::kind)).orElse(APPLICATION);
		boolean work = caller.kind() != Kind.CALLBACK
				&& (candidates.isEmpty() || candidates.stream().anyMatch(Caller::work));
		return new Caller(caller.kind(), work, caller.description());
	}

	/**
	 * Return what calls the methods of a class because of an annotation of the class that
	 * no kind is known for.
	 */
	private static Optional<Caller> callerOf(Class<?> type) {
		return MergedAnnotations.from(type, SearchStrategy.TYPE_HIERARCHY)
			.stream()
			.filter((annotation) -> Kind.of(annotation.getType()) == null)
			.flatMap((annotation) -> caller(annotation).stream())
			.findFirst();
	}

	private static Optional<Caller> caller(MergedAnnotation<?> annotation) {
		Kind kind = Kind.of(annotation.getType());
		if (kind == null || kind == Kind.CONFIGURATION) {
			kind = isListener(annotation.getType()) ? Kind.REQUEST : null;
		}
		return Optional.ofNullable(kind)
			.map((known) -> new Caller(known, true, "@" + annotation.getRoot().getType().getSimpleName()));
	}

	private static boolean isListener(Class<? extends Annotation> annotation) {
		return SUFFIXES.stream().anyMatch(annotation.getName()::endsWith)
				&& MEANINGS.stream().noneMatch(MergedAnnotations.from(annotation)::isPresent);
	}

	private static Optional<Caller> caller(Class<?> declaring) {
		String name = declaring.getName();
		return Optional.ofNullable(Kind.of(declaring)).map((kind) -> new Caller(kind, switch (kind) {
			case FUNCTION, STEP, WORK -> true;
			default -> RECEIVERS.stream().anyMatch(name::endsWith);
		}, declaring.getSimpleName()));
	}

	private static Stream<Class<?>> superTypes(Class<?> type) {
		return Stream.concat(Stream.ofNullable(type.getSuperclass()), Arrays.stream(type.getInterfaces()))
			.flatMap((superType) -> Stream.concat(Stream.of(superType), superTypes(superType)))
			.distinct();
	}

	private static boolean declares(Class<?> candidate, Method method, Class<?> type) {
		return Arrays.stream(candidate.getDeclaredMethods()).anyMatch((declared) -> declares(declared, method, type));
	}

	/**
	 * Return whether a method of a class is or implements a method that is declared.
	 */
	static boolean declares(Method declared, Method method, Class<?> type) {
		return declared.getName().equals(method.getName())
				&& (declared.equals(method) || AopUtils.getMostSpecificMethod(declared, type).equals(method));
	}

	/**
	 * Fail if a guarded method is called by a framework in a way that its policy is wrong
	 * for.
	 * @param method the method
	 * @param type the class of the bean
	 * @param caller what calls the method
	 * @param annotation the annotation in force
	 * @param alternative what else to do, or an empty text if the method is annotated
	 * itself
	 */
	static void check(Method method, Class<?> type, Caller caller, LeaderOnly annotation, String alternative) {
		String description = Guard.describe(method, type);
		switch (caller.kind()) {
			case CONTAINER -> checkContainer(description, caller, method);
			case CONTAINER_OF_CLASS -> {
				if (GuardRules.annotationOf(method) != null) {
					throw new InvalidUsageException(
							"%s is annotated with @LeaderOnly, but %s is only one of the methods that the container of the class calls."
								.formatted(description, caller.description()),
							"Annotate the class with @LeaderOnly instead. Leadership then starts and stops the container.");
				}
			}
			case SOURCE, MAPPING, MESSAGES, FUNCTION -> throw new InvalidUsageException(
					"%s is guarded by @LeaderOnly, but called for messages (%s): a message whose call is skipped counts as processed and is lost, and one whose call is rejected is repeated at once or discarded."
						.formatted(description, caller.description()),
					switch (caller.kind()) {
						case SOURCE ->
							"Remove @LeaderOnly, and give the endpoint a role (@Role) that follows the election.";
						case MAPPING ->
							"Remove @LeaderOnly, call a separate method with @LeaderOnly(policy = REJECT), and answer the sender when it throws a NotLeaderException.";
						default ->
							"Remove @LeaderOnly, and have leadership start and stop what receives the messages: let it not start automatically, and call its start() and stop() from a bean that is a SmartLifecycle and @LeaderOnly.";
					} + alternative);
			case CALLBACK, REQUEST, STEP -> checkRequest(description, caller, annotation, alternative);
			default -> {
				if (!caller.isKnown()) {
					callerOf(type).ifPresent((ofClass) -> checkRequest(description, ofClass, annotation, alternative));
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
			throw new InvalidUsageException(
					"%s is called by a container (%s) that leadership starts and stops, but annotated with @LeaderOnly(%s): the container makes no calls on a follower."
						.formatted(description, caller.description(), attribute),
					"Remove '%s'.".formatted(attribute.substring(0, attribute.indexOf(' '))));
		}
	}

	private static void checkRequest(String description, Caller caller, LeaderOnly annotation, String alternative) {
		if (annotation.policy() == NotLeaderPolicy.SKIP) {
			throw new InvalidUsageException(
					"%s is guarded by @LeaderOnly, but its caller (%s) takes a call that is skipped for one that has succeeded."
						.formatted(description, caller.description()),
					"Use @LeaderOnly(policy = REJECT): the caller receives a NotLeaderException." + alternative);
		}
	}

	/**
	 * What calls a method.
	 *
	 * @param kind how the method is called
	 * @param work whether the annotation of a class may mean the method: none that a
	 * framework calls to configure something, usually when no node leads yet
	 * @param description the name under which the method has the annotation or type
	 */
	record Caller(Kind kind, boolean work, String description) {

		/**
		 * Return whether a container of messages calls the method: it must never take a
		 * call for one that has succeeded unless the method has run.
		 */
		boolean isContainer() {
			return this.kind == Kind.CONTAINER || this.kind == Kind.CONTAINER_OF_CLASS;
		}

		/**
		 * Return whether an annotation or a framework has the method called.
		 */
		boolean isKnown() {
			return this.kind != Kind.CONFIGURATION && !equals(APPLICATION);
		}

	}

	/**
	 * How a method is called. If there are several callers, the first kind decides.
	 */
	enum Kind {

		/** By a container that leadership can start and stop. */
		CONTAINER("org.springframework.amqp.rabbit.annotation.RabbitListener",
				"org.springframework.jms.annotation.JmsListener", "org.springframework.kafka.annotation.DltHandler",
				"org.springframework.kafka.annotation.KafkaListener"),

		/** By such a container, with other methods that handle a payload. */
		CONTAINER_OF_CLASS("org.springframework.amqp.rabbit.annotation.RabbitHandler",
				"org.springframework.kafka.annotation.KafkaHandler"),

		/** For what is no work in itself, but part of it. */
		CALLBACK("org.springframework.graphql.data.method.annotation.GraphQlExceptionHandler",
				"org.springframework.integration.IntegrationPattern",
				"org.apache.kafka.clients.consumer.ConsumerRebalanceListener",
				"org.springframework.kafka.listener.ConsumerAwareRebalanceListener",
				"org.springframework.messaging.handler.annotation.MessageExceptionHandler",
				"org.springframework.util.ErrorHandler", "org.springframework.web.bind.annotation.ExceptionHandler"),

		/** By a poller that takes a skipped call for an empty source. */
		SOURCE("org.springframework.integration.annotation.InboundChannelAdapter"),

		/** By a caller that receives the exception. */
		REQUEST("com.netflix.graphql.dgs.", "org.flywaydb.core.api.migration.", "org.jobrunr.jobs.annotations.",
				"org.springframework.ai.", "jakarta.jws.", "jakarta.servlet.", "jakarta.websocket.", "jakarta.ws.rs.",
				"org.springframework.boot.actuate.endpoint.", "org.springframework.graphql.",
				"org.springframework.integration.", "org.springframework.jmx.export.annotation.",
				"org.springframework.messaging.", "org.springframework.transaction.event.", "org.springframework.web.",
				"org.springframework.ws."),

		/** By a caller that receives the exception, always as work. */
		STEP("org.springframework.batch."),

		/** For messages of clients, which neither policy is right for. */
		MAPPING("org.springframework.messaging.handler.annotation.",
				"org.springframework.messaging.rsocket.annotation.", "org.springframework.messaging.simp.annotation."),

		/** For other messages that neither policy is right for. */
		MESSAGES("io.awspring.cloud.sqs.", "jakarta.jms.MessageListener", "org.apache.camel.", "org.eclipse.paho.",
				"org.springframework.amqp.", "org.springframework.cloud.stream.",
				"org.springframework.data.redis.stream.", "org.springframework.jms.listener.",
				"org.springframework.kafka.listener.", "org.springframework.pulsar."),

		/** For messages, if Spring Cloud Function is present. */
		FUNCTION("java.util.function.BiFunction", "java.util.function.Consumer", "java.util.function.Function"),

		/** As work of the application that may be skipped. */
		WORK("java.lang.Runnable", "java.util.concurrent.Callable", "java.util.concurrent.Executor",
				"java.util.function.", "org.springframework.boot.ApplicationRunner",
				"org.springframework.boot.CommandLineRunner", "org.springframework.context.event.EventListener",
				"org.springframework.data.repository.", "org.springframework.integration.core.MessageSource",
				"org.springframework.scheduling.annotation.Scheduled",
				"org.springframework.scheduling.quartz.QuartzJobBean"),

		/** To configure something, unless the name of the type says otherwise. */
		CONFIGURATION("io.micrometer.", "jakarta.", "java.", "javax.", "org.springframework.");

		private final List<String> typesAndPackages;

		Kind(String... typesAndPackages) {
			this.typesAndPackages = List.of(typesAndPackages);
		}

		/**
		 * Return the kind that names a type, or otherwise the longest of its packages.
		 */
		private static @Nullable Kind of(Class<?> type) {
			Kind found = null;
			int longest = 0;
			for (Kind kind : values()) {
				for (String each : kind.typesAndPackages) {
					if (each.length() > longest
							&& (each.endsWith(".") ? type.getName().startsWith(each) : type.getName().equals(each))) {
						found = kind;
						longest = each.length();
					}
				}
			}
			return (found == FUNCTION && !FUNCTIONS_PRESENT) ? WORK : found;
		}

	}

}
