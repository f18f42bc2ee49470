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

import java.util.Map;

import io.leaderelection.engine.LogContext;

/**
 * {@link LogContext} that has the MDC contain the values while the message is logged.
 * Commons Logging has no key-value pairs itself. Internal.
 *
 * @since 0.1.0
 */
public final class MdcLogContext implements LogContext {

	@Override
	public void log(Map<String, String> values, Runnable message) {
		MdcValues previous = MdcValues.replace(values);
		try {
			message.run();
		}
		finally {
			previous.left();
		}
	}

}
