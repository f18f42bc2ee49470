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

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

import io.leaderelection.LeadershipRevokedEvent.Reason;
import io.leaderelection.Term;
import org.apache.commons.logging.Log;
import org.jspecify.annotations.Nullable;

/**
 * The log of the engine. If an appender throws an exception, only its message is lost: it
 * must not end a term, a session or a thread. What a message is about is also passed on
 * as key-value pairs, since the text is for people.
 */
final class ElectionLog {

	/** Drops all messages. */
	static final ElectionLog NONE = new ElectionLog(null);

	private final @Nullable Log log;

	private final LogContext context;

	private final Map<String, String> values;

	ElectionLog(@Nullable Log log) {
		this(log, LogContext.NONE);
	}

	ElectionLog(@Nullable Log log, LogContext context) {
		this(log, context, Map.of());
	}

	private ElectionLog(@Nullable Log log, LogContext context, Map<String, String> values) {
		this.log = log;
		this.context = context;
		this.values = values;
	}

	/**
	 * Return the log of messages of an election.
	 */
	ElectionLog of(ElectionSettings settings) {
		return with(LogContext.ELECTION, settings.election()).with(LogContext.NODE, settings.nodeId());
	}

	/**
	 * Return the log of messages on a term.
	 */
	ElectionLog of(Term term) {
		return with(LogContext.TERM, term.toString());
	}

	/**
	 * Return the log of messages on the end of a term.
	 */
	ElectionLog of(Term term, Reason reason) {
		return of(term).with(LogContext.REASON, reason.name().toLowerCase(Locale.ROOT));
	}

	/**
	 * Return the log of messages on another leader.
	 */
	ElectionLog of(String leader, @Nullable Term term) {
		ElectionLog log = with(LogContext.LEADER, leader);
		return (term != null) ? log.with(LogContext.LEADER_TERM, term.toString()) : log;
	}

	private ElectionLog with(String key, String value) {
		if (this.context == LogContext.NONE) {
			return this;
		}
		Map<String, String> more = new HashMap<>(this.values);
		more.put(key, value);
		return new ElectionLog(this.log, this.context, Map.copyOf(more));
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

	private void quietly(Runnable message) {
		try {
			this.context.log(this.values, message);
		}
		catch (Throwable ex) {
			// The failure cannot be reported, since the log has failed
		}
	}

}
