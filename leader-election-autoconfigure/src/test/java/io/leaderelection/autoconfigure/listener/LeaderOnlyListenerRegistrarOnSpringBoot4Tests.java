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

package io.leaderelection.autoconfigure.listener;

import java.util.Map;

import io.leaderelection.annotation.InvalidUsageException;
import io.leaderelection.annotation.LeaderOnly;
import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.aop.AopAutoConfiguration;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.config.ShareKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultShareConsumerFactory;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderOnlyListenerRegistrar} with the share groups of Kafka, which
 * Spring Boot 3.5 does not have.
 */
@Tag("ring1")
class LeaderOnlyListenerRegistrarOnSpringBoot4Tests {

	private final ApplicationContextRunner contextRunner = new ApplicationContextRunner()
		.withConfiguration(AutoConfigurations.of(LeaderElectionAutoConfiguration.class, AopAutoConfiguration.class));

	@Test
	void containerOfAShareGroupIsRefused() {
		this.contextRunner.withUserConfiguration(ShareListener.class)
			.withPropertyValues("leader-election.mode=always", "leader-election.candidate=false")
			.run((context) -> assertThat(context).getFailure()
				.isInstanceOf(InvalidUsageException.class)
				.hasMessageContaining("gives up a message that it has not processed when it stops")
				.hasMessageContaining("Use a consumer group"));
	}

	@Configuration(proxyBeanMethods = false)
	@EnableKafka
	static class ShareListener {

		@Bean
		ShareKafkaListenerContainerFactory<Object, Object> kafkaListenerContainerFactory() {
			return new ShareKafkaListenerContainerFactory<>(new DefaultShareConsumerFactory<>(Map.of()));
		}

		@LeaderOnly
		@KafkaListener(topics = "orders", groupId = "share")
		void on(String message) {
		}

	}

}
