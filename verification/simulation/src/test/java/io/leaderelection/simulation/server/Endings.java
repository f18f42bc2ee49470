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

package io.leaderelection.simulation.server;

/**
 * How many sessions the server has ended, as {@code pg_stat_database} has it.
 *
 * @param killed how many because the server was told to
 * @param fatal how many because of an error, which may be that the client was silent
 * @param resetTime since when they are counted, by the clock of the server, or 0
 */
public record Endings(long killed, long fatal, long resetTime) {

	static final Endings NONE = new Endings(0, 0, 0);

	Endings and(SessionEnd.Cause cause) {
		return switch (cause) {
			case KILLED -> new Endings(this.killed + 1, this.fatal, this.resetTime);
			case FATAL -> new Endings(this.killed, this.fatal + 1, this.resetTime);
			case CLIENT -> this;
		};
	}

}
