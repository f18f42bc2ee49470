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
 * The key of an advisory lock: a {@code bigint}, or two {@code int}, which are different
 * keys.
 *
 * @param parts 1 or 2, the {@code objsubid} of {@code pg_locks}
 * @param high the first half, the {@code classid}
 * @param low the second half, the {@code objid}
 */
public record LockKey(int parts, int high, int low) {

	public static LockKey of(long key) {
		return new LockKey(1, (int) (key >>> 32), (int) key);
	}

	public static LockKey of(int high, int low) {
		return new LockKey(2, high, low);
	}

}
