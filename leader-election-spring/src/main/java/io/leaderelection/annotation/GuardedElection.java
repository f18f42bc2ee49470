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

import io.leaderelection.engine.DefaultLeaderElector;
import io.leaderelection.engine.DefaultLeaderElectors;
import io.leaderelection.engine.InvocationCounts;
import io.leaderelection.engine.WorkGate;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.util.StringValueResolver;

/**
 * The election of a guard, which is known to exist. Immutable, so that it can be shared
 * between threads without synchronization.
 *
 * @param name the name of the election
 * @param gate the gate that admits work
 * @param invocations the counts of admitted and refused invocations
 */
record GuardedElection(String name, WorkGate gate, InvocationCounts invocations) {

	/**
	 * Resolves elections by the value of {@link LeaderOnly#election()}, not before they
	 * are needed: the elections may not have been created yet, and placeholders must be
	 * resolved where the application runs, not during ahead-of-time processing.
	 */
	static final class Resolver {

		private final ObjectProvider<DefaultLeaderElectors> electors;

		private @Nullable StringValueResolver valueResolver;

		Resolver(ObjectProvider<DefaultLeaderElectors> electors) {
			this.electors = electors;
		}

		void setValueResolver(StringValueResolver valueResolver) {
			this.valueResolver = valueResolver;
		}

		/**
		 * Return whether there are elections. There are none in a test slice, for
		 * instance.
		 */
		boolean exist() {
			return this.electors.getIfAvailable() != null;
		}

		/**
		 * Return the election of a method.
		 * @param election the value of the annotation
		 * @param method the method, for error messages
		 * @param label the name under which the method is counted
		 */
		GuardedElection resolve(String election, String method, String label) {
			DefaultLeaderElector elector = find(election, method);
			return new GuardedElection(elector.getElection(), elector.gate(), elector.statistics().invocations(label));
		}

		DefaultLeaderElector find(String election, String method) {
			DefaultLeaderElectors electors = this.electors.getIfAvailable();
			if (electors == null) {
				throw new InvalidUsageException(
						"%s is guarded by @LeaderOnly, but there is no leader election in this application context."
							.formatted(method),
						"In a test, add @AutoConfigureTestLeadership of the artifact leader-election-test to the test class. "
								+ "In an application, add @EnableAutoConfiguration to a configuration class, and do not exclude LeaderElectionAutoConfiguration. "
								+ "To run the work on each node, set leader-election.mode=always.");
			}
			String name = resolvePlaceholders(election, method);
			if (name.isEmpty()) {
				name = electors.getDefault().getElection();
			}
			if (!electors.getElections().contains(name)) {
				throw new InvalidUsageException(
						"%s is guarded by @LeaderOnly for the election '%s', which does not exist.".formatted(method,
								name),
						"Use one of '%s', or configure the election with properties 'leader-election.elections.%s.*'."
							.formatted(String.join("', '", electors.getElections()), name));
			}
			return electors.get(name);
		}

		private String resolvePlaceholders(String election, String method) {
			if (this.valueResolver == null) {
				return election;
			}
			try {
				String resolved = this.valueResolver.resolveStringValue(election);
				return (resolved != null) ? resolved : "";
			}
			catch (RuntimeException ex) {
				throw new InvalidUsageException(
						"%s is guarded by @LeaderOnly for the election '%s', which cannot be resolved: %s"
							.formatted(method, election, ex.getMessage()),
						"Set the property that the placeholder names, or give the placeholder a default.", ex);
			}
		}

	}

}
