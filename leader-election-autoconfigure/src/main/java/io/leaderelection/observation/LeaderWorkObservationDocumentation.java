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

import io.micrometer.common.docs.KeyName;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationConvention;
import io.micrometer.observation.docs.ObservationDocumentation;

/**
 * Documented {@link KeyName key names} of the observation of leader work.
 *
 * @since 0.1.0
 */
public enum LeaderWorkObservationDocumentation implements ObservationDocumentation {

	/**
	 * Observation of {@code @LeaderOnly} methods and of work that is passed to
	 * {@code LeaderElector}. Calls that are skipped or rejected are not observed.
	 */
	LEADER_WORK {

		@Override
		public Class<? extends ObservationConvention<? extends Observation.Context>> getDefaultConvention() {
			return DefaultLeaderWorkObservationConvention.class;
		}

		@Override
		public KeyName[] getLowCardinalityKeyNames() {
			return LowCardinalityKeyNames.values();
		}

		@Override
		public KeyName[] getHighCardinalityKeyNames() {
			return HighCardinalityKeyNames.values();
		}

	};

	/**
	 * Key names of low cardinality.
	 */
	public enum LowCardinalityKeyNames implements KeyName {

		/** Name of the election. */
		ELECTION {

			@Override
			public String asString() {
				return "election";
			}

		},

		/** Simple name of the class of the failure, or {@code none}. */
		EXCEPTION {

			@Override
			public String asString() {
				return "exception";
			}

		},

		/** Outcome of the work. */
		OUTCOME {

			@Override
			public String asString() {
				return "outcome";
			}

		}

	}

	/**
	 * Key names of high cardinality.
	 */
	public enum HighCardinalityKeyNames implements KeyName {

		/** Name of the method, or {@code none} if the work is an object. */
		CODE_FUNCTION {

			@Override
			public String asString() {
				return "code.function";
			}

		},

		/** Class of the method or of the object, as in observations of Spring. */
		CODE_NAMESPACE {

			@Override
			public String asString() {
				return "code.namespace";
			}

		},

		/** Name of the node. */
		NODE {

			@Override
			public String asString() {
				return "node";
			}

		},

		/** Term in which the work runs. */
		TERM {

			@Override
			public String asString() {
				return "term";
			}

		}

	}

}
