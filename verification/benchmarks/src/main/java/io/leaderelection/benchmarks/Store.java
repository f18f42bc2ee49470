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

package io.leaderelection.benchmarks;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * The values of {@code leader-election.store}.
 */
enum Store {

	ADVISORY_LOCK, TABLE;

	static List<Store> parse(String names) {
		return Arrays.stream(names.split(","))
			.map((name) -> valueOf(name.toUpperCase(Locale.ROOT).replace('-', '_')))
			.toList();
	}

	@Override
	public String toString() {
		return name().toLowerCase(Locale.ROOT).replace('_', '-');
	}

}
