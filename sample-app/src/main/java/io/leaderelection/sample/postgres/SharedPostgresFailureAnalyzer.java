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

package io.leaderelection.sample.postgres;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Describes what to do if no embedded PostgreSQL can be started.
 */
class SharedPostgresFailureAnalyzer extends AbstractFailureAnalyzer<SharedPostgresException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, SharedPostgresException cause) {
		return new FailureAnalysis(cause.getMessage() + "\n\nIts last lines:\n\n" + cause.getLogTail().indent(4),
				"Remove the cause that the log names, or let the sample use a PostgreSQL of yours:\n\n"
						+ "    --spring.datasource.url=jdbc:postgresql://localhost/mydb"
						+ " --spring.datasource.username=... --spring.datasource.password=...",
				cause);
	}

}
