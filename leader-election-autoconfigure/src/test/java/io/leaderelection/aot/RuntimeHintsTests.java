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

package io.leaderelection.aot;

import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.List;
import java.util.function.Predicate;

import io.leaderelection.autoconfigure.LeaderElectionProperties;
import io.leaderelection.autoconfigure.actuate.LeadershipEndpoint;
import io.leaderelection.postgresql.advisory.SessionSockets;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.aop.SpringProxy;
import org.springframework.aop.framework.Advised;
import org.springframework.aot.generate.ClassNameGenerator;
import org.springframework.aot.generate.DefaultGenerationContext;
import org.springframework.aot.generate.InMemoryGeneratedFiles;
import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.RuntimeHints;
import org.springframework.aot.hint.TypeReference;
import org.springframework.aot.hint.predicate.RuntimeHintsPredicates;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.Lifecycle;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.AnnotatedBeanDefinitionReader;
import org.springframework.context.aot.ApplicationContextAotGenerator;
import org.springframework.context.support.GenericApplicationContext;
import org.springframework.core.DecoratingProxy;
import org.springframework.util.ReflectionUtils;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for the hints of a native image about the starter and about the beans that are
 * {@code @LeaderOnly}. There is no native image in these tests.
 */
@Tag("ring1")
class RuntimeHintsTests {

	private static final DefaultGenerationContext generation = new DefaultGenerationContext(
			new ClassNameGenerator(org.springframework.javapoet.ClassName.get(AotApplication.class)),
			new InMemoryGeneratedFiles());

	private static final RuntimeHints hints = generation.getRuntimeHints();

	@BeforeAll
	static void process() {
		try (GenericApplicationContext context = new GenericApplicationContext()) {
			new AnnotatedBeanDefinitionReader(context).register(AotApplication.class);
			TestPropertyValues
				.of("leader-election.elections.reports.lease-duration=4s",
						"management.endpoints.web.exposure.include=*")
				.applyTo(context);
			new ApplicationContextAotGenerator().processAheadOfTime(context, generation);
			generation.writeGeneratedContent();
		}
	}

	@ParameterizedTest
	@ValueSource(strings = { "com.zaxxer.hikari.HikariDataSource", "org.postgresql.PGConnection",
			"org.springframework.orm.jpa.JpaTransactionManager", "reactor.core.publisher.Flux" })
	void optionalTypesAreFoundByName(String type) {
		assertThat(RuntimeHintsPredicates.reflection().onType(TypeReference.of(type))).accepts(hints);
	}

	@ParameterizedTest
	@ValueSource(strings = { "postgresql/schema-postgresql.sql", "schedule/schema-schedule-postgresql.sql" })
	void scriptsOfTheTablesAreThere(String script) {
		assertThat(RuntimeHintsPredicates.resource().forResource("io/leaderelection/" + script)).accepts(hints);
	}

	@Test
	void methodsOfGuardedBeansCanBeCalledBehindProxies() {
		for (Method method : AotApplication.Jobs.class.getDeclaredMethods()) {
			assertThat(invocation(method)).as(method.toString()).accepts(hints);
		}
		assertInvocable(AotApplication.Reports.class, "create");
	}

	@Test
	void inheritedMethodsOfServicesCanBeCalledBehindProxies() {
		for (String method : new String[] { "start", "stop", "isRunning" }) {
			assertInvocable(AotApplication.Poller.class, method);
		}
		assertInvocable(SmartLifecycle.class, "isAutoStartup");
		assertInvocable(Lifecycle.class, "start");
	}

	@ParameterizedTest
	@ValueSource(classes = { AotApplication.Jobs.class, AotApplication.Reports.class, AotApplication.Consumer.class })
	void classesOfProxiesAreMadeByTheBuild(Class<?> type) {
		assertThat(RuntimeHintsPredicates.reflection()
			.onType(TypeReference.of(type.getName() + "$$SpringCGLIB$$0"))
			.withMemberCategory(MemberCategory.INVOKE_DECLARED_CONSTRUCTORS)).accepts(hints);
	}

	@Test
	void proxiesOfServicesByInterfaceAreMadeByTheBuild() {
		assertThat(RuntimeHintsPredicates.proxies()
			.forInterfaces(SmartLifecycle.class, SpringProxy.class, Advised.class, DecoratingProxy.class))
			.accepts(hints);
	}

	@Test
	void driverCreatesTheSockets() {
		assertThat(RuntimeHintsPredicates.reflection()
			.onType(SessionSockets.class)
			.withMemberCategory(MemberCategory.INVOKE_PUBLIC_CONSTRUCTORS)).accepts(hints);
	}

	@Test
	void propertiesAreBound() {
		assertThat(RuntimeHintsPredicates.reflection()
			.onType(LeaderElectionProperties.Election.class)
			.withMemberCategory(MemberCategory.INVOKE_DECLARED_CONSTRUCTORS)
			.or(invocation(LeaderElectionProperties.Election.class.getDeclaredConstructors()[0]))).accepts(hints);
	}

	@Test
	void answersOfTheEndpointAreWritten() {
		List<RecordComponent> components = Arrays.stream(LeadershipEndpoint.class.getDeclaredClasses())
			.filter(Class::isRecord)
			.flatMap((descriptor) -> Arrays.stream(descriptor.getRecordComponents()))
			.toList();
		assertThat(components).isNotEmpty()
			.allSatisfy((component) -> assertThat(invocation(component.getAccessor())).accepts(hints));
	}

	private static Predicate<RuntimeHints> invocation(Constructor<?> constructor) {
		return RuntimeHintsPredicates.reflection().onConstructorInvocation(constructor);
	}

	private static Predicate<RuntimeHints> invocation(Method method) {
		return RuntimeHintsPredicates.reflection().onMethodInvocation(method);
	}

	private static void assertInvocable(Class<?> type, String name) {
		Method method = ReflectionUtils.findMethod(type, name);
		assertThat(method).isNotNull();
		assertThat(invocation(method)).as(method.toString()).accepts(hints);
	}

}
