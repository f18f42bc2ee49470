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

package io.leaderelection;

/**
 * Thrown by the commit of a transaction of leader work, or by
 * {@link Leadership#fence(java.sql.Connection)}, if the term in which the work began has
 * ended: another node may have been granted a later term. A transaction that Spring
 * manages is rolled back. After a call of {@code fence}, the caller must roll back.
 * <p>
 * A retry within the same work fails again, since the work is bound to its term.
 *
 * @since 0.1.0
 */
public class LeadershipLostException extends NotLeaderException {

	private final Term term;

	/**
	 * Create a new {@code LeadershipLostException} instance.
	 * @param leadership the leadership that was lost
	 */
	public LeadershipLostException(Leadership leadership) {
		super(leadership.getElection(),
				"The transaction must be rolled back: it belongs to the " + leadership + ", which has ended");
		this.term = leadership.getTerm();
	}

	/**
	 * Return the term that has ended.
	 * @return the term
	 */
	public Term getTerm() {
		return this.term;
	}

}
