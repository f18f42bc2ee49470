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

package io.leaderelection.documentation;

import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

import io.leaderelection.documentation.JavaExample.Form;
import io.leaderelection.documentation.Surroundings.Catalog;
import io.leaderelection.documentation.Surroundings.InvoiceController;
import io.leaderelection.documentation.Surroundings.Invoices;
import io.leaderelection.documentation.Surroundings.Reports;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.MockConsumer;

import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.core.io.DefaultResourceLoader;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.pulsar.config.PulsarListenerEndpointRegistry;
import org.springframework.scheduling.annotation.EnableAsync;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.stereotype.Component;
import org.springframework.test.context.DynamicPropertyRegistrar;

/**
 * The application that the examples of the documents are parts of.
 */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration
@EnableAsync
@EnableIntegration
@EnableScheduling
@Import({ Catalog.class, Invoices.class, InvoiceController.class, Reports.class })
class DocumentedApplication {

	/**
	 * Start it with all examples that can be its beans, on PostgreSQL.
	 */
	static ConfigurableApplicationContext start(String name, JavaExamples examples) {
		PostgreSqlServer server = PostgreSqlServer.shared();
		List<Class<?>> sources = Stream.concat(Stream.of(DocumentedApplication.class), beans(examples)).toList();
		return new SpringApplicationBuilder(sources.toArray(Class<?>[]::new)).web(WebApplicationType.NONE)
			.registerShutdownHook(false)
			.resourceLoader(new DefaultResourceLoader(examples.classLoader()))
			.beanNameGenerator((definition, registry) -> definition.getBeanClassName())
			.run("--spring.application.name=" + name, "--spring.main.banner-mode=off",
					"--elections.url=" + server.jdbcUrl() + "?preferQueryMode=simple&user=" + server.username()
							+ "&password=" + server.password(),
					"--kubernetes.url=http://localhost:1", "--leader-election.fencing=required",
					"--leader-election.initialize-schema=always", "--leader-election.takeover-delay=0",
					"--leader-election.elections.reports.takeover-delay=0");
	}

	private static Stream<Class<?>> beans(JavaExamples examples) {
		return Stream.of(Form.values())
			.flatMap((form) -> examples.classes(form).stream())
			.filter((type) -> Surroundings.class.isAssignableFrom(type)
					|| AnnotatedElementUtils.hasAnnotation(type, Component.class));
	}

	@Bean("catalogHealthIndicator")
	HealthIndicator catalogHealth() {
		return () -> Health.up().build();
	}

	@Bean
	DynamicPropertyRegistrar database() {
		return (registry) -> {
			PostgreSqlServer server = PostgreSqlServer.shared();
			registry.add("spring.datasource.url", server::jdbcUrl);
			registry.add("spring.datasource.username", server::username);
			registry.add("spring.datasource.password", server::password);
		};
	}

	@Bean
	PulsarListenerEndpointRegistry pulsar() {
		SmartLifecycle container = new SmartLifecycle() {

			private volatile boolean running;

			@Override
			public void start() {
				this.running = true;
			}

			@Override
			public void stop() {
				this.running = false;
			}

			@Override
			public boolean isRunning() {
				return this.running;
			}

		};
		return (id) -> container;
	}

	@Bean
	ConcurrentKafkaListenerContainerFactory<String, String> kafka() {
		ConcurrentKafkaListenerContainerFactory<String, String> factory = new ConcurrentKafkaListenerContainerFactory<>();
		factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(Map.of("group.id", "shop")) {

			@Override
			protected Consumer<String, String> createRawConsumer(Map<String, Object> properties) {
				return new MockConsumer<>("earliest");
			}

		});
		return factory;
	}

}
