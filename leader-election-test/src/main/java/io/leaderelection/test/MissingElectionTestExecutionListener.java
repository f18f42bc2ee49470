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

import java.lang.reflect.Field;
import java.util.Set;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.Nullness;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestExecutionListener;
import org.springframework.test.context.support.DependencyInjectionTestExecutionListener;
import org.springframework.util.ReflectionUtils;

/**
 * Explains why a field of a test cannot be injected, before the attempt is made. The
 * analysis of failures is for those of the context only.
 */
final class MissingElectionTestExecutionListener implements TestExecutionListener, Ordered {

	private static final Set<Class<?>> TYPES = Set.of(LeaderElector.class, LeaderElectors.class, TestLeadership.class,
			TestSchedules.class);

	@Override
	public int getOrder() {
		return DependencyInjectionTestExecutionListener.ORDER - 1;
	}

	@Override
	public void prepareTestInstance(TestContext testContext) {
		ReflectionUtils.doWithFields(testContext.getTestInstance().getClass(),
				(field) -> check(field, testContext.getApplicationContext()),
				(field) -> TYPES.contains(field.getType()) && isRequired(field));
	}

	private static boolean isRequired(Field field) {
		Autowired autowired = AnnotatedElementUtils.findMergedAnnotation(field, Autowired.class);
		return autowired != null && autowired.required() && !AnnotatedElementUtils.hasAnnotation(field, Lazy.class)
				&& Nullness.forField(field) != Nullness.NULLABLE;
	}

	private static void check(Field field, ApplicationContext context) {
		if (BeanFactoryUtils.beanNamesForTypeIncludingAncestors(context, field.getType(), true, false).length == 0) {
			throw new IllegalStateException(
					"There is no bean of type '%s' to inject into %s. Add @AutoConfigureTestLeadership to the test class."
						.formatted(field.getType().getName(), field));
		}
	}

}
