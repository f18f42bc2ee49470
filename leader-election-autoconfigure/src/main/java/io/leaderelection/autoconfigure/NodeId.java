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
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.SecureRandom;

import org.springframework.core.env.Environment;
import org.springframework.util.StringUtils;

/**
 * Generates the id of a node. The process id is not unique, since it is 1 in many
 * containers, and neither is the host name, since operators set it.
 */
final class NodeId {

	private static final int SUFFIX_LENGTH = 4;

	private static final int SUFFIX_RADIX = 36;

	private static final Path LINUX_HOST_NAME = Path.of("/proc/sys/kernel/hostname");

	private NodeId() {
	}

	static String create(Environment environment) {
		StringBuilder suffix = new StringBuilder();
		new SecureRandom().ints(SUFFIX_LENGTH, 0, SUFFIX_RADIX)
			.forEach((digit) -> suffix.append(Character.forDigit(digit, SUFFIX_RADIX)));
		return hostName(environment) + "-" + ProcessHandle.current().pid() + "-" + suffix;
	}

	static String hostName(Environment environment) {
		return findHostName(environment).replaceAll("[^\\x21-\\x7e]", "_");
	}

	// The resolver comes last, since it may take seconds
	private static String findHostName(Environment environment) {
		for (String variable : new String[] { "HOSTNAME", "COMPUTERNAME" }) {
			String name = environment.getProperty(variable);
			if (StringUtils.hasText(name)) {
				return name.trim();
			}
		}
		try {
			String name = Files.readString(LINUX_HOST_NAME).trim();
			if (!name.isEmpty()) {
				return name;
			}
		}
		catch (IOException ex) {
			// Not Linux
		}
		try {
			return InetAddress.getLocalHost().getHostName();
		}
		catch (UnknownHostException ex) {
			return "localhost";
		}
	}

}
