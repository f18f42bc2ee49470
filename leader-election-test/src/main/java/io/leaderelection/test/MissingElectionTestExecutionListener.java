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
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.util.Set;

import io.leaderelection.LeaderElector;
import io.leaderelection.LeaderElectors;

import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.beans.factory.annotation.ParameterResolutionDelegate;
import org.springframework.beans.factory.config.DependencyDescriptor;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Lazy;
import org.springframework.core.MethodParameter;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.AnnotatedElementUtils;
import org.springframework.test.context.TestContext;
import org.springframework.test.context.TestExecutionListener;
import org.springframework.test.context.support.DependencyInjectionTestExecutionListener;
import org.springframework.util.ReflectionUtils;

/**
 * Explains why a field or a parameter of a test cannot be injected, before the attempt is
 * made. The analysis of failures is for those of the context only.
 * <p>
 * Does not look at the parameters of constructors. They are injected before a listener
 * may use the context: until then, other extensions may have to start what it needs.
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
		Class<?> test = testContext.getTestInstance().getClass();
		ReflectionUtils.doWithFields(test, (field) -> check(field, testContext.getApplicationContext()),
				(field) -> TYPES.contains(field.getType()) && isRequired(field));
		ReflectionUtils.doWithMethods(test, (method) -> check(method, testContext.getApplicationContext()),
				MissingElectionTestExecutionListener::isCalledForEachTest);
	}

	@Override
	public void beforeTestMethod(TestContext testContext) {
		check(testContext.getTestMethod(), testContext.getApplicationContext());
	}

	// By their names, since a test may use another framework
	private static boolean isCalledForEachTest(Method method) {
		return AnnotatedElementUtils.isAnnotated(method, "org.junit.jupiter.api.BeforeEach")
				|| AnnotatedElementUtils.isAnnotated(method, "org.junit.jupiter.api.AfterEach");
	}

	private static boolean isRequired(Field field) {
		Autowired autowired = AnnotatedElementUtils.findMergedAnnotation(field, Autowired.class);
		return autowired != null && autowired.required() && !AnnotatedElementUtils.hasAnnotation(field, Lazy.class)
				&& new DependencyDescriptor(field, true).isRequired();
	}

	private static boolean isRequired(Parameter parameter) {
		Autowired autowired = AnnotatedElementUtils.findMergedAnnotation(parameter, Autowired.class);
		return (autowired == null || autowired.required())
				&& !AnnotatedElementUtils.hasAnnotation(parameter, Lazy.class)
				&& new DependencyDescriptor(MethodParameter.forParameter(parameter), true).isRequired();
	}

	private static void check(Field field, ApplicationContext context) {
		check(field.getType(), field, context);
	}

	private static void check(Method method, ApplicationContext context) {
		Parameter[] parameters = method.getParameters();
		for (int i = 0; i < parameters.length; i++) {
			if (TYPES.contains(parameters[i].getType()) && ParameterResolutionDelegate.isAutowirable(parameters[i], i)
					&& isRequired(parameters[i])) {
				check(parameters[i].getType(), method, context);
			}
		}
	}

	private static void check(Class<?> type, Member target, ApplicationContext context) {
		if (BeanFactoryUtils.beanNamesForTypeIncludingAncestors(context, type, true, false).length == 0) {
			throw new IllegalStateException(
					"There is no bean of type '%s' to inject into %s. Add @AutoConfigureTestLeadership to the test class."
						.formatted(type.getName(), target));
		}
	}

}
