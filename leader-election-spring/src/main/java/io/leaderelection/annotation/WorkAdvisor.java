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

/**
 * Advises methods whose annotation is {@link AdvisedBy @AdvisedBy} it. Such a bean may be
 * created before all others, and must not depend on them. Internal.
 *
 * @since 0.1.0
 */
public interface WorkAdvisor {

	/**
	 * Check the declaration of a method. May be called before the elections exist.
	 * @param method the method
	 * @param description the method, for messages
	 * @param usage how the method is used
	 * @throws InvalidUsageException if it cannot be advised
	 */
	void check(Method method, String description, Usage usage);

	/**
	 * Return the advice of a method, always the same.
	 * @param method the most specific method
	 * @param type the class of the bean
	 * @param description the method, for messages
	 * @return the advice
	 */
	WorkAdvice advise(Method method, Class<?> type, String description);

	/**
	 * How a method is used.
	 *
	 * @param type the class of the bean
	 * @param leaderOnly whether it is annotated with {@code @LeaderOnly}
	 * @param deferred whether its work continues after it has returned
	 * @param skippable whether a skipped call has a result
	 * @param runOnGrant whether it also runs on every grant
	 * @param parameters the number of its parameters
	 */
	record Usage(Class<?> type, boolean leaderOnly, boolean deferred, boolean skippable, boolean runOnGrant,
			int parameters) {

	}

}
