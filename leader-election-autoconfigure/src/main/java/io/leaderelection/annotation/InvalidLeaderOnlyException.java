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

package io.leaderelection.annotation;

import io.leaderelection.InvalidUsageException;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when {@link LeaderOnly @LeaderOnly} is used where it cannot guard. The
 * application does not start, since otherwise leader work would run on every node.
 *
 * @since 0.1.0
 */
public class InvalidLeaderOnlyException extends InvalidUsageException {

	InvalidLeaderOnlyException(String description, String action) {
		this(description, action, null);
	}

	InvalidLeaderOnlyException(String description, String action, @Nullable Throwable cause) {
		super(description, action, cause);
	}

}
