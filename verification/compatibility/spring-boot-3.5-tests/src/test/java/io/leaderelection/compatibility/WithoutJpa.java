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

package io.leaderelection.compatibility;

import org.springframework.boot.autoconfigure.AutoConfigurationImportFilter;
import org.springframework.boot.autoconfigure.AutoConfigurationMetadata;

/**
 * Leaves the auto-configuration of JPA out, whatever else a test excludes. With Spring
 * Boot 4, it is in a module of its own, which the library's tests do not have.
 */
class WithoutJpa implements AutoConfigurationImportFilter {

	private static final String JPA = "org.springframework.boot.autoconfigure.orm.jpa.HibernateJpaAutoConfiguration";

	@Override
	public boolean[] match(String[] autoConfigurations, AutoConfigurationMetadata metadata) {
		boolean[] matches = new boolean[autoConfigurations.length];
		for (int number = 0; number < matches.length; number++) {
			matches[number] = !JPA.equals(autoConfigurations[number]);
		}
		return matches;
	}

}
