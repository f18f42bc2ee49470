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

package io.leaderelection.schedule;

/**
 * What happens if several fires are due, since no node led or a run took longer than the
 * time between two fires.
 *
 * @since 0.1.0
 */
public enum MisfirePolicy {

	/**
	 * The method runs once, for the newest fire that is due. {@link FireTime#getMissed()}
	 * returns how many others this run stands for.
	 */
	RUN_ONCE,

	/**
	 * The method runs once for each fire, in order, up to {@link DurableSchedule#limit()}
	 * of the newest ones. Later ones wait for one that fails until it has completed, or
	 * has been dropped after {@link DurableSchedule#attempts()}. With
	 * {@link Claim#BEFORE}, a fire that fails is not repeated, and the next one follows.
	 */
	RUN_ALL,

	/**
	 * The method runs only on time: once for the newest fire, if that is not older than
	 * {@link DurableSchedule#within()}, by default one minute. Others are dropped.
	 */
	ON_TIME

}
