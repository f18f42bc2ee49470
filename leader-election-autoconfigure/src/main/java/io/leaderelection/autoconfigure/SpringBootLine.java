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

package io.leaderelection.autoconfigure;

import io.leaderelection.annotation.InvalidUsageException;
import org.jspecify.annotations.Nullable;

/**
 * The line of Spring Boot that this artifact is for. With the other one, the application
 * would start without health and, depending on its beans, without elections.
 */
final class SpringBootLine {

	/** The build of {@code leader-election-autoconfigure-boot3} replaces this value. */
	private static final boolean BOOT_3 = false;

	private SpringBootLine() {
	}

	/**
	 * Fail if the application runs another line of Spring Boot.
	 * @param version the version of Spring Boot, or {@code null} if it is unknown
	 */
	static void check(@Nullable String version) {
		if (version != null && version.startsWith("3.") != BOOT_3) {
			throw new InvalidUsageException(
					"The application runs Spring Boot %s, but leader-election-autoconfigure%s is for Spring Boot %s."
						.formatted(version, BOOT_3 ? "-boot3" : "", BOOT_3 ? "3.5" : "4"),
					"Replace the dependency leader-election-starter%s by leader-election-starter%s."
						.formatted(BOOT_3 ? "-boot3" : "", BOOT_3 ? "" : "-boot3"));
		}
	}

}
