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

import io.leaderelection.annotation.LeaderOnlyRejectionTests.FinalJob;
import io.leaderelection.annotation.LeaderOnlyRejectionTests.Job;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.aop.support.AopUtils;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.ProxyType;
import org.springframework.context.annotation.Proxyable;

import static org.assertj.core.api.Assertions.assertThat;

/**
 * Tests for {@link LeaderOnly @LeaderOnly} on a bean that is {@link Proxyable}, which
 * Spring Framework 6.2 does not have.
 */
@Tag("ring1")
class LeaderOnlyRejectionOnSpringBoot4Tests {

	@Test
	void finalClassIsGuardedByItsInterfaces() {
		TestElections.follower().withUserConfiguration(InterfaceProxied.class).run((context) -> {
			assertThat(AopUtils.isJdkDynamicProxy(context.getBean(Job.class))).isTrue();
			assertThat(context.getBean(Job.class).run()).isNull();
		});
	}

	@Configuration(proxyBeanMethods = false)
	static class InterfaceProxied {

		@Bean
		@Proxyable(ProxyType.INTERFACES)
		Job job() {
			return new FinalJob();
		}

	}

}
