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

import java.lang.reflect.Method;

import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.MemberCategory;
import org.springframework.aot.hint.ReflectionHints;
import org.springframework.beans.factory.aot.BeanRegistrationAotContribution;
import org.springframework.beans.factory.aot.BeanRegistrationAotProcessor;
import org.springframework.beans.factory.support.RegisteredBean;
import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.util.ClassUtils;
import org.springframework.util.ReflectionUtils.MethodFilter;

/**
 * Registers the hints that a native image needs to call the methods of guarded beans and
 * of services through their proxies. Proxies call methods by reflection, including
 * inherited ones; Spring registers only those that the class itself declares.
 */
class LeaderOnlyAotProcessor implements BeanRegistrationAotProcessor {

	@Override
	public @Nullable BeanRegistrationAotContribution processAheadOfTime(RegisteredBean registeredBean) {
		Class<?> type = ClassUtils.getUserClass(registeredBean.getBeanClass());
		if (!isLeaderOnly(type, registeredBean.getMergedBeanDefinition().getResolvedFactoryMethod())) {
			return null;
		}
		return (context, code) -> registerMethods(type, context.getRuntimeHints().reflection());
	}

	private static boolean isLeaderOnly(Class<?> type, @Nullable Method factoryMethod) {
		if (ServiceRules.annotationOf(type, factoryMethod) != null) {
			return true;
		}
		return AnnotationUtils.isCandidateClass(type, LeaderOnly.class)
				&& (GuardRules.annotationOf(type) != null || !MethodIntrospector
					.selectMethods(type, (MethodFilter) (method) -> GuardRules.annotationOf(method) != null)
					.isEmpty());
	}

	private static void registerMethods(@Nullable Class<?> type, ReflectionHints hints) {
		if (type == null || type == Object.class) {
			return;
		}
		hints.registerType(type, MemberCategory.INVOKE_PUBLIC_METHODS, MemberCategory.INVOKE_DECLARED_METHODS);
		registerMethods(type.getSuperclass(), hints);
		for (Class<?> implemented : type.getInterfaces()) {
			registerMethods(implemented, hints);
		}
	}

}
