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

package io.leaderelection.engine;

import java.time.Duration;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionState.Problem;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import org.jspecify.annotations.Nullable;

/**
 * The answer to a request that the leader of an election resigns.
 *
 * @param term the term whose end was requested, or {@code null} if there is none
 * @param refusal why the request was refused, or {@code null}
 */
public record ResignationAnswer(@Nullable Term term, @Nullable String refusal) {

	/** A follower receives an answer of the store about every second. */
	private static final Duration LONGEST_SILENCE = Duration.ofSeconds(3);

	/**
	 * Return the answer of a node that participates in the election.
	 * @param only the term that should end, or {@code null} for any
	 */
	static ResignationAnswer of(ElectionState state, long now, ElectionTimings timings, @Nullable Term only) {
		boolean following = !state.holdsLock();
		Holder leader = state.view().leader();
		Term led = following ? ((leader != null) ? leader.term() : null) : state.term();
		if (following && state.isStopping()) {
			return refused("this node does not participate in the election");
		}
		if (!following && state.position().handOver() != null && (only == null || only.equals(led))) {
			return requested(led);
		}
		Problem problem = state.contact().problem();
		if (problem != null) {
			return refused("this node has no session: " + problem.message());
		}
		if (following && now - state.contact().last() > longestSilence(state, timings)) {
			return refused("the database does not answer");
		}
		if (led == null) {
			return refused("no leader is known");
		}
		if (!hasSuccessor(state.view(), following)) {
			return refused("there is no other candidate");
		}
		return (only == null || only.equals(led)) ? requested(led) : refused("another term has begun in the meantime");
	}

	private static long longestSilence(ElectionState state, ElectionTimings timings) {
		return (state.contact().watching() ? LONGEST_SILENCE.plus(timings.watchInterval()) : LONGEST_SILENCE).toNanos();
	}

	/**
	 * Return whether a candidate is left when the leader resigns. A leader that has ended
	 * may not be among the candidates any longer.
	 */
	private static boolean hasSuccessor(View view, boolean following) {
		Holder leader = view.leader();
		return (following && leader != null)
				? view.candidates().stream().anyMatch((candidate) -> !candidate.nodeId().equals(leader.nodeId()))
				: view.candidates().size() > 1;
	}

	static ResignationAnswer requested(@Nullable Term term) {
		return new ResignationAnswer(term, null);
	}

	static ResignationAnswer refused(String reason) {
		return new ResignationAnswer(null, reason);
	}

	/**
	 * Return whether the leader was asked.
	 * @return whether it was
	 */
	public boolean isRequested() {
		return this.term != null;
	}

}
