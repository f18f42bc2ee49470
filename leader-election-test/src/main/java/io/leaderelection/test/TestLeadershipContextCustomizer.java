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

import io.leaderelection.autoconfigure.LeaderElectionAutoConfiguration;
import io.leaderelection.autoconfigure.schedule.DurableScheduleAutoConfiguration;

import org.springframework.aot.AotDetector;
import org.springframework.beans.factory.support.BeanDefinitionRegistry;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.AnnotatedBeanDefinitionReader;
import org.springframework.context.annotation.Configuration;
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
			.addFirst(new MapPropertySource(AutoConfigureTestLeadership.class.getName(), Map.of("leader-election.mode",
					"always", TestLeadershipAutoConfiguration.ROLE, this.leader ? "leader" : "follower")));
		if (!AotDetector.useGeneratedArtifacts()
				&& context.getBeanFactory() instanceof BeanDefinitionRegistry registry) {
			new AnnotatedBeanDefinitionReader(registry, context.getEnvironment()).register(Elections.class);
		}
	}

	/**
	 * Elections for a context without auto-configuration, as that of a test slice. Not an
	 * import of the annotation, because those of a nested test class replace those of its
	 * enclosing class.
	 */
	@Configuration(proxyBeanMethods = false)
	@ImportAutoConfiguration({ LeaderElectionAutoConfiguration.class, DurableScheduleAutoConfiguration.class,
			TestLeadershipAutoConfiguration.class })
	static class Elections {

	}

}
