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

package io.leaderelection.observation;

import java.util.HashMap;
import java.util.Map;

import io.leaderelection.engine.LogContext;

/**
 * {@link LogContext} that has the MDC contain the values while the message is logged.
 * Commons Logging has no key-value pairs itself. Internal.
 *
 * @since 0.1.0
 */
public final class MdcLogContext implements LogContext {

	private final String group;

	/**
	 * Create a new {@code MdcLogContext} instance.
	 * @param group the group of nodes that share their elections, or an empty text
	 */
	public MdcLogContext(String group) {
		this.group = group;
	}

	@Override
	public void log(Map<String, String> values, Runnable message) {
		Map<String, String> all = new HashMap<>(values);
		all.put(GROUP, this.group);
		MdcValues previous = MdcValues.replace(all);
		try {
			message.run();
		}
		finally {
			previous.left();
		}
	}

}
