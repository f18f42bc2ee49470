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

import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;

/**
 * Marks an annotation of methods that are leader work with advice around it. The
 * annotation must itself be annotated with {@link LeaderOnly @LeaderOnly}, and have an
 * alias for {@link LeaderOnly#election()}. If it names no election, that of the class
 * applies. Internal.
 *
 * @since 0.1.0
 */
@Target(ElementType.ANNOTATION_TYPE)
@Retention(RetentionPolicy.RUNTIME)
public @interface AdvisedBy {

	/**
	 * The type of the bean that advises the methods.
	 * @return the type
	 */
	Class<? extends WorkAdvisor> value();

	/**
	 * What the methods have, for messages.
	 * @return a noun
	 */
	String description();

}
