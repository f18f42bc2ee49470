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

package io.leaderelection.autoconfigure;

import java.util.stream.Stream;

import io.leaderelection.annotation.GeneratedJob;
import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.annotation.LeaderOnlyBeanPostProcessor;
import io.leaderelection.schedule.DurableSchedule;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

import org.springframework.amqp.rabbit.annotation.EnableRabbit;
import org.springframework.amqp.rabbit.annotation.RabbitListener;
import org.springframework.amqp.rabbit.listener.MessageListenerContainer;
import org.springframework.amqp.rabbit.listener.RabbitListenerContainerFactory;
import org.springframework.amqp.rabbit.listener.RabbitListenerEndpointRegistry;
import org.springframework.aop.framework.AopProxyUtils;
import org.springframework.beans.factory.BeanCreationException;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.mockito.BDDMockito.given;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.timeout;
import static org.mockito.Mockito.verify;

/**
 * Tests for {@link GuardContextInitializer}.
 */
@Tag("ring1")
class GuardContextInitializerTests {

	private static final String EXCLUDE = "--spring.autoconfigure.exclude=";

	private static final String NO_DATA_SOURCE = "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration";

	@ParameterizedTest
	@CsvSource({ "true, worked", "false," })
	void childContextIsGuardedByTheElectionsOfItsParent(boolean leads, String result) {
		try (ConfigurableApplicationContext context = runChild(Job.class, "--leader-election.candidate=" + leads)) {
			assertThat(context.getBean(Job.class).work()).isEqualTo(result);
		}
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	void containerInAChildContextIsStartedByTheElectionsOfItsParent(boolean leads) {
		try (ConfigurableApplicationContext context = runChild(Listener.class,
				"--leader-election.candidate=" + leads)) {
			Object container = context.getBean(RabbitListenerEndpointRegistry.class).getListenerContainer("orders");
			assertThat(container).isNotNull();
			SmartLifecycle target = (SmartLifecycle) AopProxyUtils.getSingletonTarget(container);
			assertThat(target).as("target of the proxy").isNotNull();
			verify(target, leads ? timeout(10000) : never()).start();
		}
	}

	@Test
	void contextWithoutGuardedBeansStarts() {
		try (ConfigurableApplicationContext context = new SpringApplicationBuilder(Empty.class)
			.web(WebApplicationType.NONE)
			.run()) {
			assertThat(context.getBeansOfType(LeaderOnlyBeanPostProcessor.class)).hasSize(1);
		}
	}

	@Test
	void durableSchedulesAreCheckedWithoutTheAutoConfiguration() {
		SpringApplicationBuilder application = new SpringApplicationBuilder(
				new GeneratedJob().with(DurableSchedule.class))
			.web(WebApplicationType.NONE);
		assertThatExceptionOfType(BeanCreationException.class).isThrownBy(application::run)
			.withRootCauseInstanceOf(InvalidUsageException.class);
	}

	@Test
	void guardedBeansAreRefusedWithoutTheAutoConfiguration() {
		SpringApplicationBuilder application = new SpringApplicationBuilder(Application.class)
			.web(WebApplicationType.NONE);
		String exclude = EXCLUDE + NO_DATA_SOURCE + "," + LeaderElectionAutoConfiguration.class.getName();
		assertThatExceptionOfType(InvalidUsageException.class)
			.isThrownBy(() -> application.sources(Job.class).run(exclude))
			.withMessageContaining("do not exclude LeaderElectionAutoConfiguration");
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> runChild(Job.class, exclude))
			.withMessageContaining("leader-election.mode=always");
	}

	static Stream<Class<?>> workOfAGrantIsRefusedInAChildContext() {
		return Stream.of(new GeneratedJob().with(GeneratedJob.annotation(LeaderOnly.class).define("runOnGrant", true)),
				new GeneratedJob().with(GeneratedJob.annotation(DurableSchedule.class).define("cron", "0 0 3 * * *")));
	}

	@ParameterizedTest
	@MethodSource
	void workOfAGrantIsRefusedInAChildContext(Class<?> job) {
		assertThatExceptionOfType(InvalidUsageException.class).isThrownBy(() -> runChild(job))
			.withMessageContaining(job.getName() + ".run()'")
			.withMessageContaining("only beans of the parent are called then");
	}

	private static ConfigurableApplicationContext runChild(Class<?> child, String... arguments) {
		return new SpringApplicationBuilder(Application.class).web(WebApplicationType.NONE)
			.properties("leader-election.mode=always", "spring.autoconfigure.exclude=" + NO_DATA_SOURCE)
			.child(child)
			.web(WebApplicationType.NONE)
			.run(arguments);
	}

	@Configuration(proxyBeanMethods = false)
	@EnableAutoConfiguration
	static class Application {

	}

	@Configuration(proxyBeanMethods = false)
	static class Empty {

	}

	@Configuration(proxyBeanMethods = false)
	@EnableRabbit
	static class Listener {

		@Bean
		RabbitListenerContainerFactory<?> rabbitListenerContainerFactory() {
			return (endpoint) -> {
				MessageListenerContainer container = mock();
				given(container.isAutoStartup()).willReturn(true);
				return container;
			};
		}

		@LeaderOnly
		@RabbitListener(id = "orders", queues = "orders")
		void on(String order) {
		}

	}

	static class Job {

		@LeaderOnly
		String work() {
			return "worked";
		}

	}

}
