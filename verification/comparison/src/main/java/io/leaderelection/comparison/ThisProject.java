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

package io.leaderelection.comparison;

import io.leaderelection.LeaderElector;

import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * This project, configured by its properties.
 */
@Configuration(proxyBeanMethods = false)
@EnableAutoConfiguration
class ThisProject {

	@Bean
	Adapter adapter(LeaderElector elector) {
		return new Adapter() {

			@Override
			public boolean isLeader() {
				return elector.isLeader();
			}

			@Override
			public void runIfLeader(Runnable work) {
				elector.runIfLeader(work);
			}

		};
	}

}
