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

import java.util.List;

import org.jspecify.annotations.Nullable;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.test.context.ContextConfigurationAttributes;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.ContextCustomizerFactory;
import org.springframework.test.context.TestContextAnnotationUtils;
import org.springframework.util.ClassUtils;

/**
 * Finds {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}. Without it, the
 * context of a test takes part in an election.
 */
final class TestLeadershipContextCustomizerFactory implements ContextCustomizerFactory {

	/** Since Spring Framework 7. */
	private static final boolean CACHED_CONTEXTS_ARE_PAUSED = ClassUtils.hasMethod(ConfigurableApplicationContext.class,
			"pause");

	@Override
	public @Nullable ContextCustomizer createContextCustomizer(Class<?> testClass,
			List<ContextConfigurationAttributes> configAttributes) {
		AutoConfigureTestLeadership annotation = TestContextAnnotationUtils.findMergedAnnotation(testClass,
				AutoConfigureTestLeadership.class);
		if (annotation != null) {
			return new TestLeadershipContextCustomizer(annotation.leader());
		}
		return CACHED_CONTEXTS_ARE_PAUSED ? null : new OwnGroupContextCustomizer();
	}

}
