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

package io.leaderelection.faults;

/**
 * Mistakes that the checker of the faults must find on real processes. That it finds
 * every violation is tested on histories that are made up.
 */
public enum Mistake {

	/** The product as it is. */
	NONE,

	/** Counts trust from the reply of a confirmation instead of its start. */
	ANCHOR_AT_REPLY,

	/** Frees the lock without waiting for work and listeners. */
	UNLOCK_BEFORE_DRAIN,

	/** Lets every transaction pass the fence. */
	OPEN_FENCE

}
