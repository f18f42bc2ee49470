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
import java.util.List;
import java.util.Map;

import io.leaderelection.engine.LogContext;
import io.leaderelection.engine.WorkObserver.WorkObservation;
import org.slf4j.MDC;

/**
 * The values that the MDC of a thread had before others replaced them, of all keys of
 * leader election. Those that are not replaced are removed, since they are of another
 * election or term.
 *
 * @param values the values by their keys
 */
record MdcValues(Map<String, String> values) implements WorkObservation {

	private static final List<String> KEYS = List.of(LogContext.ELECTION, LogContext.NODE, LogContext.TERM,
			LogContext.REASON, LogContext.LEADER, LogContext.LEADER_TERM);

	static MdcValues replace(Map<String, String> values) {
		Map<String, String> previous = new HashMap<>();
		for (String key : KEYS) {
			String value = MDC.get(key);
			if (value != null) {
				previous.put(key, value);
			}
		}
		set(values);
		return new MdcValues(previous);
	}

	/**
	 * Restore the values.
	 */
	@Override
	public void left() {
		set(this.values);
	}

	@Override
	public void ended(boolean interrupted) {
	}

	private static void set(Map<String, String> values) {
		for (String key : KEYS) {
			String value = values.get(key);
			if (value != null) {
				MDC.put(key, value);
			}
			else {
				MDC.remove(key);
			}
		}
	}

}
