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

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;

import io.leaderelection.annotation.InvalidUsageException;
import org.jspecify.annotations.Nullable;

/**
 * The line of Spring Boot that this artifact is for. With the other one, the application
 * would start without health and, depending on its beans, without elections. With the
 * artifacts of both, the order of the class path would decide.
 */
final class SpringBootLine {

	/** The build of {@code leader-election-autoconfigure-boot3} replaces this value. */
	private static final boolean BOOT_3 = false;

	private SpringBootLine() {
	}

	/**
	 * Fail if the application runs another line of Spring Boot, or has the artifacts of
	 * both.
	 * @param version the version of Spring Boot, or {@code null} if it is unknown
	 */
	static void check(@Nullable String version) {
		boolean boot3 = (version != null) ? version.startsWith("3.") : BOOT_3;
		if (areBothPresent()) {
			throw new InvalidUsageException(
					"The application has both leader-election-autoconfigure and leader-election-autoconfigure-boot3.",
					"Remove the dependency %s, and use %s.".formatted(starter(!boot3), starter(boot3)));
		}
		if (boot3 != BOOT_3) {
			throw new InvalidUsageException(
					"The application runs Spring Boot %s, but leader-election-autoconfigure%s is for Spring Boot %s."
						.formatted(version, BOOT_3 ? "-boot3" : "", BOOT_3 ? "3.5" : "4"),
					"Replace the dependency %s by %s.".formatted(starter(BOOT_3), starter(boot3)));
		}
	}

	private static String starter(boolean boot3) {
		return "leader-election-starter" + (boot3 ? "-boot3" : "");
	}

	/**
	 * Return whether this class is there twice. Both artifacts have it.
	 */
	private static boolean areBothPresent() {
		String name = SpringBootLine.class.getName().replace('.', '/') + ".class";
		try {
			Set<String> locations = new HashSet<>();
			SpringBootLine.class.getClassLoader()
				.getResources(name)
				.asIterator()
				.forEachRemaining((location) -> locations.add(location.toString()));
			return locations.size() > 1;
		}
		catch (IOException ex) {
			return false;
		}
	}

}
