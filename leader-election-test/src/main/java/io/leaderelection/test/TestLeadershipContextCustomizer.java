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

import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.core.env.MapPropertySource;
import org.springframework.test.context.ContextCustomizer;
import org.springframework.test.context.MergedContextConfiguration;

/**
 * Applies {@link AutoConfigureTestLeadership @AutoConfigureTestLeadership}. A record, so
 * that it is part of the key of the context cache.
 *
 * @param leader whether the node leads from the start
 */
record TestLeadershipContextCustomizer(boolean leader) implements ContextCustomizer {

	@Override
	public void customizeContext(ConfigurableApplicationContext context, MergedContextConfiguration configuration) {
		context.getEnvironment()
			.getPropertySources()
			.addFirst(new MapPropertySource(AutoConfigureTestLeadership.class.getName(),
					Map.of("leader-election.mode", "manual", "leader-election.manual.leader", this.leader)));
	}

}
