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

package io.leaderelection.test;

import org.springframework.core.Ordered;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestContextAnnotationUtils;
import org.springframework.test.context.TestExecutionListener;

/**
 * Resets leadership and schedules before each test method to the state that
 * {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership} declares.
 */
final class TestLeadershipTestExecutionListener implements TestExecutionListener, Ordered {

	@Override
	public int getOrder() {
		return Ordered.LOWEST_PRECEDENCE;
	}

	@Override
	public void beforeTestMethod(TestContext testContext) {
		if (TestContextAnnotationUtils.hasAnnotation(testContext.getTestClass(), AutoConfigureTestLeadership.class)) {
			testContext.getApplicationContext()
				.getBeanProvider(TestLeadership.class)
				.ifAvailable(TestLeadership::reset);
			testContext.getApplicationContext().getBeanProvider(TestSchedules.class).ifAvailable(TestSchedules::reset);
		}
	}

}
