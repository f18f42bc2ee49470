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

package io.leaderelection.demo;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import org.springframework.boot.convert.DurationStyle;

/**
 * What the command line says.
 *
 * @param nodes how many nodes to start
 * @param port the port of the page, 0 for any that is free
 * @param lease the lease of the election
 * @param store what the election is held with
 */
record DemoOptions(int nodes, int port, Duration lease, Store store) {

	static final int MAX_NODES = 9;

	static final String USAGE = """
			Options: --nodes=3              nodes to start, 1 to 9
			         --port=8090            port of the page, 0 for any that is free
			         --lease=5s             lease of the election, 500ms to 1m
			         --store=advisory-lock  what the election is held with, or table""";

	static DemoOptions parse(String... args) {
		Map<String, String> values = new HashMap<>(
				Map.of("--nodes", "3", "--port", "8090", "--lease", "5s", "--store", Store.ADVISORY_LOCK.toString()));
		for (String arg : args) {
			String[] option = arg.split("=", 2);
			if (option.length != 2 || values.replace(option[0], option[1]) == null) {
				throw new DemoException("There is no option '" + arg + "'.\n" + USAGE);
			}
		}
		int nodes = number(values, "--nodes", 1, MAX_NODES);
		int port = number(values, "--port", 0, 65535);
		return new DemoOptions(nodes, port, lease(values.getOrDefault("--lease", "")),
				store(values.getOrDefault("--store", "")));
	}

	private static int number(Map<String, String> values, String option, int min, int max) {
		try {
			int number = Integer.parseInt(values.getOrDefault(option, ""));
			if (number >= min && number <= max) {
				return number;
			}
		}
		catch (NumberFormatException ex) {
			// Reported below
		}
		throw new DemoException(option + " must be a number from " + min + " to " + max + ".\n" + USAGE);
	}

	private static Duration lease(String text) {
		try {
			Duration lease = DurationStyle.detectAndParse(text);
			if (lease.toMillis() >= 500 && lease.toSeconds() <= 60) {
				return lease;
			}
		}
		catch (IllegalArgumentException ex) {
			// Reported below
		}
		throw new DemoException("--lease must be a time from 500ms to 1m.\n" + USAGE);
	}

	private static Store store(String text) {
		for (Store store : Store.values()) {
			if (store.toString().equals(text)) {
				return store;
			}
		}
		throw new DemoException("--store must be advisory-lock or table.\n" + USAGE);
	}

}
