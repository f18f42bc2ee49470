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

import java.util.Map;
import java.util.UUID;

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;
import org.springframework.util.StringUtils;

/**
 * Has the context of a test elect a leader of its own, unless a group is set. Spring
 * Framework 6.2 does not pause cached contexts, so that another one would lead. A record,
 * because all contexts are customized in the same way: the key of the context cache does
 * not contain the group.
 */
record OwnGroupContextCustomizer() implements ContextCustomizer {

	private static final String GROUP = "leader-election.group";

	@Override
	public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
		// When each @PropertySource is known
		context.addBeanFactoryPostProcessor((beanFactory) -> addGroup(context.getEnvironment()));
	}

	private static void addGroup(ConfigurableEnvironment environment) {
		String application = environment.getProperty("spring.application.name");
		// Without both, the application does not start, as in production
		if (StringUtils.hasText(application) && !environment.containsProperty(GROUP)) {
			environment.getPropertySources()
				.addLast(new MapPropertySource(OwnGroupContextCustomizer.class.getName(),
						Map.of(GROUP, application + "-test-" + UUID.randomUUID())));
		}
	}

}
