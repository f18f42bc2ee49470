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

package io.leaderelection.autoconfigure.actuate;

import java.util.List;
import java.util.Map;

import io.leaderelection.LeaderElector;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

import org.springframework.boot.actuate.autoconfigure.endpoint.EndpointAutoConfiguration;
import org.springframework.boot.actuate.endpoint.Access;
import org.springframework.boot.actuate.endpoint.EndpointAccessResolver;
import org.springframework.boot.actuate.endpoint.EndpointId;
import org.springframework.boot.actuate.endpoint.InvocationContext;
import org.springframework.boot.actuate.endpoint.OperationType;
import org.springframework.boot.actuate.endpoint.SecurityContext;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.invoke.OperationInvokerAdvisor;
import org.springframework.boot.actuate.endpoint.web.EndpointMediaTypes;
import org.springframework.boot.actuate.endpoint.web.WebOperation;
import org.springframework.boot.actuate.endpoint.web.annotation.WebEndpointDiscoverer;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.convert.ApplicationConversionService;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.core.convert.support.ConfigurableConversionService;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;

/**
 * Tests for {@link LeadershipEndpointAutoConfiguration}.
 */
@Tag("ring1")
class LeadershipEndpointAutoConfigurationTests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class, EndpointAutoConfiguration.class,
				LeadershipEndpointAutoConfiguration.class))
		.withInitializer((context) -> context.getEnvironment()
			.setConversionService((ConfigurableConversionService) ApplicationConversionService.getSharedInstance()))
		.withPropertyValues("leader-election.mode=always");

	private final ApplicationContextRunner exposed = this.contextRunner
		.withPropertyValues("management.endpoints.web.exposure.include=leadership");

	@Test
	void isOffUnlessExposed() {
		this.contextRunner
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeadershipEndpoint.class));
	}

	@Test
	void isOnWhenExposed() {
		this.exposed.run((context) -> {
			assertThat(context).hasSingleBean(LeadershipEndpoint.class);
			assertThat(context.getBean(LeadershipEndpoint.class).leadership().elections()).containsOnlyKeys("default");
		});
	}

	@Test
	void isOnWhenExposedOverJmx() {
		this.contextRunner
			.withPropertyValues("spring.jmx.enabled=true", "management.endpoints.jmx.exposure.include=leadership")
			.run((context) -> assertThat(context).hasSingleBean(LeadershipEndpoint.class));
	}

	@Test
	void isOffWithoutAccess() {
		this.exposed.withPropertyValues("management.endpoint.leadership.access=none")
			.run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean(LeadershipEndpoint.class));
	}

	@Test
	void isReadOnlyUnlessConfiguredOtherwise() {
		this.exposed.run((context) -> assertThat(access(context.getBean(EndpointAccessResolver.class)))
			.isEqualTo(Access.READ_ONLY));
		this.exposed.withPropertyValues("management.endpoint.leadership.access=unrestricted")
			.run((context) -> assertThat(access(context.getBean(EndpointAccessResolver.class)))
				.isEqualTo(Access.UNRESTRICTED));
	}

	@Test
	void backsOffForOneOfTheApplication() {
		this.exposed
			.withBean("own", LeadershipEndpoint.class,
					() -> new LeadershipEndpoint("shop", null, Map::of, () -> null, LeadershipEndpoint.Schedules.NONE))
			.run((context) -> assertThat(context).getBean(LeadershipEndpoint.class).isSameAs(context.getBean("own")));
	}

	/**
	 * As Spring Boot finds the operations. A parameter without a selector would require a
	 * content type.
	 */
	@ParameterizedTest
	@ExtendWith(OutputCaptureExtension.class)
	@CsvSource(nullValues = "none", value = { "al_ice, 'endpoint, user ''al?ice'''", "none, endpoint" })
	void operationKnowsItsCaller(@Nullable String user, String cause, CapturedOutput output) {
		this.exposed.run((context) -> {
			WebEndpointDiscoverer discoverer = new WebEndpointDiscoverer(context, (parameter, value) -> value,
					EndpointMediaTypes.DEFAULT, List.of(), List.of(),
					context.getBeanProvider(OperationInvokerAdvisor.class).orderedStream().toList(), List.of(),
					List.of());
			WebOperation resign = discoverer.getEndpoints()
				.stream()
				.flatMap((endpoint) -> endpoint.getOperations().stream())
				.filter((operation) -> operation.getRequestPredicate().getPath().equals("leadership/{election}")
						&& operation.getType() == OperationType.WRITE)
				.findFirst()
				.orElseThrow();
			assertThat(resign.getRequestPredicate().getConsumes()).isEmpty();
			SecurityContext security = mock(SecurityContext.class);
			given(security.getPrincipal()).willReturn((user != null) ? () -> user.replace('_', '\n') : null);
			resign.invoke(new InvocationContext(security, Map.of("election", "default")));
		});
		assertThat(output).contains("Resignation of the leader requested by: " + cause
				+ " (election 'default', refused: there is no other candidate)");
	}

	@Test
	void isOffWithoutActuator() {
		new ApplicationContextRunner()
			.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class,
					LeadershipEndpointAutoConfiguration.class))
			.withPropertyValues("leader-election.mode=always", "management.endpoints.web.exposure.include=leadership")
			.withClassLoader(new FilteredClassLoader("org.springframework.boot.actuate.endpoint"))
			.run((context) -> assertThat(context).hasNotFailed().hasSingleBean(LeaderElector.class));
	}

	private static Access access(EndpointAccessResolver resolver) {
		Access declared = LeadershipEndpoint.class.getAnnotation(Endpoint.class).defaultAccess();
		return resolver.accessFor(EndpointId.of("leadership"), declared);
	}

}
