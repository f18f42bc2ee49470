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

package io.leaderelection.autoconfigure;

import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.UnusableStoreException;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * {@link AbstractFailureAnalyzer Failure analyzer} for a {@link SessionException} that
 * prevents the start.
 */
class SessionFailureAnalyzer extends AbstractFailureAnalyzer<SessionException> {

	@Override
	protected FailureAnalysis analyze(Throwable rootFailure, SessionException cause) {
		if (cause instanceof UnusableStoreException unusable) {
			return new FailureAnalysis("Elections cannot be held on the configured database. " + cause.getMessage(),
					unusable.getAction(), cause);
		}
		return new FailureAnalysis(
				cause.getMessage() + System.lineSeparator() + System.lineSeparator()
						+ "The application does not start without it, since leader-election.fail-fast is set.",
				"Make the database reachable, or set leader-election.fail-fast=false to start as a follower that "
						+ "keeps trying.",
				cause);
	}

}
