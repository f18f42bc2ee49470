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

package io.leaderelection.postgresql;

import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

import io.leaderelection.Term;
import io.leaderelection.engine.ElectionStore;
import io.leaderelection.engine.SessionException;
import io.leaderelection.engine.StoreSession;
import io.leaderelection.engine.StoreSession.Acquisition;
import io.leaderelection.engine.StoreSession.Acquisition.Ending;
import io.leaderelection.engine.StoreSession.Acquisition.Won;
import io.leaderelection.engine.StoreSession.Candidate;
import io.leaderelection.engine.StoreSession.Confirmation;
import io.leaderelection.engine.StoreSession.Holder;
import io.leaderelection.engine.StoreSession.View;
import io.leaderelection.testsupport.PostgreSqlServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;
import static org.awaitility.Awaitility.await;

/**
 * What the sessions of both stores promise, tested on a real server. The sessions of
 * {@code LocalStore}, of which each election has one, promise none of it.
 */
public interface StoreSessionContract {

	/**
	 * Return the store of a node.
	 */
	ElectionStore store(String node);

	/**
	 * Open a session that is no candidate.
	 */
	StoreSession open(ElectionStore store) throws SessionException;

	/**
	 * Open a session that is a candidate.
	 */
	StoreSession candidate(ElectionStore store) throws SessionException;

	/**
	 * Win an election that is free, for which nobody waits.
	 */
	Won win(StoreSession session) throws SessionException;

	/**
	 * Confirm, at a time at which the candidates are read as well.
	 */
	Confirmation confirm(String node, StoreSession session) throws SessionException;

	StoreSession candidate(String node) throws SessionException;

	/**
	 * Return whether the server has a request of a resignation.
	 */
	boolean isRequested();

	/**
	 * Return how a leader describes who requests its resignation.
	 */
	String requester(String node, String cause);

	@Test
	default void firstSessionWinsAndSecondReadsTheLeader() throws SessionException {
		StoreSession first = candidate("node-a");
		Won won = win(first);
		assertThat(won.term().timeline()).isOne();
		assertThat(first.confirm(true).predecessor()).isNull();
		assertThat(first.passBarrier(Duration.ofMillis(100))).isNull();
		StoreSession second = candidate("node-b");
		View view = StoreFixture.hold(second).view();
		Holder leader = view.leader();
		assertThat(leader).isNotNull();
		assertThat(leader.nodeId()).isEqualTo("node-a");
		assertThat(leader.term()).isEqualTo(won.term());
		assertThat(leader.since()).isCloseTo(Instant.now(), within(1, ChronoUnit.MINUTES));
		assertThat(leader.session()).isEqualTo(first.name());
		assertThat(view.candidates()).extracting(Candidate::nodeId).containsExactlyInAnyOrder("node-a", "node-b");
		assertThat(second.observe()).isEqualTo(view);
		confirm("node-a", first);
		assertThat(first.candidates()).isEqualTo(view.candidates());
	}

	@Test
	default void sessionThatLeadsAgainIsObserved() throws SessionException {
		StoreSession leader = candidate("node-a");
		StoreSession follower = candidate("node-b");
		win(leader);
		follower.observe();
		leader.release(true);
		assertThat(follower.observe().leader()).isNull();
		Won again = win(leader);
		assertThat(follower.observe().leader()).isNotNull().extracting(Holder::term).isEqualTo(again.term());
	}

	@ParameterizedTest
	@ValueSource(booleans = { true, false })
	default void releaseEndsTheWaitOfAFollowerAndTellsIfAllHasEnded(boolean clean) throws Exception {
		StoreSession first = candidate("node-a");
		Won won = win(first);
		StoreSession second = candidate("node-b");
		StoreFixture.hold(second);
		Future<Won> takeover = StoreFixture.start(() -> {
			Acquisition acquisition = second.acquire(Duration.ofMinutes(1));
			while (!(acquisition instanceof Won)) {
				acquisition = second.acquire(Duration.ofMinutes(1));
			}
			return (Won) acquisition;
		});
		StoreFixture.awaitStill(() -> !takeover.isDone() && second.isStandby());
		first.release(clean);
		Won next = StoreFixture.get(takeover);
		assertThat(next.term()).isGreaterThan(won.term());
		assertThat(next.ending() == Ending.CLEAN).isEqualTo(clean);
		assertThat(second.confirm(true).predecessor()).isNull();
	}

