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

import java.util.Locale;

/**
 * What a visitor can do to a node, or what happens to it.
 */
enum Action {

	RESIGN, KILL, FREEZE, THAW, CUT, RECONNECT, START,

	/**
	 * Not an action of the page: the process has ended by itself, or was ended
	 * externally.
	 */
	END;

	/**
	 * Find the action of a path.
	 * @throws RefusedException if there is none
	 */
	static Action of(String path) {
		for (Action action : values()) {
			if (action != END && action.toString().equals(path)) {
				return action;
			}
		}
		throw new RefusedException("There is no action '" + path + "'");
	}

	/**
	 * Whether it brings a node back, rather than break it.
	 */
	boolean isRecovery() {
		return this == THAW || this == RECONNECT || this == START;
	}

	/**
	 * Whether it ends the process.
	 */
	boolean isEnd() {
		return this == KILL || this == END;
	}

	/**
	 * Return the action that this one undoes, or this one if it undoes none.
	 */
	Action undone() {
		return switch (this) {
			case THAW -> FREEZE;
			case RECONNECT -> CUT;
			default -> this;
		};
	}

	@Override
	public String toString() {
		return name().toLowerCase(Locale.ROOT);
	}

}
