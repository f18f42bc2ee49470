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

package io.leaderelection.engine;

import org.apache.commons.logging.Log;
import org.jspecify.annotations.Nullable;

/**
 * The log of the engine. If an appender throws an exception, only its message is lost: it
 * must not end a term, a session or a thread.
 */
final class ElectionLog {

	/** Drops all messages. */
	static final ElectionLog NONE = new ElectionLog(null);

	private final @Nullable Log log;

	ElectionLog(@Nullable Log log) {
		this.log = log;
	}

	void info(String message) {
		if (this.log != null) {
			quietly(() -> this.log.info(message));
		}
	}

	void warn(String message) {
		if (this.log != null) {
			quietly(() -> this.log.warn(message));
		}
	}

	void warn(String message, Throwable failure) {
		if (this.log != null) {
			quietly(() -> this.log.warn(message, failure));
		}
	}

	void error(String message, Throwable failure) {
		if (this.log != null) {
			quietly(() -> this.log.error(message, failure));
		}
	}

	private static void quietly(Runnable logging) {
		try {
			logging.run();
		}
		catch (Throwable ex) {
			// The failure cannot be reported, since the log has failed
		}
	}

}