	@Test
	default void candidatesThatWithdrawOrLeaveDisappear() throws SessionException {
		StoreSession first = candidate("node-a");
		win(first);
		StoreSession second = open(store("node-b"));
		assertThat(candidates(first)).containsExactly("node-a");
		second.withdraw();
		second.becomeCandidate();
		StoreFixture.hold(second);
		assertThat(candidates(first)).containsExactlyInAnyOrder("node-a", "node-b");
		second.withdraw();
		second.withdraw();
		second.observe();
		await().untilAsserted(() -> assertThat(candidates(first)).containsExactly("node-a"));
		second.becomeCandidate();
		second.becomeCandidate();
		StoreFixture.hold(second);
		assertThat(candidates(first)).containsExactlyInAnyOrder("node-a", "node-b");
		second.close();
		await().until(() -> PostgreSqlServer.shared().sessions(second.name()).isEmpty());
		await().untilAsserted(() -> assertThat(candidates(first)).containsExactly("node-a"));
	}

	/**
	 * Return the candidates after one confirmation: with many, candidates of a lease
	 * table would expire.
	 */
	private List<String> candidates(StoreSession leader) throws SessionException {
		confirm("node-a", leader);
		return leader.candidates().stream().map(Candidate::nodeId).toList();
	}

	@Test
	default void requestEndsOnlyTheTermThatItNames() throws Exception {
		StoreSession first = candidate("node-a");
		Term term = win(first).term();
		assertThat(confirm("node-a", first).requested()).isFalse();
		ElectionStore other = store("node-b");
		open(other);
		Term earlier = new Term(0, term.timeline(), term.transactionId() - 1);
		StoreFixture.get(request(other, earlier, "test", Duration.ofMinutes(1)));
		assertThat(confirm("node-a", first).requested()).isFalse();
		String cause = "endpoint, user 'alice' */ (100 %)";
		Future<?> request = request(other, term, cause, Duration.ofMinutes(1));
		await().until(this::isRequested);
		assertThat(confirm("node-a", first)).isEqualTo(new Confirmation(null, true, null));
		assertThat(first.requester()).isEqualTo(requester("node-b", cause));
		assertThat(candidates(first)).containsExactly("node-a");
		first.release(true);
		StoreFixture.get(request);
		awaitNoRequest();
	}

	@Test
	default void requestEndsAfterALimit() throws Exception {
		StoreSession first = candidate("node-a");
		Term term = win(first).term();
		ElectionStore other = store("node-b");
		open(other);
		Future<?> request = request(other, term, "test", Duration.ofSeconds(2));
		await().until(this::isRequested);
		assertThat(confirm("node-a", first).requested()).isTrue();
		request.get(5, TimeUnit.SECONDS);
		awaitNoRequest();
		assertThat(confirm("node-a", first).requested()).isFalse();
	}

	/**
	 * The server would end what is left of a request after 10 s.
	 */
	private void awaitNoRequest() {
		await().atMost(Duration.ofSeconds(5)).until(() -> !isRequested());
	}

	private static Future<?> request(ElectionStore store, Term term, String cause, Duration limit) {
		return StoreFixture.start(() -> {
			store.requestResignation(term, cause, limit);
			return true;
		});
	}

	/**
	 * Numbers in statements have the digits of no locale.
	 */
	@Test
	default void localeWithOtherDigits() throws Exception {
		Locale before = Locale.getDefault();
		Locale.setDefault(Locale.forLanguageTag("ar-EG-u-nu-arab"));
		try {
			assertThat("%d".formatted(1)).isNotEqualTo("1");
			requestEndsOnlyTheTermThatItNames();
			ElectionStore store = store("node-c");
			StoreSession session = candidate(store);
			win(session);
			session.confirm(true);
			assertThat(session.passBarrier(Duration.ofMillis(100))).isNull();
			assertThat(session.observe().candidates()).isNotEmpty();
			session.release(true);
			session.withdraw();
			session.close();
			if (store.canWatch()) {
				assertThat(store.watch(false).view().leader()).isNull();
			}
		}
		finally {
			Locale.setDefault(before);
		}
	}

}
