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

import java.lang.annotation.Annotation;
import java.lang.reflect.Method;
import java.util.Objects;

import io.leaderelection.annotation.WorkAdvisor.AdvisedBy;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;

/**
 * An annotation that is {@link AdvisedBy @AdvisedBy} a bean.
 *
 * @param annotation the annotation
 * @param advisedBy what it is annotated with
 */
record AdvisedAnnotation(Class<? extends Annotation> annotation, AdvisedBy advisedBy) {

	/**
	 * Return the annotation of a method.
	 * @param method the method
	 * @return the annotation, or {@code null} if there is no advice
	 */
	static @Nullable AdvisedAnnotation of(Method method) {
		MergedAnnotation<AdvisedBy> found = MergedAnnotations.from(method, SearchStrategy.TYPE_HIERARCHY)
			.get(AdvisedBy.class);
		return found.isPresent() ? new AdvisedAnnotation(source(found), found.synthesize()) : null;
	}

	/**
	 * Return whether another annotation implies {@link LeaderOnly @LeaderOnly}.
	 */
	static boolean implies(MergedAnnotation<LeaderOnly> leaderOnly) {
		return leaderOnly.getDistance() > 0 && source(leaderOnly).isAnnotationPresent(AdvisedBy.class);
	}

	private static Class<? extends Annotation> source(MergedAnnotation<?> annotation) {
		return Objects.requireNonNull(annotation.getMetaSource()).getType();
	}

	/**
	 * Return the bean that advises a method.
	 * @param advisors provides the beans
	 * @param method the method, for messages
	 */
	WorkAdvisor advisor(ObjectProvider<WorkAdvisor> advisors, String method) {
		Class<? extends WorkAdvisor> type = this.advisedBy.value();
		return advisors.stream()
			.filter(type::isInstance)
			.findFirst()
			.orElseThrow(() -> new InvalidUsageException(
					"%s is annotated with %s, but there is no bean of type '%s'.".formatted(method, this,
							type.getName()),
					"Add @EnableAutoConfiguration to a configuration class without excluding what declares the bean, or "
							+ "declare it."));
	}

	@Override
	public String toString() {
		return "@" + this.annotation.getSimpleName();
	}

}
