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

import io.leaderelection.observation.LeaderWorkObservationDocumentation.HighCardinalityKeyNames;
import io.leaderelection.observation.LeaderWorkObservationDocumentation.LowCardinalityKeyNames;
import io.micrometer.common.KeyValue;
import io.micrometer.common.KeyValues;

import org.springframework.util.ClassUtils;

/**
 * Default {@link LeaderWorkObservationConvention}.
 *
 * @since 0.1.0
 */
public class DefaultLeaderWorkObservationConvention implements LeaderWorkObservationConvention {

	@Override
	public String getName() {
		return "leader.election.work";
	}

	@Override
	public String getContextualName(LeaderWorkObservationContext context) {
		String method = context.getMethod();
		return "leader work " + ClassUtils.getShortName(context.getTarget()) + ((method != null) ? "." + method : "");
	}

	@Override
	public KeyValues getLowCardinalityKeyValues(LeaderWorkObservationContext context) {
		return KeyValues.of(election(context), exception(context), outcome(context));
	}

	/**
	 * Return the election.
	 * @param context the context
	 * @return the key value
	 */
	protected KeyValue election(LeaderWorkObservationContext context) {
		return KeyValue.of(LowCardinalityKeyNames.ELECTION, context.getLeadership().getElection());
	}

	/**
	 * Return the class of the failure.
	 * @param context the context
	 * @return the key value
	 */
	protected KeyValue exception(LeaderWorkObservationContext context) {
		Throwable error = context.getError();
		return KeyValue.of(LowCardinalityKeyNames.EXCEPTION,
				(error != null) ? error.getClass().getSimpleName() : KeyValue.NONE_VALUE);
	}

	/**
	 * Return the outcome.
	 * @param context the context
	 * @return the key value
	 */
	protected KeyValue outcome(LeaderWorkObservationContext context) {
		return KeyValue.of(LowCardinalityKeyNames.OUTCOME, context.getOutcome().name());
	}

	@Override
	public KeyValues getHighCardinalityKeyValues(LeaderWorkObservationContext context) {
		return KeyValues.of(codeFunction(context), codeNamespace(context),
				KeyValue.of(HighCardinalityKeyNames.NODE, context.getLeadership().getNodeId()),
				KeyValue.of(HighCardinalityKeyNames.TERM, context.getLeadership().getTerm().toString()));
	}

	/**
	 * Return the name of the method.
	 * @param context the context
	 * @return the key value
	 */
	protected KeyValue codeFunction(LeaderWorkObservationContext context) {
		String method = context.getMethod();
		return KeyValue.of(HighCardinalityKeyNames.CODE_FUNCTION, (method != null) ? method : KeyValue.NONE_VALUE);
	}

	/**
	 * Return the class of the method, or of the object that was passed to
	 * {@code LeaderElector}.
	 * @param context the context
	 * @return the key value
	 */
	protected KeyValue codeNamespace(LeaderWorkObservationContext context) {
		// Without what is generated in the name of the class of a lambda expression
		String name = ClassUtils.getShortName(context.getTarget());
		String packageName = ClassUtils.getPackageName(context.getTarget());
		return KeyValue.of(HighCardinalityKeyNames.CODE_NAMESPACE,
				packageName.isEmpty() ? name : packageName + "." + name);
	}

}
