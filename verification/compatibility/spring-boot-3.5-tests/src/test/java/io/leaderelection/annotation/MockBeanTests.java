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

import io.leaderelection.annotation.LeaderOnlyReferenceTests.Caller;
import io.leaderelection.annotation.LeaderOnlyReferenceTests.Empty;
import io.leaderelection.annotation.LeaderOnlyReferenceTests.Job;
import io.leaderelection.annotation.LeaderOnlyReferenceTests.Plain;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.boot.test.mock.mockito.MockBean;
import org.springframework.boot.test.mock.mockito.SpyBean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.Mockito.never;
import static org.mockito.Mockito.verify;

/**
 * A bean with {@link LeaderOnly @LeaderOnly} methods as a mock or a spy of Spring Boot 3.
 */
@SuppressWarnings("removal")
@Tag("ring2")
class MockBeanTests {

	@Nested
	@SpringBootTest(classes = { Empty.class, Plain.class },
			properties = { "leader-election.mode=always", "leader-election.candidate=false" })
	class Mock {

		@MockBean
		Job job;

		@Test
		void isCalled(@Autowired Caller caller) {
			assertThat(AopUtils.isAopProxy(this.job)).isFalse();
			caller.call();
			verify(this.job).run();
		}

	}

	@Nested
	@SpringBootTest(classes = { Empty.class, Plain.class },
			properties = { "leader-election.mode=always", "leader-election.candidate=false" })
	class Spy {

		@SpyBean
		Job job;

		@Test
		void isGuarded(@Autowired Caller caller) {
			caller.call();
			verify(this.job, never()).run();
		}

	}

}
